// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of this library, and CUDA's events, for the engine.
#include <cuda_runtime.h>

#include "gpu/library.h"

namespace {

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

// Clears the error, which cudaGetLastError() would otherwise report for the next launch.
int result(cudaError_t error) {
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error;
}

void destroy(void* event) { (void)result(cudaEventDestroy(event_of(event))); }

int record(void* stream, void** event) {
  cudaEvent_t made = nullptr;
  if (const int error = result(cudaEventCreateWithFlags(&made, cudaEventDisableTiming)))
    return error;
  const int error = result(cudaEventRecord(made, stream_of(stream)));
  if (error == 0) *event = made;
  else destroy(made);
  return error;
}

int block(void* stream, void* event) {
  return result(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0));
}

int synchronize(void* event) { return result(cudaEventSynchronize(event_of(event))); }

bool is_pending(void* event) {
  return result(cudaEventQuery(event_of(event))) == cudaErrorNotReady;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const torchdali::gpu::KernelLibrary*
torchdali_gpu_library() {
  static const torchdali::gpu::KernelLibrary library{
      .sources = torchdali::gpu::kKernelSources,
      .kernels = torchdali::gpu::registered_kernels,
      .error_text = [](int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); },
      .events = {.record = record,
                 .block = block,
                 .synchronize = synchronize,
                 .is_pending = is_pending,
                 .destroy = destroy},
  };
  return &library;
}
