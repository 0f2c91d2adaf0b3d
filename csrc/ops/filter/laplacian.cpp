// SPDX-License-Identifier: Apache-2.0
// fn.laplacian: the sum of second derivatives along the data axes, each smoothed along the others.
#include <cmath>

#include "core/argument.h"
#include "kernels/filter/convolve.h"
#include "ops/filter/convolution_axes.h"
#include "ops/filter/convolution_gpu.h"

namespace torchdali {
namespace {

constexpr int64_t kMaxLaplacianWindow = 31;

// Half of row `size` - 1 of Pascal's triangle.
std::vector<double> binomial(int64_t size) {
  std::vector<double> row = {1};
  for (int64_t n = 1; n < size; ++n) {
    row.push_back(1);
    for (size_t i = row.size() - 2; i > 0; --i) row[i] += row[i - 1];
  }
  row.erase(row.begin(), row.begin() + size / 2);
  return row;
}
kernels::HalfWindow smoothing(int64_t size) {
  const auto weights = binomial(size);
  return {weights.begin(), weights.end()};
}
// 1 -2 1, smoothed by the rest of the size.
kernels::HalfWindow derivative(int64_t size) {
  const auto smooth = binomial(size - 2);
  const auto at = [&](int64_t i) {
    const size_t k = static_cast<size_t>(std::abs(i));
    return k < smooth.size() ? smooth[k] : 0.0;
  };
  kernels::HalfWindow half;
  for (int64_t i = 0; i <= size / 2; ++i)
    half.push_back(static_cast<float>(at(i - 1) - 2 * at(i) + at(i + 1)));
  return half;
}

class LaplacianArgs {
 public:
  explicit LaplacianArgs(const OpSpec& spec)
      : layout_(spec),
        window_size_(spec, "window_size"),
        smoothing_size_(spec, "smoothing_size"),
        scale_(spec, "scale"),
        normalized_(spec.get<bool>("normalized_kernel")) {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
    TORCHDALI_CHECK(!normalized_ || !scale_.given(),
                    "`scale` and normalized_kernel=True exclude each other");
  }

  struct Derivatives {
    ConvolutionAxes axes;
    DType dtype;
    std::array<kernels::SeparableFilter, 3> all = {};  // one per data axis
    std::span<const kernels::SeparableFilter> filters() const {
      return std::span(all).first(static_cast<size_t>(axes.ndim));
    }
  };
  Derivatives operator()(const SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    Derivatives derivatives{.axes = {in.shape, layout_(in.shape, in.layout)},
                            .dtype = convolution_dtype(in.dtype, dtype_)};
    const ConvolutionAxes& axes = derivatives.axes;
    const size_t ndim = static_cast<size_t>(axes.ndim);
    std::array<int64_t, 3> window{}, smooth{};
    std::array<float, 3> scale{};
    read_per_axis(ctx, window_size_, "window_size", axes.ndim, window);
    if (smoothing_size_.defined())
      read_per_axis(ctx, smoothing_size_, "smoothing_size", axes.ndim, smooth);
    read_per_axis(ctx, scale_, "scale", axes.ndim, scale);
    for (size_t i = 0; i < ndim; ++i) {
      check_size("window_size", window[i], 3);
      if (smoothing_size_.defined()) check_size("smoothing_size", smooth[i], 1);
    }
    auto& filters = derivatives.all;
    for (size_t i = 0; i < ndim; ++i) {
      auto& windows = filters[i].windows;
      int64_t total = window[i];
      for (size_t j = 0; j < ndim; ++j) {
        if (j == i) continue;
        const int64_t size = smoothing_size_.defined() ? smooth[j] : window[i];
        windows[3 - ndim + j] = smoothing(size);
        total += size;
      }
      windows[3 - ndim + i] = derivative(window[i]);
      filters[i].scale =
          normalized_ ? std::exp2(static_cast<float>(axes.ndim + 2 - total)) : scale[i];
    }
    return derivatives;
  }

 private:
  static void check_size(const char* name, int64_t size, int64_t least) {
    TORCHDALI_CHECK(size >= least && size <= kMaxLaplacianWindow && size % 2 == 1, "`", name,
                    "` has ", size, ", expected an odd number from ", least, " to ",
                    kMaxLaplacianWindow);
  }
  KnownLayout layout_;
  ListArg<int64_t> window_size_, smoothing_size_;
  ListArg<float> scale_;
  bool normalized_;
  DType dtype_ = DType::kNone;
};

class Laplacian final : public Operator {
 public:
  explicit Laplacian(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto d = args_(ctx);
    const SampleView& out = ctx.output(0, d.dtype, in.shape, in.layout);
    run_convolution(ctx, d.axes, d.filters(), in, out);
  }

 private:
  LaplacianArgs args_;
};

class LaplacianGpu final : public ConvolutionGpuOperator {
 public:
  explicit LaplacianGpu(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto d = args_(ctx);
    const SampleView& out = ctx.output(0, d.dtype, in.shape, in.layout);
    steps(ctx).add(ctx, d.axes, d.filters(), in, out);
  }

 private:
  LaplacianArgs args_;
};

TORCHDALI_OPERATOR("laplacian")
    .doc(
        "The Laplacian: the sum over the data axes of second derivatives, each computed by a "
        "window along its axis and smoothed by windows along the others. Borders are reflected "
        "(dcb|abcd|cba). Computed in float32; integers are rounded and saturate.")
    .input("data",
           "Images, volumes or sequences of numbers: one to three data axes, with frames (F) and "
           "channels (C) before them, or channels after them. Without a layout, all axes are data.")
    .output("laplacian", "Shape and layout of the input, element type `dtype`.")
    .arg("window_size", std::vector<int64_t>{3},
         "Width of the derivative's window, one for all or one for each data axis, outermost "
         "first: odd, 3 to 31.",
         Arity::kPerSample)
    .optional_arg(
        "smoothing_size", ArgType::kIntVec,
        "Width of the smoothing window along an axis, one for all or one for each data axis: "
        "odd, 1 (none) to 31. Default: that of the derivative's window.",
        Arity::kPerSample)
    .arg("scale", std::vector<float>{1.0f},
         "Factor of each derivative, one for all or one for each data axis.", Arity::kPerSample)
    .arg("normalized_kernel", false,
         "Scale each derivative by 2^(n + 2 - s), with n data axes and s the sum of the widths of "
         "its windows. Excludes `scale`.")
    .optional_arg("dtype", ArgType::kDType, "FLOAT, or the input's type, which is the default.")
    .sequences()
    .volumes()
    .cpu<Laplacian>()
    .gpu<LaplacianGpu>();

}  // namespace
}  // namespace torchdali
