// SPDX-License-Identifier: Apache-2.0
// Two-dimensional resampling with filters: a pass along each axis. Included by resample.cpp only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/resample/resample.h"
#include "kernels/resample/resample_rows.h"
#include "kernels/resample/resample_strides.h"
#include "kernels/resample/resample_table.h"

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
    if (weights[k] > weights[largest]) largest = k;
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
    if (!arena.counting())
      for (int64_t i = 0; i < t.out; ++i)
        quantize(t.weights + i * t.taps, t.taps, result + i * stride);
    return result;
  }
}

template <class Mid, class Kernels>
HorizontalTable<Mid> horizontal_table(const Kernels& kernels, const AxisTable& t, int64_t channels,
                                      ScratchArena& arena) {
  constexpr int kMoreOffsets = 4;
  int32_t* offset = arena.take<int32_t>(t.out + kMoreOffsets);
  const Mid* weights = mid_weights<Mid>(t, arena);
  Mid* memory = arena.take<Mid>(kernels.prepared_size(t.out, t.taps, channels));
  if (arena.counting()) return {};
  for (int64_t x = 0; x < t.out; ++x)
    offset[x] = static_cast<int32_t>((t.start[x] - t.source.begin) * channels);
  std::fill(offset + t.out, offset + t.out + kMoreOffsets, 0);
  return kernels.prepare(offset, weights, t.out, t.taps, channels, memory);
}

// Source rows (or slices) that went through the first pass, as many as the second one sees at once.
template <class Mid>
class Ring {
 public:
  Ring(int64_t capacity, int64_t elements, ScratchArena& arena)
      : capacity_(capacity), stride_((elements + kRowPadding + 31) / 32 * 32) {
    rows_ = arena.take<Mid>(capacity_ * stride_);
    held_ = arena.take<int64_t>(capacity_);
  }
  void clear() { std::fill(held_, held_ + capacity_, -1); }
  template <class Make>
  const Mid* get(int64_t source, Make make) {
    Mid* row = rows_ + source % capacity_ * stride_;
    if (int64_t& held = held_[source % capacity_]; held != source) {
      make(row);
      held = source;
    }
    return row;
  }

 private:
  int64_t capacity_, stride_;
  Mid* rows_;
  int64_t* held_;  // source row in each place, -1: none
};

// Two-dimensional resampling; the tables and rows serve every slice and frame of a job.
template <class In, class Mid, class Out>
class PlaneResampler {
 public:
  PlaneResampler(const ResampleJob& job, ScratchArena& arena)
      : channels_(job.channels),
        h_(build_table(job.axes[kH], true, arena)),
        w_(build_table(job.axes[kW], false, arena)),
        weights_(mid_weights<Mid>(h_, arena)),
        table_(horizontal_table<Mid>(horizontal_, w_, channels_, arena)),
        ring_(max_taps(job.axes[kH]), w_.out * channels_, arena) {
    const ResampleRange columns = resample_source_range(job.axes[kW]);
    row_ = arena.take<Mid>((columns.end - columns.begin) * channels_ + kRowPadding);
    buffer_ = arena.take<Mid>(w_.out * channels_ + kRowPadding);
    in_rows_ = arena.take<const In*>(max_taps(job.axes[kH]));
    mid_rows_ = arena.take<const Mid*>(max_taps(job.axes[kH]));
    const bool may_exceed =
        !is_positive(axis_filter(job.axes[kH])) || !is_positive(axis_filter(job.axes[kW]));
    rounds_between_ = std::is_same_v<In, uint8_t> && std::is_same_v<Out, uint8_t> && may_exceed &&
                      job.axes[kH].cut && job.axes[kW].cut;
    vertical_first_ =
        h_.identity || (!rounds_between_ && is_vertical_first(job.axes[kH], job.axes[kW]));
  }

  int64_t height() const { return h_.out; }
  // Before the first rows of a plane.
  void begin_plane() { ring_.clear(); }
  // Rows [begin, end) of the result of plane `in`.
  void rows(const In* in, int64_t in_stride, int64_t begin, int64_t end, Out* out,
            int64_t out_stride) {
    in += w_.source.begin * channels_;
    const int64_t in_width = (w_.source.end - w_.source.begin) * channels_;
    const int64_t out_width = w_.out * channels_;
    for (int64_t y = begin; y < end; ++y, out += out_stride) {
      const In* first = in + h_.start[y] * in_stride;
      const Mid* weights = weights_ + y * (kLead<Mid> + h_.taps) + kLead<Mid>;
      const Mid start = kLead<Mid> ? weights[-kLead<Mid>] : Mid(0);
      if (w_.identity) {
        copy_or_blend(first, in_stride, weights, start, out_width, out);
      } else if (vertical_first_) {
        if (h_.identity) kernels_.to_mid(first, in_width, row_);
        else
          kernels_.blend_to_mid(source_rows(first, in_stride), weights, h_.taps, start, in_width,
                                row_);
        horizontal_.finish(row_, table_, channels_, buffer_, out);
      } else {
        for (int k = 0; k < h_.taps; ++k) {
          mid_rows_[k] = ring_.get(h_.start[y] + k, [&](Mid* place) {
            kernels_.to_mid(first + k * in_stride, in_width, row_);
            horizontal_.to_mid(row_, table_, channels_, place);
            if (rounds_between_) round_to_bytes(place, out_width);
          });
        }
        kernels_.blend_mid(mid_rows_, weights, h_.taps, start, out_width, buffer_, out);
      }
    }
  }

 private:
  // The pass over fewer elements comes first; the horizontal one costs more for each. Decided for
  // the whole result, so that a window of it is rounded in the same order.
  static bool is_vertical_first(const ResampleAxis& h, const ResampleAxis& w) {
    constexpr double kHorizontalCost = 1.5;
    const double in_h = std::min<double>(whole_source(h), static_cast<double>(h.in));
    const double in_w = std::min<double>(whole_source(w), static_cast<double>(w.in));
    const double out_h = static_cast<double>(full_extent(h));
    const double out_w = static_cast<double>(full_extent(w));
    const double vertical = max_taps(h), horizontal = kHorizontalCost * max_taps(w);
    return out_h * (in_w * vertical + out_w * horizontal) <=
           out_w * (in_h * horizontal + out_h * vertical);
  }
  // Like a byte; halves to even.
  static void round_to_bytes(Mid* row, int64_t n) {
    if constexpr (std::is_same_v<Mid, float>) {
      constexpr float kWhole = 0x1p23f;  // floats from here on are whole numbers
      for (int64_t i = 0; i < n; ++i)
        row[i] = (std::min(std::max(row[i], 0.0f), 255.0f) + kWhole) - kWhole;
    }
  }
  static double whole_source(const ResampleAxis& axis) {
    return std::abs(static_cast<double>(axis.high) - axis.low);
  }
  const In* const* source_rows(const In* first, int64_t stride) {
    for (int k = 0; k < h_.taps; ++k) in_rows_[k] = first + k * stride;
    return in_rows_;
  }
  void copy_or_blend(const In* first, int64_t stride, const Mid* weights, Mid start, int64_t n,
                     Out* out) {
    if constexpr (std::is_same_v<In, Out>) {
      if (h_.identity) return void(std::memcpy(out, first, static_cast<size_t>(n) * sizeof(Out)));
    }
    kernels_.blend(source_rows(first, stride), weights, h_.taps, start, n, buffer_, out);
  }

  const RowKernels<In, Mid, Out>& kernels_ = row_kernels<In, Mid, Out>();
  const HorizontalKernels<Mid, Out>& horizontal_ = horizontal_kernels<Mid, Out>();
  int64_t channels_;
  AxisTable h_, w_;
  const Mid* weights_;
  HorizontalTable<Mid> table_;
  Ring<Mid> ring_;
  Mid *row_, *buffer_;
  const In** in_rows_;
  const Mid** mid_rows_;
  bool vertical_first_ = true;
  // With `cut` and filters with negative weights, rows are bytes between the passes, as Pillow's,
  // which loses what exceeds them.
  bool rounds_between_ = false;
};

}  // namespace torchdali::kernels
