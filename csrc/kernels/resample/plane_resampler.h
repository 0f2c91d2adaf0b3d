// SPDX-License-Identifier: Apache-2.0
// Two-dimensional resampling with filters: a pass along each axis. Included by resample.cpp only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/resample/horizontal_tables.h"
#include "kernels/resample/resample.h"
#include "kernels/resample/resample_strides.h"
#include "kernels/resample/resample_table.h"
#include "kernels/resample/ring.h"
#include "kernels/resample_rows/resample_rows.h"

namespace torchdali::kernels {

// Two-dimensional resampling; the tables and rows serve every slice and frame of a job.
template <class In, class Mid, class Out>
class PlaneResampler {
 public:
  PlaneResampler(const ResampleJob& job, ScratchArena& arena)
      : channels_(job.channels),
        h_(build_table(job.axes[kH], true, arena)),
        w_(build_table(job.axes[kW], false, arena)),
        weights_(mid_weights<Mid>(h_, arena)),
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
    const bool two_taps = max_taps(job.axes[kW]) == 2;
    const bool sparse = kSparse && two_taps && max_taps(job.axes[kH]) == 2 && vertical_first_;
    tables_ = horizontal_tables<In, Mid>(horizontal_, w_, channels_,
                                         {.two_taps = two_taps,
                                          .sparse = sparse && (arena.counting() || h_.taps == 2),
                                          .from_source = h_.identity || !vertical_first_},
                                         arena);
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
    // The last row of which kRowPadding elements more than its own can be read.
    const In* last = in + (h_.source.end - 1) * in_stride - kRowPadding;
    for (int64_t y = begin; y < end; ++y, out += out_stride) {
      const In* first = in + h_.start[y] * in_stride;
      const Mid* weights = weights_ + y * (kLead<Mid> + h_.taps) + kLead<Mid>;
      const Mid start = kLead<Mid> ? weights[-kLead<Mid>] : Mid(0);
      if (w_.identity) {
        copy_or_blend(first, in_stride, weights, start, out_width, out);
      } else if (tables_.sparse.out > 0) {
        make_sparse(first, in_stride, weights, start, out);
      } else if (vertical_first_) {
        if (h_.identity) {
          finish(first, in_width, last, out);
        } else {
          kernels_.blend_to_mid(source_rows(first, in_stride), weights, h_.taps, start, in_width,
                                row_);
          finish_blended(out);
        }
      } else {
        for (int k = 0; k < h_.taps; ++k) {
          mid_rows_[k] = ring_.get(h_.start[y] + k, [&](Mid* place) {
            to_mid(first + k * in_stride, in_width, last, place);
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
  void make_sparse(const In* first, int64_t stride, const Mid* weights, Mid start, Out* out) {
    if constexpr (kSparse)
      sparse_kernels<In, Mid>().make(source_rows(first, stride), weights, start, tables_.sparse,
                                     out);
  }
  // The horizontal pass of a row of the source, of n elements; `last`: as for mid_row().
  void to_mid(const In* from, int64_t n, const In* last, Mid* result) {
    if constexpr (kFixed)
      if (tables_.pairs.windows > 0) return pairs_.bytes_to_mid(from, tables_.pairs, result);
    if constexpr (kBytesToFloat)
      if (tables_.bytes.taps > 0)
        return byte_tap_kernels().to_mid(padded_row(from, n, last), tables_.bytes, result);
    horizontal_.to_mid(mid_row(from, n, last), tables_.any, channels_, result);
  }
  void finish(const In* from, int64_t n, const In* last, Out* out) {
    if constexpr (kFixed)
      if (tables_.pairs.windows > 0) return pairs_.bytes_to_bytes(from, tables_.pairs, out);
    if (tables_.bytes.taps > 0) {
      to_mid(from, n, last, buffer_);
      return horizontal_.round(buffer_, w_.out * channels_, out);
    }
    horizontal_.finish(mid_row(from, n, last), tables_.any, channels_, buffer_, out);
  }
  // The same of a blended row.
  void finish_blended(Out* out) {
    if constexpr (kFixed)
      if (tables_.pairs.windows > 0) return pairs_.mid_to_bytes(row_, tables_.pairs, out);
    horizontal_.finish(row_, tables_.any, channels_, buffer_, out);
  }
  // A source row of n elements, which kRowPadding readable ones follow. Those of `last` and of rows
  // before it are in the source.
  const In* padded_row(const In* from, int64_t n, const In* last) {
    static_assert(sizeof(In) <= sizeof(Mid));
    if (from <= last) return from;
    std::memcpy(row_, from, static_cast<size_t>(n) * sizeof(In));
    return reinterpret_cast<const In*>(row_);
  }
  // The same as middle elements.
  const Mid* mid_row(const In* from, int64_t n, const In* last) {
    if constexpr (std::is_same_v<In, Mid>) {
      return padded_row(from, n, last);
    } else {
      kernels_.to_mid(from, n, row_);
      return row_;
    }
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

  static constexpr bool kFixed = std::is_same_v<Mid, uint16_t>;
  static constexpr bool kBytesToFloat = std::is_same_v<In, uint8_t> && !kFixed;
  static constexpr bool kSparse =
      kFixed || (std::is_same_v<In, float> && std::is_same_v<Out, float>);

  const RowKernels<In, Mid, Out>& kernels_ = row_kernels<In, Mid, Out>();
  const HorizontalKernels<Mid, Out>& horizontal_ = horizontal_kernels<Mid, Out>();
  const PairKernels& pairs_ = pair_kernels();
  int64_t channels_;
  AxisTable h_, w_;
  const Mid* weights_;
  Ring<Mid> ring_;
  HorizontalTables<Mid> tables_;
  Mid *row_, *buffer_;
  const In** in_rows_;
  const Mid** mid_rows_;
  bool vertical_first_ = true;
  // With `cut` and filters with negative weights, rows are bytes between the passes, as Pillow's,
  // which loses what exceeds them.
  bool rounds_between_ = false;
};

}  // namespace torchdali::kernels
