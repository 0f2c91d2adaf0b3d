// SPDX-License-Identifier: Apache-2.0
#include "kernels/resample/halving.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/resample/resample_strides.h"

namespace torchdali::kernels {
namespace {

constexpr int64_t kMaxChannels = 4;

// Whether each pixel is made of two pixels of the source, or of four with antialiasing. What is
// beyond the edges of a region counts.
bool halves(const ResampleAxis& axis) {
  constexpr float kMaxExact = 0x1p22f;
  const bool linear =
      axis.min_filter == ResampleFilter::kLinear || axis.min_filter == ResampleFilter::kTriangular;
  const int64_t full = full_extent(axis);
  return linear && !axis.mirror && !(axis.cut && axis.antialias) && axis.low >= 0 &&
         axis.high <= static_cast<float>(axis.in) && axis.high <= kMaxExact &&
         axis.low == std::floor(axis.low) && axis.begin >= 0 && axis.begin + axis.out <= full &&
         axis.high - axis.low == static_cast<float>(2 * full);
}

}  // namespace

bool HalvedPlane::fits(const ResampleJob& job) {
  return halving_kernels().available && job.in_type == DType::kUInt8 &&
         job.out_type == DType::kUInt8 && job.channels <= kMaxChannels && halves(job.axes[kH]) &&
         halves(job.axes[kW]) && job.axes[kH].antialias == job.axes[kW].antialias;
}

HalvedPlane::Axis::Axis(const ResampleAxis& axis) : out(axis.out) {
  const int64_t whole = static_cast<int64_t>(axis.low) + 2 * axis.begin - (axis.antialias ? 1 : 0);
  const int64_t taps = axis.antialias ? 4 : 2;
  base = whole - axis.stored;
  first = std::max<int64_t>(0, -whole);
  end = std::min(2 * (out - 1) + taps, axis.in - whole);
}

HalvedPlane::HalvedPlane(const ResampleJob& job, ScratchArena& arena)
    : channels_(job.channels),
      antialias_(job.axes[kW].antialias),
      h_(job.axes[kH]),
      w_(job.axes[kW]),
      ring_(antialias_ ? kMaxTaps : 0, w_.out * channels_, arena) {}

void HalvedPlane::rows(const uint8_t* in, int64_t in_stride, int64_t begin, int64_t end,
                       uint8_t* out, int64_t out_stride) {
  const auto source = [&](int64_t row) {
    return in + (h_.base + row) * in_stride + w_.base * channels_;
  };
  for (int64_t y = begin; y < end; ++y, out += out_stride) {
    if (!antialias_) {
      kernels_.mean(source(2 * y), in_stride, w_.out, channels_, out);
      continue;
    }
    std::array<const uint16_t*, kMaxTaps> taps;
    for (int k = 0; k < kMaxTaps; ++k) {
      const int64_t row = std::clamp(2 * y + k, h_.first, h_.end - 1);
      taps[static_cast<size_t>(k)] = ring_.get(row, [&](uint16_t* place) {
        kernels_.add_columns(source(row), w_.first, w_.end, w_.out, channels_, place);
      });
    }
    kernels_.add_rows(taps.data(), w_.out * channels_, out);
  }
}

}  // namespace torchdali::kernels
