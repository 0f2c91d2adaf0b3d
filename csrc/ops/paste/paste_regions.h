// SPDX-License-Identifier: Apache-2.0
// The regions that multi_paste pastes, and their positions: the arguments `in_anchors`, `shapes`
// and `out_anchors`, and their relative forms (`_rel`).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"

namespace torchdali {

// The arguments of PasteRegions, for SchemaBuilder::with().
inline SchemaBuilder& add_paste_region_args(SchemaBuilder& schema) {
  return schema
      .optional_arg("in_anchors", ArgType::kInt,
                    "First row and column of the regions in their images; by default 0.",
                    Arity::kPerSample)
      .optional_arg("in_anchors_rel", ArgType::kFloat,
                    "`in_anchors` as fractions of the image, rounded to the nearest.",
                    Arity::kPerSample)
      .optional_arg("shapes", ArgType::kInt,
                    "Height and width of the regions; by default all of the image from the anchor.",
                    Arity::kPerSample)
      .optional_arg("shapes_rel", ArgType::kFloat,
                    "`shapes` as fractions of the image; the end of a region is rounded to the "
                    "nearest.",
                    Arity::kPerSample)
      .optional_arg("out_anchors", ArgType::kInt,
                    "Row and column of the canvas where the regions begin; by default 0.",
                    Arity::kPerSample)
      .optional_arg("out_anchors_rel", ArgType::kFloat,
                    "`out_anchors` as fractions of the canvas, rounded to the nearest.",
                    Arity::kPerSample);
}

// Two numbers for each pasted region: a tensor of shape [regions, 2], for all frames or (if its
// layout begins with F) for each frame; or a constant for all.
class Coordinates {
 public:
  Coordinates(const OpSpec& spec, const char* name)
      : name_(name), constant_(spec, name), given_(spec.has(name)) {
    if (spec.has_tensor(name)) slot_ = spec.tensors.at(name);
  }
  bool given() const { return given_; }
  const char* name() const { return name_; }
  // The numbers of all regions in a frame, two per region.
  void read(const SampleContext& ctx, int64_t frame, int64_t frames, size_t regions,
            std::vector<double>& out) const {
    out.resize(2 * regions);
    if (slot_ < 0) {
      std::fill(out.begin(), out.end(), constant_(ctx));
      return;
    }
    const SampleView& value = ctx.argument_input(slot_);
    const bool sequence = !value.layout.empty() && value.layout[0] == 'F';
    const int ndim = value.shape.ndim();
    TORCHDALI_CHECK(!sequence || value.shape[0] == frames || value.shape[0] == 1, "`", name_,
                    "` has values for ", value.shape[0], " frames, and the sequence has ", frames);
    TORCHDALI_CHECK(ndim == 2 + sequence && value.shape[ndim - 1] == 2 &&
                        value.shape[ndim - 2] == static_cast<int64_t>(regions),
                    "`", name_, "` takes two numbers for each of the ", regions,
                    " regions (a tensor of shape [", regions, ", 2]), got one of shape ",
                    value.shape);
    const bool moves = sequence && value.shape[0] > 1;
    dispatch_dtype(value.dtype, [&]<class T>() {
      const T* from = value.as<const T>() + (moves ? frame : 0) * static_cast<int64_t>(out.size());
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(from[i]);
    });
  }

 private:
  const char* name_;
  Arg<double> constant_;
  bool given_;
  int slot_ = -1;
};

// Absolute coordinates, fractions of an extent, or not given.
class Place {
 public:
  Place(const OpSpec& spec, const char* absolute, const char* relative)
      : absolute_(spec, absolute), relative_(spec, relative) {
    TORCHDALI_CHECK(!absolute_.given() || !relative_.given(), "`", absolute, "` and `", relative,
                    "` exclude each other");
  }
  bool given() const { return absolute_.given() || relative_.given(); }
  bool relative() const { return relative_.given(); }
  const char* name() const { return relative() ? relative_.name() : absolute_.name(); }
  void read(const SampleContext& ctx, int64_t frame, int64_t frames, size_t regions,
            std::vector<double>& out) const {
    if (given()) (relative() ? relative_ : absolute_).read(ctx, frame, frames, regions, out);
    else out.assign(2 * regions, 0.0);
  }

 private:
  Coordinates absolute_, relative_;
};

// One region, in height, width and channels.
struct PasteRegion {
  Shape anchor, extent, place;  // in the image, of both, on the canvas
};

// Immutable; any thread. Fractions are rounded to the nearest integer, halves away from zero.
class PasteRegions {
 public:
  explicit PasteRegions(const OpSpec& spec)
      : in_anchors_(spec, "in_anchors", "in_anchors_rel"),
        out_anchors_(spec, "out_anchors", "out_anchors_rel"),
        shapes_(spec, "shapes", "shapes_rel") {}

  // The numbers of one frame: two of each kind for each of `count` regions.
  struct Numbers {
    std::vector<double> from, to, extents;
  };
  void read(const SampleContext& ctx, int64_t frame, int64_t frames, size_t count,
            Numbers& numbers) const {
    in_anchors_.read(ctx, frame, frames, count, numbers.from);
    out_anchors_.read(ctx, frame, frames, count, numbers.to);
    shapes_.read(ctx, frame, frames, count, numbers.extents);
  }

  // Region `i`, of an image of shape `source`; raises if it is not inside image and canvas.
  PasteRegion region(size_t i, const Numbers& numbers, const Shape& source,
                     const Shape& canvas) const {
    PasteRegion r{.anchor = source, .extent = source, .place = source};
    r.anchor[2] = r.place[2] = 0;
    for (int k = 0; k < 2; ++k) {
      const size_t at = 2 * i + static_cast<size_t>(k);
      const auto extent = static_cast<double>(source[k]);
      const double begin = numbers.from[at] * (in_anchors_.relative() ? extent : 1.0);
      r.anchor[k] = whole(begin, in_anchors_.name());
      if (!shapes_.given()) r.extent[k] = source[k] - r.anchor[k];
      else if (!shapes_.relative()) r.extent[k] = whole(numbers.extents[at], shapes_.name());
      else {  // both ends are rounded, so that adjacent regions touch
        const double end = begin + numbers.extents[at] * extent;
        r.extent[k] = whole(end, shapes_.name()) - r.anchor[k];
      }
      const double unit = out_anchors_.relative() ? static_cast<double>(canvas[k]) : 1.0;
      r.place[k] = whole(numbers.to[at] * unit, out_anchors_.name());
      check_inside(i, "image", r.anchor[k], r.extent[k], source[k]);
      check_inside(i, "canvas", r.place[k], r.extent[k], canvas[k]);
    }
    return r;
  }

 private:
  // Checks that later arithmetic with a coordinate cannot overflow.
  static int64_t whole(double x, const char* name) {
    constexpr double kMax = 1e15;  // NaN fails too
    TORCHDALI_CHECK(x >= -kMax && x <= kMax, "`", name, "` has ", x);
    return static_cast<int64_t>(std::round(x));
  }
  static void check_inside(size_t region, const char* of, int64_t begin, int64_t extent,
                           int64_t limit) {
    TORCHDALI_CHECK_KIND(kIndex, begin >= 0 && extent >= 0 && extent <= limit - begin, "region ",
                         region, " reaches outside the ", of, ": from ", begin, ", ", extent,
                         " pixels, of ", limit);
  }

  Place in_anchors_, out_anchors_, shapes_;
};

}  // namespace torchdali
