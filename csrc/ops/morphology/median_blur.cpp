// SPDX-License-Identifier: Apache-2.0
// fn.experimental.median_blur.
#include <vector>

#include "core/argument.h"
#include "gpu/operator.h"
#include "kernels/morphology/median.h"
#include "kernels/morphology/median_gpu.h"
#include "ops/input_layout.h"
#include "ops/morphology/image_planes.h"

namespace torchdali {
namespace {

constexpr int64_t kMaxWindow = 32767;
constexpr int64_t kMaxArea = 1 << 20;  // of windows whose elements are gathered

class MedianBlurArgs {
 public:
  explicit MedianBlurArgs(const OpSpec& spec) : layout_(spec, 0), window_(spec, "window_size") {}

  struct Plan {
    kernels::MedianJob job = {};
    int64_t planes = 0;
  };
  // Makes the output.
  Plan operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, kernels::is_median_type(in.dtype), "input `data` is ",
                         dtype_name(in.dtype), ", expected uint8, uint16, int16, int32 or float32",
                         to_fix("use fn.cast"));
    thread_local std::vector<int64_t> buffer;
    const auto window = window_(ctx, buffer);
    TORCHDALI_CHECK(window.size() == 1 || window.size() == 2, "`window_size` has ", window.size(),
                    " values, expected 1 or 2 (x, y)");
    for (const int64_t size : window)
      TORCHDALI_CHECK(size >= 1 && size <= kMaxWindow && size % 2 == 1, "`window_size` has ", size,
                      ", expected odd numbers from 1 to ", kMaxWindow);
    const int64_t area = window[0] * window[window.size() - 1];
    TORCHDALI_CHECK_KIND(kUnsupported, in.dtype == DType::kUInt8 || area <= kMaxArea,
                         "a window of ", area, " elements of ", dtype_name(in.dtype),
                         " is too large, expected at most ", kMaxArea,
                         to_fix("use a smaller `window_size`, or uint8"));
    const ImagePlanes image(in.shape, layout);
    ctx.output(0, in.dtype, in.shape, layout);
    return {.job = {.type = in.dtype,
                    .height = image.height,
                    .width = image.width,
                    .channels = image.channels,
                    .window_y = window[window.size() - 1],
                    .window_x = window[0]},
            .planes = image.planes};
  }

 private:
  InputLayout layout_;
  ListArg<int64_t> window_;
};

class MedianBlur final : public Operator {
 public:
  explicit MedianBlur(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto [job, planes] = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (out.volume() == 0) return;
    auto* scratch = ctx.scratch<char>(kernels::median_scratch(job)).data();
    const int64_t bytes = in.size_bytes() / planes;
    for (int64_t p = 0; p < planes; ++p)
      kernels::median(job, in.as<const char>() + p * bytes, out.as<char>() + p * bytes, scratch);
  }

 private:
  MedianBlurArgs args_;
};

class MedianBlurGpu final : public gpu::KernelOperator<gpu::MedianKernel> {
 public:
  explicit MedianBlurGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto [job, planes] = args_(ctx);
    Task task;
    task.in = ctx.input(0).data;
    task.out = ctx.output_view(0).data;
    task.size = ctx.output_view(0).volume();
    task.in_dtype = task.out_dtype = job.type;
    task.height = job.height;
    task.width = job.width;
    task.channels = job.channels;
    task.window_y = job.window_y;
    task.window_x = job.window_x;
    tasks(ctx).add(ctx, task);
  }

 private:
  MedianBlurArgs args_;
};

TORCHDALI_OPERATOR("experimental.median_blur")
    .doc(
        "Replaces each element by the median of a rectangle around it, for each channel. Elements "
        "outside of the image are those of its edge.")
    .input("data", "Images or sequences of uint8, uint16, int16, int32 or float32.",
           {"HW", "HWC", "FHWC", "CHW", "FCHW"})
    .output("blurred", "Shape, element type and layout of the input.")
    .arg("window_size", std::vector<int64_t>{3, 3},
         "Width and height of the rectangle, or one number for both: odd, at most 32767.",
         Arity::kPerSample)
    .each_frame()
    .cpu<MedianBlur>()
    .gpu<MedianBlurGpu>();

}  // namespace
}  // namespace torchdali
