// SPDX-License-Identifier: Apache-2.0
// How sizes are computed: in float, as in DALI, so that halves are rounded the same way.
#include "ops/resize/fit_axes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "core/layout.h"

namespace torchdali {
namespace {

// An empty region is widened to this.
constexpr float kMinRegion = 1e-3f;
// What the region is widened by, at most, when less than a pixel is asked for: a tenth of a pixel
// is taken for anything smaller.
constexpr float kMinSize = 0.1f;
constexpr float kMaxExtent = 0x1p31f;

float mean_scale(std::span<const float> scales) {
  double log_sum = 0;
  for (float s : scales) log_sum += std::log(static_cast<double>(s));
  return scales.size() == 1
             ? scales[0]
             : static_cast<float>(std::exp(log_sum / static_cast<double>(scales.size())));
}

int64_t rounded_size(float size, SizeRounding rounding) {
  switch (rounding) {
    case SizeRounding::kTruncate: return static_cast<int64_t>(size);
    case SizeRounding::kCeil: return static_cast<int64_t>(std::ceil(size));
    default: return std::llround(size);
  }
}

}  // namespace

ResizeMode parse_resize_mode(const std::string& name) {
  if (name == "default") return ResizeMode::kDefault;
  if (name == "stretch") return ResizeMode::kStretch;
  if (name == "not_larger") return ResizeMode::kNotLarger;
  TORCHDALI_CHECK(name == "not_smaller", "`mode` is \"", name,
                  "\", expected \"default\", \"stretch\", \"not_larger\" or \"not_smaller\"");
  return ResizeMode::kNotSmaller;
}

void fit_axes(std::span<FitAxis> axes, ResizeMode mode, bool subpixel_scale,
              SizeRounding rounding) {
  const size_t n = axes.size();
  std::array<float, kMaxDims> region{}, scales{};
  std::array<bool, kMaxDims> mirror{};
  size_t given = 0;
  for (size_t a = 0; a < n; ++a) {
    FitAxis& axis = axes[a];
    if (std::abs(axis.high - axis.low) < kMinRegion) {
      const float center = 0.5f * (axis.low + axis.high);
      const float half = axis.high < axis.low ? -0.5f * kMinRegion : 0.5f * kMinRegion;
      axis.low = center - half;
      axis.high = center + half;
    }
    region[a] = std::abs(axis.high - axis.low);
    mirror[a] = axis.size < 0;
    axis.size = std::abs(axis.size);
    if (axis.size != 0) scales[given++] = axis.size / region[a];
  }
  // DALI does not mirror a reversed region along an axis without a size, unless another axis sets
  // the scale of all.
  const bool each_axis = mode == ResizeMode::kDefault || mode == ResizeMode::kStretch;
  for (size_t a = 0; a < n; ++a)
    if (axes[a].size == 0 && (each_axis || given == 0)) mirror[a] = axes[a].high < axes[a].low;

  const auto known = std::span<const float>(scales).first(given);
  if (given == 0) {
    for (size_t a = 0; a < n; ++a) axes[a].size = region[a];
  } else if (each_axis) {
    const float scale = mode == ResizeMode::kStretch ? 1 : mean_scale(known);
    for (size_t a = 0; a < n; ++a) {
      FitAxis& axis = axes[a];
      if (axis.size == 0) axis.size = region[a] * scale;
      if (axis.limit > 0) axis.size = std::min(axis.size, axis.limit);
    }
  } else {
    float scale = mode == ResizeMode::kNotLarger ? *std::min_element(known.begin(), known.end())
                                                 : *std::max_element(known.begin(), known.end());
    for (size_t a = 0; a < n; ++a)
      if (axes[a].limit > 0) scale = std::min(scale, axes[a].limit / region[a]);
    for (size_t a = 0; a < n; ++a) axes[a].size = region[a] * scale;
  }

  for (size_t a = 0; a < n; ++a) {
    FitAxis& axis = axes[a];
    TORCHDALI_CHECK(axis.size < kMaxExtent, "cannot resize an extent of ", region[a], " to ",
                    axis.size);
    axis.out = std::max<int64_t>(1, rounded_size(axis.size, rounding));
    const float whole = static_cast<float>(axis.out);
    if (subpixel_scale && whole != axis.size) {
      const double fixed = axis.alignment == 0.5f
                               ? 0.5f * (axis.low + axis.high)
                               : axis.low + (axis.high - axis.low) * axis.alignment;
      const double growth = static_cast<double>(whole) / std::max(axis.size, kMinSize);
      axis.low = static_cast<float>(fixed + (axis.low - fixed) * growth);
      axis.high = static_cast<float>(fixed + (axis.high - fixed) * growth);
    }
    if (mirror[a]) std::swap(axis.low, axis.high);
  }
}

}  // namespace torchdali
