// SPDX-License-Identifier: Apache-2.0
// tiles.h, once per instruction set.
#include "kernels/audio/tiles.h"

#include <algorithm>
#include <cstring>
#include <utility>

#define TORCHDALI_ISA_FILE "kernels/audio/tiles_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#include "kernels/audio/transpose_lanes.h"

// Stores the first `count` lanes of a tile as rows of `out`, of `rows` elements each: 16 elements
// at a time, which are often a line of the cache.
void store_transposed(float* out, int64_t rows, const float* tile, int64_t count) {
  int64_t r = 0;
  for (; r + kFrameLanes <= rows; r += kFrameLanes) {
    for (int64_t lane = 0; lane < count; lane += 4) {
      for (int i = 0; i < kFrameLanes; i += kPart) {
        Part frames[4];
        transpose_fours(frames, tile + (r + i) * kFrameLanes + lane, kFrameLanes);
        for (int64_t k = 0; k < std::min<int64_t>(4, count - lane); ++k)
          store_part(out + (lane + k) * rows + r + i, frames[k]);
      }
    }
  }
  for (; r < rows; ++r)
    for (int64_t lane = 0; lane < count; ++lane)
      out[lane * rows + r] = tile[r * kFrameLanes + lane];
}

void load_transposed(float* tile, const float* in, int64_t rows, int64_t count) {
  int64_t r = 0;
  if (count == kFrameLanes) {
    for (; r + 4 <= rows; r += 4) {
      for (int lane = 0; lane < kFrameLanes; lane += kPart) {
        Part lanes[4];
        transpose_fours(lanes, in + lane * rows + r, rows);
        for (int i = 0; i < 4; ++i) store_part(tile + (r + i) * kFrameLanes + lane, lanes[i]);
      }
    }
  }
  for (; r < rows; ++r)
    for (int64_t lane = 0; lane < count; ++lane) tile[r * kFrameLanes + lane] = in[lane * rows + r];
}

void store_tile(float* out, const FrameArray& array, int64_t first, const float* tile) {
  const int64_t count = std::min<int64_t>(kFrameLanes, array.frames - first);
  if (array.time_first) {
    store_transposed(out + first * array.rows, array.rows, tile, count);
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
    load_transposed(tile, in + first * array.rows, array.rows, count);
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
void prefetch_tile(float* out, const FrameArray& array, int64_t first) {
  const int64_t count = std::min<int64_t>(kFrameLanes, array.frames - first);
  if (array.time_first) {
    for (int64_t i = 0; i < count * array.rows; i += 16)
      __builtin_prefetch(out + first * array.rows + i, 1);
    return;
  }
  for (int64_t r = 0; r < array.rows; ++r) {
    __builtin_prefetch(out + r * array.frames + first, 1);
    __builtin_prefetch(out + r * array.frames + first + count - 1, 1);
  }
}
void load_tile(float* tile, const float* in, const FrameArray& array, int64_t first) {
  TORCHDALI_ISA_PICK(load_tile)(tile, in, array, first);
}
#endif

}  // namespace torchdali::kernels
