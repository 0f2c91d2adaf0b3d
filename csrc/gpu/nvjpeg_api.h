// SPDX-License-Identifier: Apache-2.0
// The part of nvJPEG's API that is used, declared here because torchdali is also built without its
// header. Source: NVIDIA's documentation of the library. tests/gpu/test_nvjpeg.py checks it against
// the header, if available.
#pragma once

#include <cstddef>

namespace torchdali::gpu::nvjpeg {

inline constexpr int kSuccess = 0;                                  // nvjpegStatus_t
inline constexpr int kBackendHybrid = 1;                            // codes are read on the host
inline constexpr int kBackendGpuHybrid = 2;                         // and on the GPU
inline constexpr int kBackendHardware = 3;                          // by engines that decode JPEG
inline constexpr int kOutputY = 2, kOutputRGB = 5, kOutputBGR = 6;  // interleaved
inline constexpr int kSampling444 = 0;
inline constexpr unsigned kSmoothUpsampling = 1u << 5;  // a flag of create

struct Image {
  unsigned char* channel[4] = {};
  size_t pitch[4] = {};  // bytes of a row
};
using Handle = struct HandleTag*;
using State = struct StateTag*;
using Params = struct ParamsTag*;
using Stream = void*;  // cudaStream_t

// Enumerations are int; allocators are always null.
#define TORCHDALI_NVJPEG_FUNCTIONS(X)                                                        \
  X(CreateEx, int(int backend, void* dev, void* pinned, unsigned flags, Handle* handle))     \
  X(Destroy, int(Handle handle))                                                             \
  X(SetDeviceMemoryPadding, int(size_t padding, Handle handle))                              \
  X(SetPinnedMemoryPadding, int(size_t padding, Handle handle))                              \
  X(JpegStateCreate, int(Handle handle, State * state))                                      \
  X(JpegStateDestroy, int(State state))                                                      \
  X(DecodeBatchedPreAllocate, int(Handle handle, State state, int batch_size, int width,     \
                                  int height, int sampling, int format))                     \
  X(DecodeBatchedInitialize,                                                                 \
    int(Handle handle, State state, int batch_size, int max_cpu_threads, int format))        \
  X(DecodeBatched, int(Handle handle, State state, const unsigned char* const* data,         \
                       const size_t* lengths, Image* destinations, Stream stream))           \
  X(DecodeBatchedEx,                                                                         \
    int(Handle handle, State state, const unsigned char* const* data, const size_t* lengths, \
        Image* destinations, Params* params, Stream stream))                                 \
  X(DecodeParamsCreate, int(Handle handle, Params * params))                                 \
  X(DecodeParamsDestroy, int(Params params))                                                 \
  X(DecodeParamsSetOutputFormat, int(Params params, int format))                             \
  X(DecodeParamsSetROI, int(Params params, int x, int y, int width, int height))

// The library's functions, each as a pointer under its name without "nvjpeg".
struct Api {
#define TORCHDALI_NVJPEG_MEMBER(name, ...) \
  using name##Function = __VA_ARGS__;      \
  name##Function* name = nullptr;
  TORCHDALI_NVJPEG_FUNCTIONS(TORCHDALI_NVJPEG_MEMBER)
#undef TORCHDALI_NVJPEG_MEMBER
};

}  // namespace torchdali::gpu::nvjpeg
