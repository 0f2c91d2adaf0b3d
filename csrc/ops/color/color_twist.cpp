// SPDX-License-Identifier: Apache-2.0
// fn.hsv, fn.hue, fn.saturation, fn.color_twist: hue, saturation, brightness and contrast as one
// linear map of the channels of a pixel.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "core/argument.h"
#include "core/operator.h"
#include "gpu/chain.h"
#include "kernels/color/color_matrix.h"
#include "kernels/color/color_matrix_gpu.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

using Matrix = std::array<std::array<double, 3>, 3>;

// RGB to YIQ, the primaries of NTSC (FCC 1953; DALI 1.35 uses three-digit numbers, found by
// experiment), and its inverse by cofactors.
constexpr Matrix kToYiq = {
    {{0.299, 0.587, 0.114}, {0.596, -0.274, -0.321}, {0.211, -0.523, 0.311}}};

constexpr Matrix inverse(const Matrix& a) {
  Matrix cofactors{};
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
      cofactors[i][k] = a[i1][k1] * a[i2][k2] - a[i1][k2] * a[i2][k1];
    }
  const double determinant =
      a[0][0] * cofactors[0][0] + a[0][1] * cofactors[0][1] + a[0][2] * cofactors[0][2];
  Matrix result{};
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) result[i][k] = cofactors[k][i] / determinant;
  return result;
}
constexpr Matrix kFromYiq = inverse(kToYiq);

constexpr Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result{};
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k)
      result[i][k] = a[i][0] * b[0][k] + a[i][1] * b[1][k] + a[i][2] * b[2][k];
  return result;
}

// Rotates the plane of I and Q by `hue` degrees and scales it by `saturation`.
Matrix hue_saturation(double hue, double saturation) {
  const double angle = hue * (std::numbers::pi / 180);
  const double c = saturation * std::cos(angle), s = saturation * std::sin(angle);
  return product(kFromYiq, product(Matrix{{{1, 0, 0}, {0, c, s}, {0, -s, c}}}, kToYiq));
}

// The arguments, as a linear map.
class LinearColorArgs {
 public:
  struct Map {
    DType dtype;
    Layout layout;
    kernels::ColorMatrix matrix;
  };
  explicit LinearColorArgs(const OpSpec& spec) : layout_(spec, 0) {
    const auto make = [&spec](std::optional<Arg<float>>& arg, const char* name) {
      if (spec.schema->find_arg(name) != nullptr) arg.emplace(spec, name);
    };
    make(hue_, "hue");
    make(saturation_, "saturation");
    make(value_, "value");
    make(brightness_, "brightness");
    make(contrast_, "contrast");
    // NO_TYPE means that of the input, also where the default is another.
    if (spec.defined("dtype") && spec.get<int64_t>("dtype") != static_cast<int64_t>(DType::kNone))
      dtype_ = spec.get<DType>("dtype");
  }

  Map operator()(const SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const DType dtype = dtype_ == DType::kNone ? in.dtype : dtype_;
    const int64_t channels = in.shape[in.shape.ndim() - 1];
    TORCHDALI_CHECK_KIND(
        kValue, channels == 3, "input `data` has ", channels,
        channels == 1 ? " channel" : " channels", ", expected 3 (red, green, blue)",
        to_fix("convert the images with fn.color_space_conversion, or decode them as RGB"));
    const float brightness = value(ctx, brightness_, 1.0f) * value(ctx, value_, 1.0f);
    const float contrast = value(ctx, contrast_, 1.0f);
    const Matrix m = hue_saturation(value(ctx, hue_, 0.0f), value(ctx, saturation_, 1.0f));
    kernels::ColorMatrix map;
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 3; ++k) map.m[i][k] = static_cast<float>(m[i][k] * brightness * contrast);
      map.offset[i] = (center(in.dtype) - center(in.dtype) * contrast) * brightness;
    }
    return {dtype, layout, map};
  }

 private:
  static float value(const SampleContext& ctx, const std::optional<Arg<float>>& arg, float absent) {
    return arg.has_value() ? (*arg)(ctx) : absent;
  }
  // The value that contrast does not change. DALI uses the middle of uint8 for all integers.
  static float center(DType dtype) { return is_floating(dtype) ? 0.5f : 128.0f; }

  InputLayout layout_;
  std::optional<Arg<float>> hue_, saturation_, value_, brightness_, contrast_;
  DType dtype_ = DType::kNone;
};

class ColorTwist final : public Operator {
 public:
  explicit ColorTwist(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto [dtype, layout, matrix] = args_(ctx);
    const SampleView& out = ctx.output(0, dtype, in.shape, layout);
    kernels::color_matrix(out.data, dtype, in.data, in.dtype, in.volume() / 3, matrix);
  }

 private:
  LinearColorArgs args_;
};

class ColorTwistGpu final : public gpu::KernelOperator<gpu::ColorMatrixKernel>,
                            public gpu::MapsPixels {
 public:
  explicit ColorTwistGpu(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto [dtype, layout, matrix] = args_(ctx);
    Task task;
    task.in = in.data;
    task.out = ctx.output(0, dtype, in.shape, layout).data;
    task.size = in.volume() / 3;
    task.in_dtype = in.dtype;
    task.out_dtype = dtype;
    set(matrix, task);
    tasks(ctx).add(ctx, task);
  }
  gpu::PixelStep step(const SampleContext& ctx, gpu::Blob& /*lists*/) const override {
    const auto [dtype, layout, matrix] = args_(ctx);
    gpu::PixelStep step{.kind = gpu::PixelStep::Kind::kColor, .dtype = dtype, .channels = 3};
    set(matrix, step);
    return step;
  }

 private:
  template <class To>
  static void set(const kernels::ColorMatrix& matrix, To& to) {
    for (int i = 0; i < 3; ++i) {
      std::copy_n(matrix.m[i], 3, to.m[i]);
      to.offset[i] = matrix.offset[i];
    }
  }
  LinearColorArgs args_;
};

SchemaBuilder& add_images(SchemaBuilder& schema) {
  return schema
      .input("data", "RGB images, volumes or sequences, with three channels; any element type.",
             {"HWC", "FHWC", "DHWC"})
      .output("adjusted",
              "Shape and layout of the input, of type `dtype`. Computed in float32; integers are "
              "rounded, halves away from zero, and saturate.")
      .sequences();
}
SchemaBuilder& add_dtype(SchemaBuilder& schema) {
  return schema
      .optional_arg("dtype", ArgType::kDType, "Element type of the output; the input's by default.")
      .arg("image_type", ImageType::kRGB, "Has no effect: the channels are red, green, blue.")
      .volumes();
}
SchemaBuilder& add_hue(SchemaBuilder& schema) {
  return schema.arg("hue", 0.0f, "Rotation of the hue, in degrees.", Arity::kPerSample);
}
SchemaBuilder& add_saturation(SchemaBuilder& schema) {
  return schema.arg("saturation", 1.0f,
                    "Factor of the saturation; 1 changes nothing, 0 gives shades of gray.",
                    Arity::kPerSample);
}

TORCHDALI_OPERATOR("hsv")
    .doc(
        "Adjusts hue, saturation and value (brightness): rotates and scales the color plane of "
        "YIQ, then scales all channels. No conversion to HSV happens.")
    .with(add_images)
    .with(add_hue)
    .with(add_saturation)
    .arg("value", 1.0f, "Factor of all channels; 1 changes nothing, 0 gives black.",
         Arity::kPerSample)
    .arg("dtype", DType::kUInt8, "Element type of the output, for any type of the input.")
    .image_role(ImageRole::kPixelwise)
    .cpu<ColorTwist>()
    .gpu<ColorTwistGpu>();

TORCHDALI_OPERATOR("hue")
    .doc("Rotates the hue, in the color plane of YIQ.")
    .with(add_images)
    .with(add_hue)
    .with(add_dtype)
    .image_role(ImageRole::kPixelwise)
    .cpu<ColorTwist>()
    .gpu<ColorTwistGpu>();

TORCHDALI_OPERATOR("saturation")
    .doc("Scales the saturation, in the color plane of YIQ.")
    .with(add_images)
    .with(add_saturation)
    .with(add_dtype)
    .image_role(ImageRole::kPixelwise)
    .cpu<ColorTwist>()
    .gpu<ColorTwistGpu>();

TORCHDALI_OPERATOR("color_twist")
    .doc(
        "Adjusts hue, saturation, contrast and brightness at once: rotates and scales the color "
        "plane of YIQ, then brightness * (center + contrast * (x - center)), where center is 128 "
        "for integers and 0.5 for floating types.")
    .with(add_images)
    .with(add_hue)
    .with(add_saturation)
    .arg("contrast", 1.0f, "Factor of the contrast; 1 changes nothing, 0 gives uniform gray.",
         Arity::kPerSample)
    .arg("brightness", 1.0f, "Factor of all channels; 1 changes nothing, 0 gives black.",
         Arity::kPerSample)
    .with(add_dtype)
    .image_role(ImageRole::kPixelwise)
    .cpu<ColorTwist>()
    .gpu<ColorTwistGpu>();

}  // namespace
}  // namespace torchdali
