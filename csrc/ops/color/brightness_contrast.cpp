// SPDX-License-Identifier: Apache-2.0
// fn.brightness, fn.contrast, fn.brightness_contrast: one linear function of every element.
#include <limits>
#include <optional>

#include "core/argument.h"
#include "core/operator.h"
#include "gpu/chain.h"
#include "kernels/math/linear.h"
#include "kernels/math/linear_gpu.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

// The greatest value of a type; 1 for floating ones and bool.
float positive_range(DType dtype) {
  return dispatch_dtype(dtype, []<class T>() {
    if constexpr (is_floating_type<T>) return 1.0f;
    else return static_cast<float>(std::numeric_limits<T>::max());
  });
}
// The middle of [0, positive_range]: a power of two for integers, as in DALI.
float half_range(DType dtype) {
  return dispatch_dtype(dtype, []<class T>() {
    if constexpr (is_floating_type<T> || std::is_same_v<T, bool>) return 0.5f;
    else return static_cast<float>(uint64_t{1} << (std::numeric_limits<T>::digits - 1));
  });
}

// The arguments, as a factor and an offset.
class LinearArgs {
 public:
  struct Linear {
    DType dtype;
    Layout layout;
    float factor, offset;
  };
  explicit LinearArgs(const OpSpec& spec) : layout_(spec, 0) {
    const auto make = [&spec](std::optional<Arg<float>>& arg, const char* name) {
      if (spec.schema->find_arg(name) != nullptr) arg.emplace(spec, name);
    };
    make(brightness_, "brightness");
    make(shift_, "brightness_shift");
    make(contrast_, "contrast");
    make(center_, "contrast_center");
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
  }

  Linear operator()(const SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const DType dtype = dtype_ == DType::kNone ? in.dtype : dtype_;
    const float brightness = value(ctx, brightness_, 1.0f), shift = value(ctx, shift_, 0.0f);
    const float contrast = value(ctx, contrast_, 1.0f);
    const float center =
        center_.has_value() && center_->given() ? (*center_)(ctx) : half_range(in.dtype);
    // With this order of operations, results are bit-identical to DALI's.
    const float factor = brightness * contrast;
    const float offset = shift * positive_range(dtype) + brightness * (center - contrast * center);
    return {dtype, layout_(in), factor, offset};
  }

 private:
  static float value(const SampleContext& ctx, const std::optional<Arg<float>>& arg, float absent) {
    return arg.has_value() ? (*arg)(ctx) : absent;
  }

  InputLayout layout_;
  std::optional<Arg<float>> brightness_, shift_, contrast_, center_;
  DType dtype_ = DType::kNone;
};

class BrightnessContrast final : public Operator {
 public:
  explicit BrightnessContrast(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto [dtype, layout, factor, offset] = args_(ctx);
    const SampleView& out = ctx.output(0, dtype, in.shape, layout);
    kernels::linear(out.data, dtype, in.data, in.dtype, in.volume(), factor, offset);
  }

 private:
  LinearArgs args_;
};

class BrightnessContrastGpu final : public gpu::KernelOperator<gpu::LinearKernel>,
                                    public gpu::MapsPixels {
 public:
  explicit BrightnessContrastGpu(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto [dtype, layout, factor, offset] = args_(ctx);
    Task task;
    task.in = in.data;
    task.out = ctx.output(0, dtype, in.shape, layout).data;
    task.size = in.volume();
    task.in_dtype = in.dtype;
    task.out_dtype = dtype;
    task.factor = factor;
    task.offset = offset;
    tasks(ctx).add(ctx, task);
  }
  gpu::PixelStep step(const SampleContext& ctx, gpu::Blob& /*lists*/) const override {
    const auto [dtype, layout, factor, offset] = args_(ctx);
    return {.kind = gpu::PixelStep::Kind::kLinear,
            .dtype = dtype,
            .channels = static_cast<int>(ctx.input(0).shape[2]),
            .m = {{factor}},
            .offset = {offset}};
  }

 private:
  LinearArgs args_;
};

SchemaBuilder& add_input_and_output(SchemaBuilder& schema) {
  return schema
      .input("data", "Images, volumes or sequences; any element type.", {"FHWC", "DHWC", "HWC"})
      .output("adjusted",
              "Shape and layout of the input, of type `dtype`. Computed in float32; integers are "
              "rounded, halves away from zero, and saturate.")
      .optional_arg("dtype", ArgType::kDType, "Element type of the output; the input's by default.")
      .sequences()
      .volumes();
}
SchemaBuilder& add_brightness(SchemaBuilder& schema) {
  return schema
      .arg("brightness", 1.0f, "Factor of the brightness; 1 changes nothing, 0 gives black.",
           Arity::kPerSample)
      .arg("brightness_shift", 0.0f,
           "Added to the result, in units of the greatest value of the output's type (1 for "
           "floating types).",
           Arity::kPerSample);
}
SchemaBuilder& add_contrast(SchemaBuilder& schema) {
  return schema
      .arg("contrast", 1.0f, "Factor of the contrast; 1 changes nothing, 0 gives uniform gray.",
           Arity::kPerSample)
      .arg("contrast_center", 0.5f,
           "The value that contrast does not change. By default half the range of the input's "
           "type: 128 for uint8, 0.5 for floating types.",
           Arity::kPerSample);
}

TORCHDALI_OPERATOR("brightness_contrast")
    .doc(
        "Adjusts brightness and contrast: brightness_shift * range + brightness * "
        "(contrast_center + contrast * (x - contrast_center)), where range is the greatest value "
        "of the output's type, or 1 for floating types.")
    .with(add_input_and_output)
    .with(add_brightness)
    .with(add_contrast)
    .image_role(ImageRole::kPixelwise)
    .cpu<BrightnessContrast>()
    .gpu<BrightnessContrastGpu>();

TORCHDALI_OPERATOR("brightness")
    .doc(
        "Adjusts brightness: brightness_shift * range + brightness * x, where range is the "
        "greatest value of the output's type, or 1 for floating types.")
    .with(add_input_and_output)
    .with(add_brightness)
    .image_role(ImageRole::kPixelwise)
    .cpu<BrightnessContrast>()
    .gpu<BrightnessContrastGpu>();

TORCHDALI_OPERATOR("contrast")
    .doc("Adjusts contrast: contrast_center + contrast * (x - contrast_center).")
    .with(add_input_and_output)
    .with(add_contrast)
    .image_role(ImageRole::kPixelwise)
    .cpu<BrightnessContrast>()
    .gpu<BrightnessContrastGpu>();

}  // namespace
}  // namespace torchdali
