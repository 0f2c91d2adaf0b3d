// SPDX-License-Identifier: Apache-2.0
#include "ops/resize/resize_attr.h"

#include <algorithm>
#include <cmath>

namespace torchdali {
namespace {

constexpr float kMaxSize = 0x1p31f;

}  // namespace

SchemaBuilder& add_resize_args(SchemaBuilder& schema) {
  constexpr auto kPerSample = Arity::kPerSample;
  return schema
      .optional_arg("size", ArgType::kFloatVec,
                    "Size of the result in pixels, one value per spatial axis in the order of the "
                    "layout, or one value for all. 0: follows from the others and `mode`. "
                    "Negative: mirrored. Fractions: see `subpixel_scale`.",
                    kPerSample)
      .arg("resize_x", 0.0f, "Width of the result; excludes `size`. 0 and below as in `size`.",
           kPerSample)
      .arg("resize_y", 0.0f, "Height of the result; excludes `size`. 0 and below as in `size`.",
           kPerSample)
      .arg("resize_z", 0.0f, "Depth of the result; excludes `size`. Ignored for images.",
           kPerSample)
      .arg("resize_shorter", 0.0f,
           "Length of the shortest spatial axis of the result, keeping the aspect ratio. "
           "Equivalent to the same `size` along all axes with `mode` \"not_smaller\".",
           kPerSample)
      .arg("resize_longer", 0.0f,
           "Length of the longest spatial axis of the result, keeping the aspect ratio. Equivalent "
           "to the same `size` along all axes with `mode` \"not_larger\".",
           kPerSample)
      .arg("mode", "default",
           "\"default\": `size` as given; absent axes are scaled by the geometric mean of the "
           "other scales. \"stretch\": absent axes are not scaled. \"not_larger\": the aspect "
           "ratio is kept and no axis exceeds `size`. \"not_smaller\": the aspect ratio is kept "
           "and no axis falls below `size`. Excludes `resize_shorter` and `resize_longer`.")
      .optional_arg("max_size", ArgType::kFloatVec,
                    "Upper limit of the extents of the result, one for all or one per spatial "
                    "axis; 0: no limit. If the aspect ratio is kept, the whole result shrinks.")
      .arg("subpixel_scale", true,
           "Fractional sizes are rounded. True: the region of interest grows or shrinks "
           "accordingly, so that the scale is exact. False: the region is kept and the scale "
           "changes.")
      .arg(
          "size_rounding", "round",
          "How extents that follow from `resize_shorter` or `resize_longer` are rounded: \"round\" "
          "(to the nearest), or \"truncate\": as torchvision does, which also keeps the region, "
          "whatever `subpixel_scale` is, and applies `max_size`, one number, to the rounded "
          "extents. torchdali only.")
      .with(add_region_args);
}

SchemaBuilder& add_region_args(SchemaBuilder& schema) {
  constexpr auto kPerSample = Arity::kPerSample;
  return schema
      .optional_arg("roi_start", ArgType::kFloatVec,
                    "First corner of the region of interest, one value per spatial axis or one for "
                    "all; requires `roi_end`. Pixel i covers [i, i + 1). If the start exceeds the "
                    "end, the result is mirrored.",
                    kPerSample)
      .optional_arg("roi_end", ArgType::kFloatVec, "Opposite corner of the region of interest.",
                    kPerSample)
      .arg("roi_relative", false, "Whether the corners are fractions of the input's extents.");
}

ResizeArgs::ResizeArgs(const OpSpec& spec)
    : size_(spec, "size"),
      max_size_(spec, "max_size"),
      roi_start_(spec, "roi_start"),
      roi_end_(spec, "roi_end"),
      x_(spec, "resize_x"),
      y_(spec, "resize_y"),
      z_(spec, "resize_z"),
      shorter_(spec, "resize_shorter"),
      longer_(spec, "resize_longer"),
      mode_(parse_resize_mode(spec.get<std::string>("mode"))),
      subpixel_scale_(spec.get<bool>("subpixel_scale")),
      roi_relative_(spec.get<bool>("roi_relative")) {
  const bool by_axis = x_.given() || y_.given() || z_.given();
  const int ways = by_axis + size_.given() + shorter_.given() + longer_.given();
  TORCHDALI_CHECK(ways == 1, "the size was given in ", ways,
                  " ways, expected exactly one of `size`, `resize_x`/`resize_y`/`resize_z`, "
                  "`resize_shorter`, `resize_longer`");
  TORCHDALI_CHECK(!(spec.has("mode") && (shorter_.given() || longer_.given())),
                  "`mode` excludes `resize_shorter` and `resize_longer`, which imply one");
  TORCHDALI_CHECK(roi_start_.given() == roi_end_.given(),
                  "`roi_start` and `roi_end` must be given together");
  const auto rounding = spec.get<std::string>("size_rounding");
  truncate_ = rounding == "truncate";
  TORCHDALI_CHECK(truncate_ || rounding == "round", "`size_rounding` is \"", rounding,
                  "\", expected \"round\" or \"truncate\"");
  TORCHDALI_CHECK(
      !truncate_ || ((shorter_.given() || longer_.given()) && !roi_start_.given()),
      "`size_rounding` is for `resize_shorter` and `resize_longer`, without a region of "
      "interest");
  if (shorter_.given()) mode_ = Mode::kNotSmaller;
  if (longer_.given()) mode_ = Mode::kNotLarger;
}

void ResizeArgs::read(const SampleContext& ctx, const ListArg<float>& arg, const char* name,
                      int ndim, Values& values) const {
  static thread_local std::vector<float> buffer;
  const std::span<const float> given = arg(ctx, buffer);
  const int count = static_cast<int>(given.size());
  TORCHDALI_CHECK(count == 1 || count == ndim, "`", name, "` has ", count,
                  " values, expected 1 or ", ndim, ", one a spatial axis");
  for (int a = 0; a < ndim; ++a) {
    values[a] = given[count == 1 ? 0 : a];
    TORCHDALI_CHECK(std::isfinite(values[a]), "`", name, "` must be finite, got ", values[a]);
  }
}

ResizeArgs::Values ResizeArgs::requested_size(const SampleContext& ctx, int ndim) const {
  Values size{};
  if (size_.given()) {
    read(ctx, size_, "size", ndim, size);
  } else if (shorter_.given() || longer_.given()) {
    size.fill(shorter_.given() ? shorter_(ctx) : longer_(ctx));
  } else {
    size[ndim - 1] = x_(ctx);
    size[ndim - 2] = y_(ctx);
    if (ndim == 3) size[0] = z_(ctx);
  }
  for (float s : size) TORCHDALI_CHECK(std::abs(s) < kMaxSize, "cannot resize to an extent of ", s);
  return size;
}

// Source: torchvision 0.29, transforms/functional.py, _compute_resized_output_size().
void ResizeArgs::truncated_size(const SampleContext& ctx, std::span<const int64_t> extents,
                                const Values& size, ResizeGeometry& g) const {
  const int64_t asked = std::llround(size[0]);
  TORCHDALI_CHECK(g.ndim == 2 && asked > 0, "`size_rounding` is for images, and sizes from 1, got ",
                  g.ndim, " axes and a size of ", size[0]);
  const int64_t shorter = std::min(extents[0], extents[1]);
  const int64_t longer = std::max(extents[0], extents[1]);
  int64_t new_shorter = asked, new_longer = asked;
  if (longer_.given()) {
    new_shorter = asked * shorter / longer;
  } else {
    new_longer = asked * longer / shorter;
    Values limit{};
    if (max_size_.given()) read(ctx, max_size_, "max_size", 1, limit);
    const int64_t most = std::llround(limit[0]);
    if (most > 0 && new_longer > most) {
      new_shorter = most * new_shorter / new_longer;
      new_longer = most;
    }
  }
  for (int a = 0; a < 2; ++a) {
    g.high[a] = static_cast<float>(extents[a]);

    g.out[a] = std::max<int64_t>(1, extents[a] == shorter ? new_shorter : new_longer);
  }
}

ResizeGeometry ResizeArgs::operator()(const SampleContext& ctx,
                                      std::span<const int64_t> extents) const {
  ResizeGeometry g{.ndim = static_cast<int>(extents.size())};
  const int n = g.ndim;
  Values size = requested_size(ctx, n);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) {  // stays empty
    for (int a = 0; a < n; ++a) {
      g.high[a] = static_cast<float>(extents[a]);
      const int64_t asked = std::llround(std::abs(size[a]));
      g.out[a] = extents[a] == 0 ? 0 : asked > 0 ? asked : extents[a];
    }
    return g;
  }

  if (truncate_) {
    truncated_size(ctx, extents, size, g);
    return g;
  }
  if (roi_start_.given()) {
    read(ctx, roi_start_, "roi_start", n, g.low);
    read(ctx, roi_end_, "roi_end", n, g.high);
  }
  Values limit{};
  if (max_size_.given()) read(ctx, max_size_, "max_size", n, limit);
  std::array<FitAxis, 3> axes;
  for (int a = 0; a < n; ++a) {
    const auto extent = static_cast<float>(extents[a]);
    const bool region = roi_start_.given();
    const float unit = roi_relative_ ? extent : 1;
    axes[a] = {.size = size[a],
               .limit = limit[a],
               .low = region ? g.low[a] * unit : 0,
               .high = region ? g.high[a] * unit : extent};
  }
  fit_axes(std::span(axes).first(static_cast<size_t>(n)), mode_, subpixel_scale_);
  for (int a = 0; a < n; ++a) {
    g.out[a] = axes[a].out;
    g.low[a] = axes[a].low;
    g.high[a] = axes[a].high;
  }
  return g;
}

}  // namespace torchdali
