// SPDX-License-Identifier: Apache-2.0
// fn.gaussian_blur: images, volumes and sequences, convolved with Gaussian windows.
#include <cmath>

#include "core/argument.h"
#include "kernels/filter/convolve.h"
#include "ops/filter/convolution_axes.h"
#include "ops/filter/convolution_gpu.h"

namespace torchdali {
namespace {

// Larger windows are probably mistakes; the time is proportional to the size.
constexpr int64_t kMaxBlurWindow = 65535;

kernels::HalfWindow gaussian_window(float sigma, int64_t window) {
  TORCHDALI_CHECK(sigma >= 0 && std::isfinite(sigma), "`sigma` has ", sigma,
                  ", expected a finite number that is not negative");
  TORCHDALI_CHECK(sigma > 0 || window != 0, "`sigma` and `window_size` are both 0",
                  to_fix("give one of them"));
  TORCHDALI_CHECK(window == 0 || (window > 0 && window % 2 == 1), "`window_size` has ", window,
                  ", expected an odd positive number, or 0 where `sigma` decides");
  const auto given = window / 2;
  const double radius = window == 0 ? std::ceil(3.0f * sigma) : static_cast<double>(given);
  TORCHDALI_CHECK(2 * radius + 1 <= kMaxBlurWindow, "the window would be ", 2 * radius + 1,
                  " elements wide, at most ", kMaxBlurWindow, " are possible");
  const double deviation = sigma > 0 ? double{sigma} : (radius - 1) * 0.3 + 0.8;
  std::vector<double> weights(static_cast<size_t>(radius) + 1);
  double sum = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    const double at = static_cast<double>(k) / deviation;
    weights[k] = std::exp(-0.5 * at * at);
    sum += k == 0 ? weights[k] : 2 * weights[k];
  }
  kernels::HalfWindow half(weights.size());
  for (size_t k = 0; k < half.size(); ++k) half[k] = static_cast<float>(weights[k] / sum);
  return half;
}

class GaussianBlurArgs {
 public:
  explicit GaussianBlurArgs(const OpSpec& spec)
      : layout_(spec), sigma_(spec, "sigma"), window_size_(spec, "window_size") {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
  }

  struct Blur {
    ConvolutionAxes axes;
    DType dtype;
    kernels::SeparableFilter filter;
  };
  Blur operator()(const SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    Blur blur{.axes = {in.shape, layout_(in.shape, in.layout)},
              .dtype = convolution_dtype(in.dtype, dtype_),
              .filter = {}};
    const int ndim = blur.axes.ndim;
    std::array<float, 3> sigma{};
    std::array<int64_t, 3> window{};
    read_per_axis(ctx, sigma_, "sigma", ndim, sigma);
    read_per_axis(ctx, window_size_, "window_size", ndim, window);
    for (size_t i = 0; i < static_cast<size_t>(ndim); ++i)
      blur.filter.windows[static_cast<size_t>(3 - ndim) + i] = gaussian_window(sigma[i], window[i]);
    return blur;
  }

 private:
  KnownLayout layout_;
  ListArg<float> sigma_;
  ListArg<int64_t> window_size_;
  DType dtype_ = DType::kNone;
};

class GaussianBlur final : public Operator {
 public:
  explicit GaussianBlur(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto [axes, dtype, filter] = args_(ctx);
    const SampleView& out = ctx.output(0, dtype, in.shape, in.layout);
    run_convolution(ctx, axes, {&filter, 1}, in, out);
  }

 private:
  GaussianBlurArgs args_;
};

class GaussianBlurGpu final : public ConvolutionGpuOperator {
 public:
  explicit GaussianBlurGpu(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto [axes, dtype, filter] = args_(ctx);
    const SampleView& out = ctx.output(0, dtype, in.shape, in.layout);
    steps(ctx).add(ctx, axes, {&filter, 1}, in, out);
  }

 private:
  GaussianBlurArgs args_;
};

TORCHDALI_OPERATOR("gaussian_blur")
    .doc(
        "Blurs with a Gaussian, by a convolution along each data axis. Borders are reflected "
        "(dcb|abcd|cba). Computed in float32; integers are rounded and saturate.")
    .input("data",
           "Images, volumes or sequences of numbers: one to three data axes, with frames (F) and "
           "channels (C) before them, or channels after them. Without a layout, all axes are data.")
    .output("blurred", "Shape and layout of the input, element type `dtype`.")
    .arg("sigma", std::vector<float>{0.0f},
         "Standard deviation in pixels, one for all or one for each data axis, outermost first. 0: "
         "((window_size - 1) / 2 - 1) * 0.3 + 0.8.",
         Arity::kPerSample)
    .arg("window_size", std::vector<int64_t>{0},
         "Width of the window, one for all or one for each data axis: odd, at most 65535. 0: 2 * "
         "ceil(3 * sigma) + 1.",
         Arity::kPerSample)
    .optional_arg("dtype", ArgType::kDType, "FLOAT, or the input's type, which is the default.")
    .sequences()
    .volumes()
    .cpu<GaussianBlur>()
    .gpu<GaussianBlurGpu>();

}  // namespace
}  // namespace torchdali
