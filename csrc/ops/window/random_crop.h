// SPDX-License-Identifier: Apache-2.0
// RandomCropGenerator: windows of random area and aspect ratio. All operators that crop at random
// use it, so the same seed draws the same window in all of them. Source: Szegedy et al., "Going
// Deeper with Convolutions", 2015 (the augmentation); the details (rounding, rejection, fallback)
// were found by running DALI 1.35.0's decoders.image_random_crop.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/error.h"
#include "core/random.h"

namespace torchdali {

// Rows [y, y + h) and columns [x, x + w) of an image.
struct CropWindow {
  int64_t y = 0, x = 0, h = 0, w = 0;
  bool operator==(const CropWindow&) const = default;
};

struct FloatRange {
  double low = 0, high = 0;
};

enum class WindowRule : int8_t { kDali, kTorchvision };

// Immutable; any thread.
class RandomCropGenerator {
 public:
  // `area`: fraction of the image that the window covers, 0 <= low <= high. `aspect_ratio`: width
  // over height, 0 < low <= high. `num_attempts`: draws of area and aspect ratio before giving up.
  RandomCropGenerator(FloatRange area, FloatRange aspect_ratio, int num_attempts,
                      WindowRule rule = WindowRule::kDali)
      : area_(area), ratio_(aspect_ratio), num_attempts_(num_attempts), rule_(rule) {
    TORCHDALI_CHECK(area.low >= 0 && area.low <= area.high && std::isfinite(area.high),
                    "`random_area` must be a range of numbers from 0, got [", area.low, ", ",
                    area.high, "]");
    TORCHDALI_CHECK(ratio_.low > 0 && ratio_.low <= ratio_.high && std::isfinite(ratio_.high),
                    "`random_aspect_ratio` must be a range of positive numbers, got [", ratio_.low,
                    ", ", ratio_.high, "]");
    TORCHDALI_CHECK(num_attempts >= 0 && num_attempts <= kMostAttempts, "`num_attempts` is ",
                    num_attempts, ", expected 0 to ", kMostAttempts);
    log_low_ = std::log(ratio_.low);
    log_high_ = std::log(ratio_.high);
  }

  // A window in an image of h rows and w columns; empty if the image is.
  CropWindow generate(int64_t h, int64_t w, RandomStream& rng) const {
    if (h <= 0 || w <= 0) return {};
    if (rule_ == WindowRule::kTorchvision) return generate_as_torchvision(h, w, rng);
    const CropWindow size = draw_size(h, w, rng);
    const int64_t y = rng.uniform_int(0, h - size.h);
    const int64_t x = rng.uniform_int(0, w - size.w);
    return {.y = y, .x = x, .h = size.h, .w = size.w};
  }

 private:
  // A range that no window of an image satisfies must not take forever.
  static constexpr int kMostAttempts = 1000000;

  // Source: torchvision 0.29, transforms/v2/_geometry.py, RandomResizedCrop.make_params().
  CropWindow generate_as_torchvision(int64_t h, int64_t w, RandomStream& rng) const {
    const double rows = static_cast<double>(h), columns = static_cast<double>(w);
    for (int attempt = 0; attempt < num_attempts_; ++attempt) {
      const double area = rows * columns * between(area_.low, area_.high, rng);
      const double ratio = std::exp(between(log_low_, log_high_, rng));
      const double width = std::nearbyint(std::sqrt(area * ratio));
      const double height = std::nearbyint(std::sqrt(area / ratio));
      if (!(width > 0 && width <= columns && height > 0 && height <= rows)) continue;
      CropWindow window{.h = static_cast<int64_t>(height), .w = static_cast<int64_t>(width)};
      window.y = rng.uniform_int(0, h - window.h);
      window.x = rng.uniform_int(0, w - window.w);
      return window;
    }
    CropWindow window{.h = h, .w = w};
    if (columns / rows < ratio_.low)
      window.h = static_cast<int64_t>(std::nearbyint(columns / ratio_.low));
    else if (columns / rows > ratio_.high)
      window.w = static_cast<int64_t>(std::nearbyint(rows * ratio_.high));
    window.y = (h - window.h) / 2;
    window.x = (w - window.w) / 2;
    return window;
  }
  CropWindow draw_size(int64_t h, int64_t w, RandomStream& rng) const {
    const double image_area = static_cast<double>(h) * static_cast<double>(w);
    // The widest window of full height and the tallest one of full width.
    const CropWindow widest{.h = h, .w = within(static_cast<double>(h) * ratio_.high, w)};
    const CropWindow tallest{.h = within(static_cast<double>(w) / ratio_.low, h), .w = w};
    // An image so narrow that no window can have the smallest area.
    const double min_area = image_area * area_.low;
    if (static_cast<double>(h) * static_cast<double>(widest.w) < min_area) return widest;
    if (static_cast<double>(w) * static_cast<double>(tallest.h) < min_area) return tallest;

    for (int attempt = 0; attempt < num_attempts_; ++attempt) {
      const double area = image_area * between(area_.low, area_.high, rng);
      const double ratio = std::exp(between(log_low_, log_high_, rng));
      const double rows = std::sqrt(area / ratio) + 0.5, columns = std::sqrt(area * ratio) + 0.5;
      if (!(rows < static_cast<double>(h + 1) && columns < static_cast<double>(w + 1))) continue;
      const CropWindow size{.h = within(rows, h), .w = within(columns, w)};
      // Rounding can move the ratio of a small window out of the range.
      const double rounded_ratio = static_cast<double>(size.w) / static_cast<double>(size.h);
      if (rounded_ratio >= ratio_.low && rounded_ratio <= ratio_.high) return size;
    }
    // The largest window whose ratio is in the range, shrunk to the largest area.
    const double image_ratio = static_cast<double>(w) / static_cast<double>(h);
    CropWindow size{.h = h, .w = w};
    if (image_ratio > ratio_.high) size = widest;
    else if (image_ratio < ratio_.low) size = tallest;
    const double size_area = static_cast<double>(size.h) * static_cast<double>(size.w);
    const double scale = std::sqrt(std::min(1.0, image_area * area_.high / size_area));
    size.h = within(static_cast<double>(size.h) * scale, h);
    size.w = within(static_cast<double>(size.w) * scale, w);
    return size;
  }
  // The whole pixels of an extent, from 1 to that of the image.
  static int64_t within(double extent, int64_t of) {
    return extent < static_cast<double>(of) ? std::max<int64_t>(1, static_cast<int64_t>(extent))
                                            : of;
  }
  static double between(double low, double high, RandomStream& rng) {
    return low + (high - low) * rng.uniform_double();
  }

  FloatRange area_, ratio_;
  double log_low_, log_high_;
  int num_attempts_;
  WindowRule rule_;
};

}  // namespace torchdali
