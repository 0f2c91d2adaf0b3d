// SPDX-License-Identifier: Apache-2.0
// The part of the API of NVIDIA's cuFile (GPUDirect Storage, libcufile.so.0) that is used, declared
// here because torchdali is also built without its header. Source of the facts (names, values, the
// binary layout): NVIDIA's documentation of cuFile, and cufile.h of its Python package
// nvidia-cufile 1.15.1.6, whose license does not permit copies. tests/gpu/test_gds_api.py checks
// them against that header, if it is there.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace torchdali::gpu::cufile {

using Handle = void*;  // CUfileHandle_t

// CUfileError_t: 0 is success.
struct Status {
  int error = 0;       // CUfileOpError
  int cuda_error = 0;  // CUresult, if `error` is kCudaError
};
inline constexpr int kUnsupported = 5008;
inline constexpr int kCudaError = 5011;
inline constexpr int kWrongFileType = 5018, kDisabled = 5034;

// CUfileDescr_t
inline constexpr int kLinuxDescriptor = 1;  // CU_FILE_HANDLE_TYPE_OPAQUE_FD
struct Description {
  int type = kLinuxDescriptor;
  union {
    int descriptor;
    void* handle = nullptr;
  };
  const void* operations = nullptr;
};

#define TORCHDALI_CUFILE_FUNCTIONS(X)                                 \
  X(DriverOpen, Status())                                             \
  X(HandleRegister, Status(Handle* handle, Description* description)) \
  X(HandleDeregister, void(Handle handle))                            \
  X(BufRegister, Status(const void* memory, size_t bytes, int flags)) \
  X(BufDeregister, Status(const void* memory))                        \
  X(Read,                                                             \
    ssize_t(Handle handle, void* memory, size_t bytes, off_t file_offset, off_t memory_offset))

// The library's functions, each as a pointer under its name without "cuFile".
struct Api {
#define TORCHDALI_CUFILE_MEMBER(name, ...) \
  using name##Function = __VA_ARGS__;      \
  name##Function* name = nullptr;
  TORCHDALI_CUFILE_FUNCTIONS(TORCHDALI_CUFILE_MEMBER)
#undef TORCHDALI_CUFILE_MEMBER
};

}  // namespace torchdali::gpu::cufile
