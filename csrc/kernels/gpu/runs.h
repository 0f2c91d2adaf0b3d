// SPDX-License-Identifier: Apache-2.0
// Several consecutive elements, loaded and stored with as few instructions as their alignment
// allows.
#pragma once

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

struct alignas(16) FourFloats {
  float x[4];
};

// kCount bytes, a multiple of 4.
template <int kCount>
TORCHDALI_HOST_DEVICE inline void load_bytes_run(const uint8_t* in, uint8_t (&x)[kCount]) {
  static_assert(kCount % 4 == 0);
  if (!is_aligned(in, 4)) {
    TORCHDALI_UNROLL
    for (int k = 0; k < kCount; ++k) x[k] = in[k];
    return;
  }
  TORCHDALI_UNROLL
  for (int w = 0; w < kCount / 4; ++w) {
    const uint32_t word = reinterpret_cast<const uint32_t*>(in)[w];
    TORCHDALI_UNROLL
    for (int k = 0; k < 4; ++k) x[4 * w + k] = static_cast<uint8_t>(word >> (8 * k));
  }
}
template <int kCount>
TORCHDALI_HOST_DEVICE inline void store_bytes_run(uint8_t* out, const uint8_t (&x)[kCount]) {
  static_assert(kCount % 4 == 0);
  if (!is_aligned(out, 4)) {
    TORCHDALI_UNROLL
    for (int k = 0; k < kCount; ++k) out[k] = x[k];
    return;
  }
  TORCHDALI_UNROLL
  for (int w = 0; w < kCount / 4; ++w) {
    uint32_t word = 0;
    TORCHDALI_UNROLL
    for (int k = 0; k < 4; ++k) word |= static_cast<uint32_t>(x[4 * w + k]) << (8 * k);
    reinterpret_cast<uint32_t*>(out)[w] = word;
  }
}

// Elements `first` to `first + kCount` as floats; there are none from `end` on.
template <int kCount>
TORCHDALI_HOST_DEVICE inline void load_run(const void* in, DType dtype, int64_t first, int64_t end,
                                           float (&x)[kCount]) {
  const bool whole = first + kCount <= end;
  if (whole && dtype == DType::kUInt8) {
    uint8_t bytes[kCount];
    load_bytes_run(static_cast<const uint8_t*>(in) + first, bytes);
    TORCHDALI_UNROLL
    for (int k = 0; k < kCount; ++k) x[k] = static_cast<float>(bytes[k]);
  } else if (const float* from = static_cast<const float*>(in) + first;
             whole && dtype == DType::kFloat && is_aligned(from, 16)) {
    TORCHDALI_UNROLL
    for (int w = 0; w < kCount / 4; ++w) {
      const FourFloats four = reinterpret_cast<const FourFloats*>(from)[w];
      TORCHDALI_UNROLL
      for (int k = 0; k < 4; ++k) x[4 * w + k] = four.x[k];
    }
  } else {
    TORCHDALI_UNROLL
    for (int k = 0; k < kCount; ++k) x[k] = first + k < end ? load_float(in, dtype, first + k) : 0;
  }
}
template <int kCount>
TORCHDALI_HOST_DEVICE inline void store_run(void* out, DType dtype, int64_t first, int64_t end,
                                            const float (&x)[kCount]) {
  const bool whole = first + kCount <= end;
  if (whole && dtype == DType::kUInt8) {
    uint8_t bytes[kCount];
    TORCHDALI_UNROLL
    for (int k = 0; k < kCount; ++k) bytes[k] = kernels::round_to_byte(x[k]);
    store_bytes_run(static_cast<uint8_t*>(out) + first, bytes);
  } else if (float* to = static_cast<float*>(out) + first;
             whole && dtype == DType::kFloat && is_aligned(to, 16)) {
    TORCHDALI_UNROLL
    for (int w = 0; w < kCount / 4; ++w) {
      FourFloats four;
      TORCHDALI_UNROLL
      for (int k = 0; k < 4; ++k) four.x[k] = x[4 * w + k];
      reinterpret_cast<FourFloats*>(to)[w] = four;
    }
  } else {
    TORCHDALI_UNROLL
    for (int k = 0; k < kCount; ++k)
      if (first + k < end) store_float(out, dtype, first + k, x[k]);
  }
}

}  // namespace torchdali::gpu
