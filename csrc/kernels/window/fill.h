// SPDX-License-Identifier: Apache-2.0
// Filling of arrays. Elements have 1, 2, 4 or 8 bytes and are given by their bytes, so that one
// loop serves all types of a size.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "core/dtype.h"
#include "core/layout.h"

namespace torchdali::kernels {

template <class T>
uint64_t element_bytes(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bytes = 0;
  std::memcpy(&bytes, &value, sizeof(T));
  return bytes;
}
// An element of a type from a fill value. Integers are truncated and saturate.
uint64_t fill_element(DType dtype, float value);

void fill(void* out, int64_t itemsize, int64_t count, uint64_t element);

// Fills an array of `shape` outside the box of `extent` elements at `at`.
void fill_outside(void* out, int64_t itemsize, const Shape& shape, const Shape& at,
                  const Shape& extent, uint64_t element);

// Fills an array that is [outer, channels, inner], with one element for each channel.
void fill_channels(void* out, int64_t itemsize, int64_t outer, int64_t inner,
                   std::span<const uint64_t> channels);

}  // namespace torchdali::kernels
