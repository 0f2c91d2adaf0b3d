// SPDX-License-Identifier: Apache-2.0
// The weights of resampling as middle elements (resample_rows.h), and the tables of its horizontal
// pass. Included by plane_resampler.h only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/resample/resample_table.h"
#include "kernels/resample_rows/byte_taps.h"
#include "kernels/resample_rows/resample_pairs.h"
#include "kernels/resample_rows/resample_rows.h"
#include "kernels/resample_rows/resample_sparse.h"

namespace torchdali::kernels {

// Weights in fixed point: whole numbers that add up to 65536, so that a flat area stays flat; a
// weight of 1 does not fit and becomes 65535. The upper halves of products are taken, which lose
// half a unit each on average, unless the weight leaves no fraction of a pixel; result[0], which
// the sum starts with, gives that back. [1 + taps]
inline void quantize(const float* weights, int taps, uint16_t* result) {
  constexpr int32_t kOne = 65536, kFraction = 255;
  int32_t sum = 0;
  int largest = 0, inexact = 0;
  for (int k = 0; k < taps; ++k) {
    const int32_t q = static_cast<int32_t>(std::lrint(weights[k] * kOne));
    sum += q;
    result[1 + k] = static_cast<uint16_t>(std::min(q, kOne - 1));
    inexact += (q & kFraction) != 0;
    largest = weights[k] > weights[largest] ? k : largest;
  }
  uint16_t& corrected = result[1 + largest];
  corrected = static_cast<uint16_t>(std::min(corrected + kOne - sum, kOne - 1));
  result[0] = corrected == kOne - 1 ? 1 : static_cast<uint16_t>(inexact / 2);
}

// Weights of a table as middle elements; numbers in front of the weights of each pixel: kLead<Mid>.
template <class Mid>
constexpr int kLead = std::is_same_v<Mid, float> ? 0 : 1;
template <class Mid>
const Mid* mid_weights(const AxisTable& t, ScratchArena& arena) {
  if constexpr (std::is_same_v<Mid, float>) {
    return t.weights;
  } else {
    const int stride = kLead<Mid> + t.taps;
    Mid* result = arena.take<Mid>(t.out * stride);
    if (arena.counting()) return result;
    if (t.taps == 2) {  // loops of a known length are faster
      for (int64_t i = 0; i < t.out; ++i) quantize(t.weights + i * 2, 2, result + i * 3);
    } else {
      for (int64_t i = 0; i < t.out; ++i)
        quantize(t.weights + i * t.taps, t.taps, result + i * stride);
    }
    return result;
  }
}

// The table of the horizontal pass: the first of these that is possible.
template <class Mid>
struct HorizontalTables {
  SparseTable<Mid> sparse;  // both passes at once
  PairTable pairs;
  ByteTapTable bytes;  // instead of `any`, of rows of the source
  HorizontalTable<Mid> any;
};
// Which of them may be used.
struct HorizontalUse {
  bool two_taps;     // tables of this axis never have more
  bool sparse;       // tables of the other axis neither, and the vertical pass is first
  bool from_source;  // rows of the source go through the pass
};
template <class In, class Mid, class Kernels>
HorizontalTables<Mid> horizontal_tables(const Kernels& kernels, const AxisTable& t,
                                        int64_t channels, const HorizontalUse& use,
                                        ScratchArena& arena) {
  constexpr int kMoreOffsets = 8;  // a group of pixels
  // Pixels of the source for one of the result, from which on most of them are skipped.
  const int64_t sparse_scale = std::is_same_v<In, float> && channels > 1 ? 2 : 3;
  constexpr bool kFixed = std::is_same_v<Mid, uint16_t>;
  constexpr bool kBytes = std::is_same_v<In, uint8_t> && !kFixed;
  constexpr bool kSparse = kFixed || std::is_same_v<In, float>;
  int32_t* offset = arena.take<int32_t>(t.out + kMoreOffsets);
  const Mid* weights = mid_weights<Mid>(t, arena);
  Mid* for_sparse = nullptr;
  std::byte* for_pairs = nullptr;
  if constexpr (kSparse)
    if (use.sparse)
      for_sparse = arena.take<Mid>(sparse_kernels<In, Mid>().prepared_size(t.out, channels));
  if (kFixed && use.two_taps)
    for_pairs = arena.take<std::byte>(pair_kernels().prepared_size(t.out * channels));
  float* for_bytes = nullptr;
  if constexpr (kBytes)
    for_bytes = arena.take<float>(byte_tap_kernels().prepared_size(t.out, channels));
  Mid* memory = arena.take<Mid>(kernels.prepared_size(t.out, t.taps, channels));
  HorizontalTables<Mid> tables;
  if (arena.counting()) return tables;
  for (int64_t x = 0; x < t.out; ++x)
    offset[x] = static_cast<int32_t>((t.start[x] - t.source.begin) * channels);
  std::fill(offset + t.out, offset + t.out + kMoreOffsets, 0);
  const int64_t pixels = t.source.end - t.source.begin, width = pixels * channels;
  if constexpr (kSparse) {
    if (use.sparse && t.taps == 2 && pixels >= sparse_scale * t.out)
      tables.sparse =
          sparse_kernels<In, Mid>().prepare(offset, weights, t.out, channels, width, for_sparse);
    if (tables.sparse.out > 0) return tables;
  }
  if constexpr (kFixed) {
    if (use.two_taps && t.taps == 2)
      tables.pairs =
          pair_kernels().prepare(offset, weights, t.out, channels, use.from_source ? 1 : 2,
                                 use.from_source ? width : width + kRowPadding, for_pairs);
    if (tables.pairs.windows > 0) return tables;
  }
  tables.any = kernels.prepare(offset, weights, t.out, t.taps, channels, memory);
  if constexpr (kBytes)
    if (tables.any.block == 0 && use.from_source)
      tables.bytes =
          byte_tap_kernels().prepare(offset, weights, t.out, t.taps, channels, for_bytes);
  return tables;
}

}  // namespace torchdali::kernels
