// SPDX-License-Identifier: Apache-2.0
// The search of fn.random_bbox_crop: windows drawn at random until one fits the boxes.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"

namespace torchdali {

// Of an axis-parallel box or window in the plane (ndim 2) or in space (3).
using Point = std::array<float, 3>;
struct Extent {
  Point start{}, end{};
  float volume(int ndim) const {
    float v = 1;
    for (int d = 0; d < ndim; ++d) v *= end[d] - start[d];
    return v;
  }
};
// Volume of the intersection.
float common_volume(const Extent& a, const Extent& b, int ndim);

struct Range {
  float low, high;
};

struct CropSearch {
  int ndim;
  std::vector<float> thresholds;
  bool intersection_over_union;  // else the part of a box inside the window
  bool all_boxes;                // must reach the threshold; else one of them
  bool allow_no_crop;
  int num_attempts;
  int64_t total_num_attempts;  // < 0: not given
  Range scaling;
  std::vector<Range> aspect_ratios;  // of x/y, x/z, y/z
  std::optional<float> prune_threshold;

  // Parameters of one sample.
  Point input_shape{1, 1, 1};
  std::optional<std::array<int64_t, 3>> crop_shape;  // windows of this size, at whole positions

  struct Result {
    Extent window{{0, 0, 0}, {1, 1, 1}};  // fractions of the input
    std::array<int64_t, 3> start{};       // with `crop_shape`: start of the window
    std::vector<int32_t> kept;            // boxes
    bool found = true;
  };
  Result run(std::span<const Extent> boxes, RandomStream& random) const;

 private:
  bool draw_extents(RandomStream& random, Point& extents) const;
  bool draw_window(RandomStream& random, Result& result) const;
  float metric(std::span<const Extent> boxes, const Extent& window) const;
  void prune(std::span<const Extent> boxes, Result& result) const;
};

}  // namespace torchdali
