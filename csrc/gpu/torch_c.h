// SPDX-License-Identifier: Apache-2.0
// The C interface of libtorch, as far as the engine uses it: owners of its handles, errors as
// exceptions, and the functions that a torch without CUDA lacks.
#pragma once

#include <cstdint>
#include <memory>

struct AtenTensorOpaque;
struct CUDAStreamGuardOpaque;

namespace torchdali::gpu {

// Raises kRuntime if a function of the interface has failed.
void check_torch(int32_t error);

// A function that not all versions of libtorch have; null if this one does not.
void* find_in_torch(const char* name);

struct DeleteTensor {
  void operator()(AtenTensorOpaque* tensor) const;
};
// A reference to a tensor of torch, whose memory it keeps.
using TorchTensor = std::unique_ptr<AtenTensorOpaque, DeleteTensor>;

// The calling thread's current stream, on which torch allocates and copies. Streams are
// cudaStream_t.
struct CurrentStream {
  // Makes a stream and its device the current ones until restore().
  int32_t (*set)(void* stream, int32_t device, CUDAStreamGuardOpaque** guard);
  int32_t (*restore)(CUDAStreamGuardOpaque* guard);
  int32_t (*get)(int32_t device, void** stream);
};
// Raises kRuntime if torch has no CUDA.
const CurrentStream& current_stream_of_torch();
const CurrentStream& emulated_current_stream();

}  // namespace torchdali::gpu
