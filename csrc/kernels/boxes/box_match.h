// SPDX-License-Identifier: Apache-2.0
// Matching and encoding of boxes by anchors, as in SSD (Liu et al., "SSD: Single Shot MultiBox
// Detector", 2016); for the host and the GPU.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace torchdali::kernels {

struct Box {
  float left, top, right, bottom;
  constexpr float area() const { return (right - left) * (bottom - top); }
};
struct BoxCandidate {
  float overlap;
  int32_t anchor;
};
// x and y of the center, width, height.
struct CenterSize {
  float x[4];
};

constexpr CenterSize center_size(const Box& b) {
  return {
      {0.5f * (b.left + b.right), 0.5f * (b.top + b.bottom), b.right - b.left, b.bottom - b.top}};
}

// Intersection over union, from the overlap of two boxes along both axes and the sum of their
// areas. 0 if they do not overlap, or if a number is NaN. Takes numbers instead of boxes so that
// the loop over anchors is vectorized.
[[gnu::always_inline]] constexpr float box_overlap(float width, float height, float areas) {
  const float common = (width > 0 ? width : 0.0f) * (height > 0 ? height : 0.0f);
  const float value = common / (areas - common);
  return value > 0 ? value : 0.0f;
}
constexpr float box_overlap(const Box& a, const Box& b) {
  return box_overlap(std::min(a.right, b.right) - std::max(a.left, b.left),
                     std::min(a.bottom, b.bottom) - std::max(a.top, b.top), a.area() + b.area());
}

// Whether another box replaces the current box of an anchor. Of equal boxes, the later one wins.
// Without branches, for the same reason.
[[gnu::always_inline]] constexpr int is_better_box(float overlap, float best, int has_box) {
  const int more = overlap > best, equal = overlap == best;
  return more | (equal & has_box);
}

struct BoxOffsets {
  float scale, means[4], stds[4];
};
constexpr CenterSize box_offset(const CenterSize& box, const CenterSize& anchor,
                                const BoxOffsets& by) {
  CenterSize out{};
  for (int i = 0; i < 2; ++i) {
    const float size_of_anchor = anchor.x[i + 2] * by.scale;
    const float distance = (box.x[i] * by.scale - anchor.x[i] * by.scale) / size_of_anchor;
    const float size = std::log(box.x[i + 2] * by.scale / size_of_anchor);
    out.x[i] = (distance - by.means[i]) / by.stds[i];
    out.x[i + 2] = (size - by.means[i + 2]) / by.stds[i + 2];
  }
  return out;
}

}  // namespace torchdali::kernels
