// SPDX-License-Identifier: Apache-2.0
// fn.affine, fn.perspective: images under maps, with the grids and the rounding of torchvision.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/argument.h"
#include "gpu/operator.h"
#include "kernels/augment/map_pixels.h"
#include "kernels/augment/pass_gpu.h"
#include "ops/augment/image_args.h"
#include "ops/augment/pass_tasks.h"

namespace torchdali {
namespace {

using kernels::ImageArithmetic;
using kernels::ImageExtents;
using kernels::PixelMap;

// A map, and the extents of its result.
struct MappedImage {
  PixelMap map = {1, 0, 0, 0, 1, 0, 0, 0};
  int64_t height = 0, width = 0;
  bool perspective = false;
};

// `count` finite numbers for a sample.
void read_numbers(const SampleContext& ctx, const ListArg<float>& arg, const char* name,
                  size_t count, double* to) {
  thread_local std::vector<float> buffer;
  const auto values = arg(ctx, buffer);
  TORCHDALI_CHECK(values.size() == count, "`", name, "` has ", values.size(), " values, expected ",
                  count);
  for (size_t i = 0; i < count; ++i) {
    TORCHDALI_CHECK(std::isfinite(values[i]), "`", name, "` has ", values[i],
                    ", expected finite numbers");
    to[i] = values[i];
  }
}

// Extents of a rotated image that is not cut off: `map` is that about the center. Returns them in
// `image`, and moves the map.
void expand_canvas(MappedImage& image, ImageArithmetic arithmetic, bool centered) {
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height);
  PixelMap& m = image.map;
  double low[2], high[2];
  for (int axis = 0; axis < 2; ++axis) {
    low[axis] = std::numeric_limits<double>::infinity();
    high[axis] = -low[axis];
    for (const auto& [x, y] : {std::pair{0.0, 0.0}, {w, 0.0}, {w, h}, {0.0, h}}) {
      const size_t k = axis == 0 ? 0 : 3;
      const double at = m[k] * x + m[k + 1] * y + m[k + 2];
      low[axis] = std::min(low[axis], at);
      high[axis] = std::max(high[axis], at);
    }
    if (arithmetic == ImageArithmetic::kTorch) {  // to four digits
      low[axis] = std::trunc(low[axis] * 1e4) * 1e-4;
      high[axis] = std::trunc(high[axis] * 1e4) * 1e-4;
    }
  }
  double new_w = std::ceil(high[0]) - std::floor(low[0]),
         new_h = std::ceil(high[1]) - std::floor(low[1]);
  // Quarters of a turn about the center are transpositions in both libraries.
  constexpr double kRounding = 1e-12;
  if (centered && std::min(std::abs(m[0]), std::abs(m[1])) < kRounding) {
    new_w = std::round(std::abs(m[0]) * w + std::abs(m[1]) * h);
    new_h = std::round(std::abs(m[0]) * h + std::abs(m[1]) * w);
  }
  const double dx = (w - new_w) * 0.5, dy = (h - new_h) * 0.5;
  m[2] += m[0] * dx + m[1] * dy;
  m[5] += m[3] * dx + m[4] * dy;
  image.width = static_cast<int64_t>(new_w);
  image.height = static_cast<int64_t>(new_h);
}

class AffineMap {
 public:
  explicit AffineMap(const OpSpec& spec)
      : angle_(spec, "angle"),
        scale_(spec, "scale"),
        rotation_(spec, "rotation"),
        translate_(spec, "translate"),
        shear_(spec, "shear"),
        center_(spec, "center"),
        expand_(spec.get<bool>("expand")) {
    if (!spec.has("rotation")) {
      TORCHDALI_CHECK(!expand_, "`expand` is for `rotation`, which is not given");
      return;
    }
    for (const char* other : {"angle", "scale", "translate", "shear"})
      TORCHDALI_CHECK(!spec.has(other), "`rotation` excludes `", other, "`");
    rotates_ = true;
  }

  void operator()(const SampleContext& ctx, ImageArithmetic arithmetic, MappedImage& image) const {
    kernels::AffineArguments to;
    to.center = {static_cast<double>(image.width) * 0.5, static_cast<double>(image.height) * 0.5};
    if (center_.given()) read_numbers(ctx, center_, "center", 2, to.center.data());
    if (rotates_) {
      const double degrees = finite(rotation_(ctx), "rotation");
      to.angle = -degrees;
      image.map = arithmetic == ImageArithmetic::kPillow
                      ? kernels::pillow_rotation(degrees, to.center)
                      : kernels::inverse_affine(to);
      if (expand_) expand_canvas(image, arithmetic, !center_.given());
      return;
    }
    to.angle = finite(angle_(ctx), "angle");
    to.scale = finite(scale_(ctx), "scale");
    TORCHDALI_CHECK(to.scale > 0, "`scale` is ", to.scale, ", expected a number above 0");
    read_numbers(ctx, translate_, "translate", 2, to.translate.data());
    read_numbers(ctx, shear_, "shear", 2, to.shear.data());
    image.map = kernels::inverse_affine(to);
  }

 private:
  static double finite(float value, const char* name) {
    TORCHDALI_CHECK(std::isfinite(value), "`", name, "` is ", value, ", expected a finite number");
    return value;
  }
  Arg<float> angle_, scale_, rotation_;
  ListArg<float> translate_, shear_, center_;
  bool expand_, rotates_ = false;
};

// The map for which the corners of the image come to lie at `to`: x, y of the first pixel, and on,
// clockwise. In double, by Gauss and Jordan with pivots; rounded to float, as torchvision does.
PixelMap corner_map(const std::array<double, 8>& to, double right, double bottom) {
  const double from[8] = {0, 0, right, 0, right, bottom, 0, bottom};
  double a[8][9] = {};
  for (size_t p = 0; p < 4; ++p) {
    const double x = to[2 * p], y = to[2 * p + 1];
    for (size_t axis = 0; axis < 2; ++axis) {
      double* row = a[2 * p + axis];
      const double target = from[2 * p + axis];
      row[3 * axis] = x;
      row[3 * axis + 1] = y;
      row[3 * axis + 2] = 1;
      row[6] = -target * x;
      row[7] = -target * y;
      row[8] = target;
    }
  }
  for (int k = 0; k < 8; ++k) {
    int pivot = k;
    for (int r = k + 1; r < 8; ++r)
      if (std::abs(a[r][k]) > std::abs(a[pivot][k])) pivot = r;
    TORCHDALI_CHECK(std::abs(a[pivot][k]) > 1e-9,
                    "`corners` are on one line, or the image has a single row or column");
    std::swap(a[k], a[pivot]);
    for (int r = 0; r < 8; ++r) {
      if (r == k) continue;
      const double by = a[r][k] / a[k][k];
      for (int c = k; c < 9; ++c) a[r][c] -= by * a[k][c];
    }
  }
  PixelMap map;
  for (size_t k = 0; k < 8; ++k) map[k] = static_cast<float>(a[k][8] / a[k][k]);
  return map;
}

class PerspectiveMap {
 public:
  explicit PerspectiveMap(const OpSpec& spec)
      : corners_(spec, "corners"), moves_(spec, "moves"), distortion_(spec, "distortion") {
    TORCHDALI_CHECK(corners_.given() != moves_.given(), "takes either `corners` or `moves`");
  }

  void operator()(const SampleContext& ctx, ImageArithmetic /*arithmetic*/,
                  MappedImage& image) const {
    std::array<double, 8> to;
    const int64_t right = image.width - 1, bottom = image.height - 1;
    if (corners_.given()) {
      read_numbers(ctx, corners_, "corners", 8, to.data());
    } else {
      read_numbers(ctx, moves_, "moves", 8, to.data());
      const double by = distortion_(ctx);
      TORCHDALI_CHECK(by >= 0 && by <= 1, "`distortion` is ", by, ", expected 0 to 1");
      for (size_t k = 0; k < 8; ++k) {
        TORCHDALI_CHECK(to[k] >= 0 && to[k] < 1, "`moves` has ", to[k],
                        ", expected at least 0 and less than 1");
        const int64_t last = k % 2 == 0 ? right : bottom;
        const int64_t half = (last + 1) / 2;
        const double moved = std::floor(to[k] * (std::trunc(by * static_cast<double>(half)) + 1));
        const bool from_end = k % 2 == 0 ? k == 2 || k == 4 : k >= 4;
        to[k] = from_end ? static_cast<double>(last) - moved : moved;
      }
    }
    image.perspective = true;
    image.map = corner_map(to, static_cast<double>(right), static_cast<double>(bottom));
  }

 private:
  ListArg<float> corners_, moves_;
  Arg<float> distortion_;
};

// What both halves do first.
template <class Map>
class MapArgs {
 public:
  explicit MapArgs(const OpSpec& spec)
      : args_(spec), map_(spec), fill_(spec, "fill_value"), apply_(spec, "apply") {
    options_.linear = takes_linear(spec);
    options_.arithmetic = args_.arithmetic;
  }

  // Makes the output, and plans the map; none if there is no pixel.
  std::optional<kernels::MapPlan> operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = args_.layout(in);
    const ImageExtents image = args_.extents(in, layout);
    MappedImage mapped{.height = image.height, .width = image.width};
    const bool applies = apply_(ctx) && in.volume() > 0;
    if (applies) map_(ctx, args_.arithmetic, mapped);
    Shape shape = in.shape;
    shape[layout.find('H')] = mapped.height;
    shape[layout.find('W')] = mapped.width;
    if (ctx.output(0, in.dtype, shape, layout).volume() == 0) return std::nullopt;
    thread_local std::vector<float> buffer;
    kernels::MapOptions options = options_;
    if (applies) options.fill = outside_values(fill_(ctx, buffer), image);
    else options.linear = false;  // a copy
    options.perspective = mapped.perspective;
    return plan_map(mapped.map, image, mapped.height, mapped.width, options,
                    in.dtype == DType::kUInt8);
  }

 private:
  AugmentArgs args_;
  Map map_;
  ListArg<float> fill_;
  Arg<bool> apply_;
  kernels::MapOptions options_;
};

template <class Map>
class MapImage final : public Operator {
 public:
  explicit MapImage(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto plan = args_(ctx);
    if (!plan.has_value()) return;
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (in.dtype == DType::kUInt8)
      kernels::map_pixels(out.as<uint8_t>(), in.as<const uint8_t>(), *plan);
    else kernels::map_pixels(out.as<float>(), in.as<const float>(), *plan);
  }

 private:
  MapArgs<Map> args_;
};

template <class Map>
class MapImageGpu final : public gpu::KernelOperator<gpu::PixelPassKernel> {
 public:
  explicit MapImageGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto plan = args_(ctx);
    if (!plan.has_value()) return;
    Task task = make_map_task(blob(ctx), ctx.input(0).dtype, *plan);
    task.in = ctx.input(0).data;
    task.out = ctx.output_view(0).data;
    tasks(ctx).add(ctx, task);
  }

 private:
  MapArgs<Map> args_;
};

SchemaBuilder& add_map_settings(SchemaBuilder& schema) {
  return schema.arg("interp_type", InterpType::kNN, "Interpolation: INTERP_NN or INTERP_LINEAR.")
      .arg("fill_value", std::vector<float>{},
           "Values outside the input: one, or one for each channel. None: 0, to which linear "
           "interpolation blends.",
           Arity::kPerSample)
      .arg("apply", true, "False for samples that stay as they are.", Arity::kPerSample)
      .with(add_arithmetic);
}

TORCHDALI_OPERATOR("affine")
    .doc(
        "Rotates, scales, shears and moves an image, with the results of torchvision's affine(), "
        "or of its rotate() if `rotation` is given. fn.warp_affine takes a matrix and has DALI's "
        "borders.")
    .with(add_augment_image)
    .output("mapped", "Element type and layout of the input; its shape, unless `expand`.")
    .arg("angle", 0.0f, "Rotation in degrees, clockwise.", Arity::kPerSample)
    .arg("translate", std::vector<float>{0.0f, 0.0f}, "Move along x and y, in pixels.",
         Arity::kPerSample)
    .arg("scale", 1.0f, "Factor of the size, above 0.", Arity::kPerSample)
    .arg("shear", std::vector<float>{0.0f, 0.0f}, "Shears along x and y, in degrees.",
         Arity::kPerSample)
    .arg("rotation", 0.0f, "Rotation in degrees, counterclockwise; excludes the arguments above.",
         Arity::kPerSample)
    .optional_arg("center", ArgType::kFloatVec,
                  "Position x, y that rotation, scale and shears keep, from the corner of the "
                  "first pixel. Default: the center.",
                  Arity::kPerSample)
    .arg("expand", false, "With `rotation`: the result contains the whole rotated image.")
    .with(add_map_settings)
    .each_frame()
    .cpu<MapImage<AffineMap>>()
    .gpu<MapImageGpu<AffineMap>>();

TORCHDALI_OPERATOR("perspective")
    .doc(
        "Maps an image so that its corners move, with the results of torchvision's perspective(). "
        "fn.experimental.warp_perspective takes a matrix and has DALI's borders.")
    .with(add_augment_image)
    .output("mapped", "Shape, element type and layout of the input.")
    .optional_arg("corners", ArgType::kFloatVec,
                  "Positions x, y of the first pixel, and clockwise of the other corners: eight "
                  "numbers, in pixels.",
                  Arity::kPerSample)
    .optional_arg("moves", ArgType::kFloatVec,
                  "Instead of `corners`: how far they move inwards, as parts (0 to 1, exclusive) "
                  "of the pixels that `distortion` permits, rounded down.",
                  Arity::kPerSample)
    .arg("distortion", 0.5f, "The part of half an extent that corners may move by, with `moves`.",
         Arity::kPerSample)
    .with(add_map_settings)
    .each_frame()
    .cpu<MapImage<PerspectiveMap>>()
    .gpu<MapImageGpu<PerspectiveMap>>();

}  // namespace
}  // namespace torchdali
