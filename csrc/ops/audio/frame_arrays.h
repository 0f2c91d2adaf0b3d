// SPDX-License-Identifier: Apache-2.0
// Operators that change the frames of a spectrogram one by one, on whole arrays and on frames that
// are read in order (core/audio/audio_part.h).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/audio/audio_part.h"
#include "kernels/audio/tiles.h"
#include "kernels/audio_features/frame_rows.h"

namespace torchdali {

// An array as [outer, extent, inner], where the axis in the middle has the values of a frame.
struct FrameAxis {
  int64_t outer = 1, extent = 0, inner = 1;

  FrameAxis(const Shape& shape, int axis) : extent(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.ndim(); ++i) inner *= shape[i];
  }
};

// Filters every frame of `in`; a frame of the output has `rows` values. filter(out, in, frames)
// computes a multiple of 16 frames in rows.
template <class Fn>
void filter_array(SampleContext& ctx, float* out, int64_t rows, const float* in,
                  const FrameAxis& axis, Fn&& filter) {
  const auto tile_of = [&](int64_t count) {
    return ctx.scratch<float>(static_cast<size_t>(count * kFrameLanes)).data();
  };
  float* const from = tile_of(axis.extent);
  float* const to = tile_of(rows);
  // Without `inner`, each frame is contiguous.
  const bool contiguous = axis.inner == 1;
  const int64_t arrays = contiguous ? 1 : axis.outer, frames = contiguous ? axis.outer : axis.inner;
  const kernels::FrameArray source = {axis.extent, frames, contiguous},
                            target = {rows, frames, contiguous};
  const int64_t in_place = contiguous ? 0 : frames - frames % kFrameLanes;
  for (int64_t a = 0; a < arrays; ++a, in += axis.extent * frames, out += rows * frames) {
    if (in_place > 0)
      filter(kernels::FrameRows<float>{out, frames}, kernels::FrameRows<const float>{in, frames},
             in_place);
    for (int64_t first = in_place; first < frames; first += kFrameLanes) {
      kernels::load_tile(from, in, source, first);
      filter(kernels::FrameRows<float>{to}, kernels::FrameRows<const float>{from}, kFrameLanes);
      kernels::store_tile(out, target, first, to);
    }
  }
}

// The frames of `in`, filtered.
template <class Fn>
class FilteredFrames final : public FrameReader {
 public:
  FilteredFrames(SampleContext& ctx, FrameReader& in, int64_t rows, Fn filter)
      : FrameReader(rows, in.frames()),
        in_(in),
        filter_(std::move(filter)),
        tile_(ctx.scratch<float>(static_cast<size_t>(in.rows() * kFrameLanes)).data()) {}
  void read(float* tile) override {
    in_.read(tile_);
    filter_(tile, static_cast<const float*>(tile_));
  }

 private:
  FrameReader& in_;
  Fn filter_;
  float* tile_;
};
template <class Fn>
std::unique_ptr<FrameReader> filtered_frames(SampleContext& ctx, FrameReader& in, int64_t rows,
                                             Fn filter) {
  return std::make_unique<FilteredFrames<Fn>>(ctx, in, rows, std::move(filter));
}

// Makes output 0 from all frames of `in`.
inline void store_frames(SampleContext& ctx, FrameReader& in, bool time_first) {
  const kernels::FrameArray array = {in.rows(), in.frames(), time_first};
  float* const tile = ctx.scratch<float>(static_cast<size_t>(array.rows * kFrameLanes)).data();
  const Shape shape =
      time_first ? Shape{array.frames, array.rows} : Shape{array.rows, array.frames};
  SampleView& out = ctx.output(0, DType::kFloat, shape, time_first ? "tf" : "ft");
  for (int64_t first = 0; first < array.frames; first += kFrameLanes) {
    kernels::prefetch_tile(out.as<float>(), array, first);
    in.read(tile);
    kernels::store_tile(out.as<float>(), array, first, tile);
  }
  in.finish(out.as<float>(), out.volume());
}

}  // namespace torchdali
