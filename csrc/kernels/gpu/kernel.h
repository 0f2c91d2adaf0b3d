// SPDX-License-Identifier: Apache-2.0
// What GPU kernels are written in. A kernel is a class whose object serves one task, and whose call
// operator computes element `i` of it:
//
//   struct NegateTask : TaskBase {};
//   struct NegateKernel : Kernel<NegateTask> {
//     TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
//       static_cast<float*>(task.out)[i] = -static_cast<const float*>(task.in)[i];
//     }
//   };
//   TORCHDALI_GPU_KERNEL(NegateKernel)
//
// Such a header, kernels/*/NAME_gpu.h, is compiled three times: by nvcc into the GPU library, by
// the host's compiler into loops that emulate the GPU, and in each operator that launches the
// kernel. docs/design/gpu.md.
#pragma once

#include <cstdint>
#include <type_traits>
#ifndef __CUDACC__
#include <stdexcept>
#endif

#include "kernels/convert.h"
#include "kernels/gpu/task.h"

#ifdef __CUDACC__
#define TORCHDALI_HOST_DEVICE __host__ __device__
#else
#define TORCHDALI_HOST_DEVICE
#endif
// States what the host guarantees of a task. Checked by the emulation only: on the GPU there is
// nobody to tell.
#ifdef __CUDACC__
#define TORCHDALI_KERNEL_CHECK(condition) static_cast<void>(0)
#else
#define TORCHDALI_KERNEL_CHECK(condition)                                              \
  do {                                                                                 \
    if (!(condition)) [[unlikely]]                                                     \
      throw std::logic_error("a task violates a rule of its GPU kernel: " #condition); \
  } while (false)
#endif
// Goes before a loop over an array whose elements should stay in registers.
#ifdef __CUDA_ARCH__
#define TORCHDALI_UNROLL _Pragma("unroll")
#else
#define TORCHDALI_UNROLL
#endif

#ifdef __CUDACC__
#define TORCHDALI_NOINLINE __noinline__
#else
#define TORCHDALI_NOINLINE
#endif

namespace torchdali::gpu {

template <class T>
struct KernelName;

// Names a kernel after its class. In the files that setup.py generates the line also registers the
// kernel, as an emulation (gpu/emulation.h) or for CUDA (gpu/cuda/launch.cuh); a header with this
// line is therefore included by no other kernel's header.
#define TORCHDALI_GPU_KERNEL(kernel)               \
  template <>                                      \
  struct KernelName<kernel> {                      \
    static constexpr const char* kValue = #kernel; \
  };                                               \
  TORCHDALI_REGISTER_KERNEL(kernel)
#ifndef TORCHDALI_REGISTER_KERNEL
#define TORCHDALI_REGISTER_KERNEL(kernel)
#endif

// A list in the blob. Unlike the host, the GPU reads only from aligned addresses.
template <class T>
TORCHDALI_HOST_DEVICE const T* list_of(const void* blob, BlobOffset at) {
  const char* list = static_cast<const char*>(blob) + at;
  TORCHDALI_KERNEL_CHECK(reinterpret_cast<uintptr_t>(list) % alignof(T) == 0);
  return reinterpret_cast<const T*>(list);
}

// The base class of kernels.
template <class T>
struct Kernel {
  using Task = T;
  const Task& task;
  const void* blob;

  template <class Element>
  TORCHDALI_HOST_DEVICE const Element* list(BlobOffset at) const {
    return list_of<Element>(blob, at);
  }
};

// How many of a task's elements one call computes: elements i * kElementsPerCall and following of
// call i.
template <class K>
constexpr int64_t elements_per_call() {
  if constexpr (requires { K::kElementsPerCall; }) return K::kElementsPerCall;
  else return 1;
}
template <class K>
TORCHDALI_HOST_DEVICE constexpr int64_t count_calls(int64_t size) {
  return (size + elements_per_call<K>() - 1) / elements_per_call<K>();
}

// Calls fn.template operator()<T>() for the type `t`; like dispatch_dtype(), which throws.
template <class Fn>
TORCHDALI_HOST_DEVICE inline void with_type(DType t, Fn&& fn) {
  switch (t) {
    case DType::kUInt8: return fn.template operator()<uint8_t>();
    case DType::kUInt16: return fn.template operator()<uint16_t>();
    case DType::kUInt32: return fn.template operator()<uint32_t>();
    case DType::kUInt64: return fn.template operator()<uint64_t>();
    case DType::kInt8: return fn.template operator()<int8_t>();
    case DType::kInt16: return fn.template operator()<int16_t>();
    case DType::kInt32: return fn.template operator()<int32_t>();
    case DType::kInt64: return fn.template operator()<int64_t>();
    case DType::kFloat16: return fn.template operator()<Half>();
    case DType::kFloat: return fn.template operator()<float>();
    case DType::kFloat64: return fn.template operator()<double>();
    case DType::kBool: return fn.template operator()<bool>();
    case DType::kNone: return;
  }
}

// a * b + c, rounded once on the device, where that is one instruction.
TORCHDALI_HOST_DEVICE inline float multiply_add(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return a * b + c;
#endif
}

TORCHDALI_HOST_DEVICE inline bool is_aligned(const void* address, uintptr_t to) {
  return reinterpret_cast<uintptr_t>(address) % to == 0;
}

TORCHDALI_HOST_DEVICE inline float load_float(const void* in, DType dtype, int64_t i) {
  float x = 0;
  with_type(dtype, [&]<class T>() { x = kernels::convert<float>(static_cast<const T*>(in)[i]); });
  return x;
}
TORCHDALI_HOST_DEVICE inline void store_float(void* out, DType dtype, int64_t i, float x) {
  with_type(dtype, [&]<class T>() { static_cast<T*>(out)[i] = kernels::convert<T>(x); });
}
// itemsize() without a table, which would be in a thread's local memory: one hexadecimal digit for
// each type, the last one first.
TORCHDALI_HOST_DEVICE constexpr int64_t size_of(DType t) {
  return static_cast<int64_t>(0x1842'8421'8421 >> (4 * static_cast<int>(t)) & 0xf);
}
constexpr bool sizes_agree() {
  for (int t = 0; t < kNumDTypes; ++t)
    if (size_of(static_cast<DType>(t)) != itemsize(static_cast<DType>(t))) return false;
  return true;
}
static_assert(sizes_agree());

// Stores an element of 1, 2, 4 or 8 bytes, given as an integer.
TORCHDALI_HOST_DEVICE inline void store_bytes(void* out, int64_t itemsize, int64_t i,
                                              uint64_t bytes) {
  switch (itemsize) {
    case 1: static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(bytes); break;
    case 2: static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(bytes); break;
    case 4: static_cast<uint32_t*>(out)[i] = static_cast<uint32_t>(bytes); break;
    default: static_cast<uint64_t*>(out)[i] = bytes;
  }
}
TORCHDALI_HOST_DEVICE inline uint64_t load_bytes(const void* in, int64_t itemsize, int64_t i) {
  switch (itemsize) {
    case 1: return static_cast<const uint8_t*>(in)[i];
    case 2: return static_cast<const uint16_t*>(in)[i];
    case 4: return static_cast<const uint32_t*>(in)[i];
    default: return static_cast<const uint64_t*>(in)[i];
  }
}

// The index of element `i` along each axis, in C order. axis(n) returns the index along an axis of
// extent n, from the last axis to the first. Divides in 32 bits where that is enough.
class Unravel {
 public:
  TORCHDALI_HOST_DEVICE explicit Unravel(int64_t i) : rest_(static_cast<uint64_t>(i)) {}
  TORCHDALI_HOST_DEVICE int64_t axis(int64_t extent) {
    const auto n = static_cast<uint64_t>(extent);
    if (rest_ < (uint64_t{1} << 32) && n < (uint64_t{1} << 32)) {
      const auto small = static_cast<uint32_t>(rest_), by = static_cast<uint32_t>(n);
      rest_ = small / by;
      return small - static_cast<uint32_t>(rest_) * by;
    }
    const uint64_t next = rest_ / n, index = rest_ - next * n;
    rest_ = next;
    return static_cast<int64_t>(index);
  }
  TORCHDALI_HOST_DEVICE int64_t rest() const { return static_cast<int64_t>(rest_); }

 private:
  uint64_t rest_;
};

}  // namespace torchdali::gpu
