// SPDX-License-Identifier: Apache-2.0
#include "ops/boxes/crop_search.h"

#include <algorithm>
#include <cmath>

namespace torchdali {
namespace {

constexpr int kPairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};  // axes of the aspect ratios
// An impossible request must not run forever: limits without and with an explicit number of
// attempts.
constexpr int64_t kUsualAttempts = 100000, kMostAttempts = 1000000;

}  // namespace

float common_volume(const Extent& a, const Extent& b, int ndim) {
  float v = 1;
  for (int d = 0; d < ndim; ++d)
    v *= std::max(0.0f, std::min(a.end[d], b.end[d]) - std::max(a.start[d], b.start[d]));
  return v;
}

// Extents are independent, and those with other aspect ratios are rejected. If the range has a
// single ratio, the larger extent determines the others, as in DALI 1.35 (found by comparing
// distributions).
bool CropSearch::draw_extents(RandomStream& random, Point& extents) const {
  for (int d = 0; d < ndim; ++d)
    extents[d] = random.uniform(scaling.low, scaling.high) * input_shape[d];
  const int pairs = ndim == 2 ? 1 : 3;
  const bool all_fixed = std::all_of(aspect_ratios.begin(), aspect_ratios.end(),
                                     [](const Range& r) { return r.low == r.high; });
  if (ndim == 3 && all_fixed) extents.fill(std::max({extents[0], extents[1], extents[2]}));
  for (int p = 0; p < pairs; ++p) {
    const auto [i, j] = kPairs[p];
    const Range& range = aspect_ratios[p];
    if (range.low != range.high || (p == 2 && all_fixed)) continue;
    const bool first_is_set = p == 1 && aspect_ratios[0].low == aspect_ratios[0].high;
    const float largest = first_is_set ? extents[i] : std::max(extents[i], extents[j]);
    if (range.low >= 1 || first_is_set) {
      extents[i] = largest;
      extents[j] = largest / range.low;
    } else {
      extents[j] = largest;
      extents[i] = largest * range.low;
    }
  }
  for (int p = 0; p < pairs; ++p) {
    const float ratio = extents[kPairs[p][0]] / extents[kPairs[p][1]];
    constexpr float kRounding = 1e-5f;
    if (!(ratio >= aspect_ratios[p].low * (1 - kRounding) &&
          ratio <= aspect_ratios[p].high * (1 + kRounding)))
      return false;
  }
  for (int d = 0; d < ndim; ++d) extents[d] /= input_shape[d];
  return true;
}

// A window larger than the input is placed around it.
bool CropSearch::draw_window(RandomStream& random, Result& result) const {
  Point extents{};
  if (!crop_shape && !draw_extents(random, extents)) return false;
  for (int d = 0; d < ndim; ++d) {
    float& start = result.window.start[d];
    if (crop_shape) {
      const auto size = static_cast<double>(input_shape[d]);
      const int64_t room = static_cast<int64_t>(size) - (*crop_shape)[d];
      result.start[d] = random.uniform_int(std::min<int64_t>(0, room), std::max<int64_t>(0, room));
      start = static_cast<float>(static_cast<double>(result.start[d]) / size);
      extents[d] = static_cast<float>(static_cast<double>((*crop_shape)[d]) / size);
    } else {
      const float room = 1 - extents[d];
      start = random.uniform(std::min(0.0f, room), std::max(0.0f, room));
    }
    result.window.end[d] = start + extents[d];
  }
  return true;
}

float CropSearch::metric(std::span<const Extent> boxes, const Extent& window) const {
  if (boxes.empty()) return 1;
  float least = 1, greatest = 0;
  for (const Extent& box : boxes) {
    const float common = common_volume(box, window, ndim);
    const float whole = intersection_over_union ? box.volume(ndim) + window.volume(ndim) - common
                                                : box.volume(ndim);
    const float value = whole > 0 ? common / whole : 0;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  return all_boxes ? least : greatest;
}

void CropSearch::prune(std::span<const Extent> boxes, Result& result) const {
  result.kept.clear();
  for (size_t i = 0; i < boxes.size(); ++i) {
    const Extent& box = boxes[i];
    bool keep = true;
    if (prune_threshold) {
      keep = common_volume(box, result.window, ndim) > *prune_threshold * box.volume(ndim);
    } else {
      for (int d = 0; d < ndim; ++d) {
        const float center = 0.5f * (box.start[d] + box.end[d]);
        keep &= center >= result.window.start[d] && center <= result.window.end[d];
      }
    }
    if (keep) result.kept.push_back(static_cast<int32_t>(i));
  }
}

// A round has one threshold. As in DALI 1.35 (found by comparing distributions), it ends with the
// first window that meets the threshold, also if that keeps no box; and a total of attempts is
// counted as if each round used all of its attempts.
CropSearch::Result CropSearch::run(std::span<const Extent> boxes, RandomStream& random) const {
  const bool no_crop = allow_no_crop && !crop_shape;
  const auto options = static_cast<int64_t>(thresholds.size()) + no_crop;
  const bool limited = total_num_attempts > 0;
  const int64_t most = limited ? kMostAttempts : kUsualAttempts;
  std::optional<Result> best;
  float best_metric = -1;
  int64_t drawn = 0;
  for (int64_t counted = 0; drawn < most && !(limited && counted >= total_num_attempts);
       counted += num_attempts) {
    const auto option = static_cast<size_t>(random.uniform_int(0, options - 1));
    if (option == thresholds.size()) {
      Result whole;
      for (size_t i = 0; i < boxes.size(); ++i) whole.kept.push_back(static_cast<int32_t>(i));
      return whole;
    }
    for (int i = 0; i < num_attempts && drawn < most; ++i) {
      ++drawn;
      Result result;
      if (!draw_window(random, result)) continue;
      const float value = metric(boxes, result.window);
      const bool enough = value >= thresholds[option];
      if (enough) {
        prune(boxes, result);
        if (boxes.empty() || !result.kept.empty()) return result;
      }
      if (value > best_metric) {
        best_metric = value;
        best = std::move(result);
      }
      if (enough) break;
    }
  }
  Result last = best ? std::move(*best) : Result();
  prune(boxes, last);
  last.found = false;
  return last;
}

}  // namespace torchdali
