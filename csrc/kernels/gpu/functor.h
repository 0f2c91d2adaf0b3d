// SPDX-License-Identifier: Apache-2.0
// What kernels are written in: functors that do element `i` of task `t`, on the host and on the
// device. Compiled by nvcc for the GPU library and by the host's compiler for emulation.
#pragma once

#include <cstdint>
#ifndef __CUDACC__
#include <stdexcept>
#endif

#include "kernels/convert.h"
#include "kernels/gpu/tasks.h"

#ifdef __CUDACC__
#define TORCHDALI_HOST_DEVICE __host__ __device__
#else
#define TORCHDALI_HOST_DEVICE
#endif
// What whoever made the task has seen to. Looked at in emulation: on the GPU nobody could be told.
#ifdef __CUDACC__
#define TORCHDALI_GRID_CHECK(condition) static_cast<void>(0)
#else
#define TORCHDALI_GRID_CHECK(condition)                                               \
  do {                                                                                \
    if (!(condition)) [[unlikely]]                                                    \
      throw std::logic_error("a task of a GPU kernel breaks its rules: " #condition); \
  } while (false)
#endif
// In front of a loop over an array whose elements are to stay in registers.
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

// How many of a task's elements one call of a grid's operator() does: those from that number of
// the call on.
template <class Grid>
constexpr int64_t elements_per_call() {
  if constexpr (requires { Grid::kPerCall; }) return Grid::kPerCall;
  else return 1;
}
template <class Grid>
TORCHDALI_HOST_DEVICE constexpr int64_t count_calls(int64_t size) {
  return (size + elements_per_call<Grid>() - 1) / elements_per_call<Grid>();
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

// Rounded once on the device, where that is one instruction.
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

// A list of the blob. Unlike the host, the GPU reads nothing that is not aligned.
template <class T>
TORCHDALI_HOST_DEVICE const T* list_of(const void* blob, BlobOffset at) {
  const char* list = static_cast<const char*>(blob) + at;
  TORCHDALI_GRID_CHECK(is_aligned(list, alignof(T)));
  return reinterpret_cast<const T*>(list);
}

TORCHDALI_HOST_DEVICE inline float load_float(const void* in, DType dtype, int64_t i) {
  float x = 0;
  with_type(dtype, [&]<class T>() { x = kernels::convert<float>(static_cast<const T*>(in)[i]); });
  return x;
}
TORCHDALI_HOST_DEVICE inline void store_float(void* out, DType dtype, int64_t i, float x) {
  with_type(dtype, [&]<class T>() { static_cast<T*>(out)[i] = kernels::convert<T>(x); });
}
// itemsize() without a table, which would lie in a thread's memory: a digit each, from the last.
TORCHDALI_HOST_DEVICE constexpr int64_t size_of(DType t) {
  return static_cast<int64_t>(0x1842'8421'8421 >> (4 * static_cast<int>(t)) & 0xf);
}
constexpr bool sizes_agree() {
  for (int t = 0; t < kNumDTypes; ++t)
    if (size_of(static_cast<DType>(t)) != itemsize(static_cast<DType>(t))) return false;
  return true;
}
static_assert(sizes_agree());

// An element of 1, 2, 4 or 8 bytes from its bytes.
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

// The index along each axis of element `i` in C order, last axis first: axis(n) returns it and
// goes on to the next. 32-bit divisions where they do.
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
