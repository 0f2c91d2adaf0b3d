// SPDX-License-Identifier: Apache-2.0
// The inner loops of resampling, over rows of elements, one set per instruction set. Between the
// two passes, a row has "middle" elements: float, or for uint8 with filters that have no negative
// weights uint16 fixed point (256 times the value; weights are 65536 times theirs).
#pragma once

#include <cstdint>
#include <type_traits>

namespace torchdali::kernels {

// The horizontal pass, in the order in which its loop reads it; made by RowKernels::prepare.
template <class Mid>
struct HorizontalTable {
  int64_t out = 0;
  int taps = 0;
  const int32_t* offset = nullptr;  // of the first tap of a pixel, or of a block, in elements
  const Mid* weights = nullptr;
  const uint16_t* index = nullptr;  // where the elements of a block come from, after its offset
  int block = 0;                    // elements of a block; 0: pixel by pixel
  int taps_a_load = 0;              // taps per load of a block's source
};

// Elements that may be read past the end of a middle row, and written past its end.
inline constexpr int kRowPadding = 64;
// More would need more than 16 bits for the rounding term.
inline constexpr int kMaxFixedTaps = 64;

// Weighted sums of rows: the vertical pass.
template <class In, class Mid, class Out>
struct RowKernels {
  // result[i] = start + sum over k of rows[k][i] * weights[k], for n elements. `buffer`, n
  // elements, is used if the taps do not fit in registers.
  void (*blend_to_mid)(const In* const* rows, const Mid* weights, int taps, Mid start, int64_t n,
                       Mid* result);
  void (*blend)(const In* const* rows, const Mid* weights, int taps, Mid start, int64_t n,
                Mid* buffer, Out* result);
  void (*blend_mid)(const Mid* const* rows, const Mid* weights, int taps, Mid start, int64_t n,
                    Mid* buffer, Out* result);
  void (*to_mid)(const In* row, int64_t n, Mid* result);
};

// Weighted sums of pixels of a row: the horizontal pass.
template <class Mid, class Out>
struct HorizontalKernels {
  // Orders the weights for the loop: [out, taps], in fixed point [out, 1 + taps], starting with the
  // initial value of the sum. `offset`: [out + 8], of the first tap of each pixel; lives as long as
  // the result. `memory`: prepared_size() elements.
  HorizontalTable<Mid> (*prepare)(const int32_t* offset, const Mid* weights, int64_t out, int taps,
                                  int64_t channels, Mid* memory);
  // Enough for any number of taps up to `taps`.
  int64_t (*prepared_size)(int64_t out, int taps, int64_t channels);
  // `row` has kRowPadding readable elements more than the taps need; so has `result`, writable.
  void (*to_mid)(const Mid* row, const HorizontalTable<Mid>& table, int64_t channels, Mid* result);
  // n middle elements as elements of the result.
  void (*round)(const Mid* row, int64_t n, Out* result);
  // Writes exactly out * channels elements; `buffer` is as `result` in to_mid.
  void (*finish)(const Mid* row, const HorizontalTable<Mid>& table, int64_t channels, Mid* buffer,
                 Out* result);
};

// For active_isa(). uint8 -> uint8 in fixed point; uint8, uint16, int16, float -> same or float in
// float.
template <class In, class Mid, class Out>
const RowKernels<In, Mid, Out>& row_kernels();
template <class Mid, class Out>
const HorizontalKernels<Mid, Out>& horizontal_kernels();

}  // namespace torchdali::kernels
