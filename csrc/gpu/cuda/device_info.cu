// SPDX-License-Identifier: Apache-2.0
// What the CUDA runtime says about itself and its devices, for `python -m torchdali.info`. Called
// from Python through ctypes: plain C functions, which return 0 or CUDA's error number.
#include <cuda_runtime.h>

#include <cstdio>

#define TORCHDALI_EXPORT extern "C" __attribute__((visibility("default")))

// Versions of the runtime linked in here and of the driver found, as 1000 * major + 10 * minor. The
// driver's is 0 if there is none.
TORCHDALI_EXPORT int torchdali_cuda_versions(int* runtime, int* driver) {
  if (const cudaError_t error = cudaRuntimeGetVersion(runtime)) return error;
  return cudaDriverGetVersion(driver);
}

TORCHDALI_EXPORT int torchdali_cuda_device_count(int* count) { return cudaGetDeviceCount(count); }

// Name (cut to `size` bytes, zero-terminated), compute capability and memory of one device.
TORCHDALI_EXPORT int torchdali_cuda_device(int device, char* name, int size, int* major, int* minor,
                                           long long* memory_bytes) {
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, device)) return error;
  std::snprintf(name, static_cast<size_t>(size), "%s", properties.name);
  *major = properties.major;
  *minor = properties.minor;
  *memory_bytes = static_cast<long long>(properties.totalGlobalMem);
  return cudaSuccess;
}

TORCHDALI_EXPORT const char* torchdali_cuda_error_string(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}
