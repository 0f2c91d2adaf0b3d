// SPDX-License-Identifier: Apache-2.0
// tiles.h, once per instruction set.
#include "kernels/audio/tiles.h"

#include <algorithm>
#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/audio/tiles_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

using Four [[gnu::vector_size(16)]] = float;

// Copies 4 x 4 elements, transposed. Rows of `in` and of `out` have these distances.
inline void transpose_4x4(float* out, int64_t out_stride, const float* in, int64_t in_stride) {
  Four a[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&a[i], in + i * in_stride, sizeof(Four));
  const Four low01 = __builtin_shufflevector(a[0], a[1], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(a[0], a[1], 2, 6, 3, 7);
  const Four low23 = __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5);
  const Four high23 = __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7);
  const Four t[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                     __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                     __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                     __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(out + i * out_stride, &t[i], sizeof(Four));
}

// Copies `count` rows of `width` elements, as columns.
void transpose(float* __restrict out, int64_t out_stride, const float* __restrict in,
               int64_t in_stride, int64_t count, int64_t width) {
  const int64_t whole_count = count & ~int64_t{3}, whole_width = width & ~int64_t{3};
  for (int64_t i = 0; i < whole_count; i += 4)
    for (int64_t j = 0; j < whole_width; j += 4)
      transpose_4x4(out + j * out_stride + i, out_stride, in + i * in_stride + j, in_stride);
  const auto copy = [&](int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
    for (int64_t i = i0; i < i1; ++i)
      for (int64_t j = j0; j < j1; ++j) out[j * out_stride + i] = in[i * in_stride + j];
  };
  copy(0, whole_count, whole_width, width);
  copy(whole_count, count, 0, width);
}

void store_tile(float* out, const FrameArray& array, int64_t first, const float* tile) {
  const int64_t count = std::min<int64_t>(kFrameLanes, array.frames - first);
  if (array.time_first) {
    transpose(out + first * array.rows, array.rows, tile, kFrameLanes, array.rows, count);
    return;
  }
  out += first;
  if (count == kFrameLanes) {  // a constant number of bytes: one store
    for (int64_t r = 0; r < array.rows; ++r)
      std::memcpy(out + r * array.frames, tile + r * kFrameLanes, kFrameLanes * sizeof(float));
    return;
  }
  for (int64_t r = 0; r < array.rows; ++r)
    for (int64_t i = 0; i < count; ++i) out[r * array.frames + i] = tile[r * kFrameLanes + i];
}

void load_tile(float* tile, const float* in, const FrameArray& array, int64_t first) {
  const int64_t count = std::min<int64_t>(kFrameLanes, array.frames - first);
  if (count < kFrameLanes) std::fill_n(tile, array.rows * kFrameLanes, 0.0f);
  if (array.time_first) {
    transpose(tile, kFrameLanes, in + first * array.rows, array.rows, count, array.rows);
    return;
  }
  in += first;
  if (count == kFrameLanes) {
    for (int64_t r = 0; r < array.rows; ++r)
      std::memcpy(tile + r * kFrameLanes, in + r * array.frames, kFrameLanes * sizeof(float));
    return;
  }
  for (int64_t r = 0; r < array.rows; ++r)
    for (int64_t i = 0; i < count; ++i) tile[r * kFrameLanes + i] = in[r * array.frames + i];
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void store_tile(float* out, const FrameArray& array, int64_t first, const float* tile) {
  TORCHDALI_ISA_PICK(store_tile)(out, array, first, tile);
}
void load_tile(float* tile, const float* in, const FrameArray& array, int64_t first) {
  TORCHDALI_ISA_PICK(load_tile)(tile, in, array, first);
}
#endif

}  // namespace torchdali::kernels
