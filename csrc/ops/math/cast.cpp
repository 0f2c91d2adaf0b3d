// SPDX-License-Identifier: Apache-2.0
// fn.cast: converts the element type. A view if the type is already right.
#include "core/operator.h"
#include "gpu/chain.h"
#include "kernels/convert.h"
#include "kernels/convert_gpu.h"
#include "ops/streamed_output.h"

namespace torchdali {
namespace {

class Cast final : public Operator {
 public:
  explicit Cast(const OpSpec& spec) : dtype_(spec.get<DType>("dtype")) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    if (in.dtype == dtype_) {
      ctx.share_input(0, 0, in);
      return;
    }
    ctx.output(0, dtype_, in.shape, in.layout);
    const kernels::ConvertFn convert = kernels::converter(dtype_, in.dtype);
    const char* from = in.as<const char>();
    const int64_t size = itemsize(in.dtype);
    stream_output(ctx, [&](void* to, int64_t first, int64_t count) {
      convert(to, from + first * size, count);
    });
  }

 private:
  DType dtype_;
};

class CastGpu final : public gpu::KernelOperator<gpu::ConvertKernel>, public gpu::MapsPixels {
 public:
  explicit CastGpu(const OpSpec& spec) : dtype_(spec.get<DType>("dtype")) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    if (in.dtype == dtype_) {
      ctx.share_input(0, 0, in);
      return;
    }
    Task task;
    task.in = in.data;
    task.out = ctx.output(0, dtype_, in.shape, in.layout).data;
    task.size = in.volume();
    task.in_dtype = in.dtype;
    task.out_dtype = dtype_;
    tasks(ctx).add(ctx, task);
  }
  gpu::PixelStep step(const SampleContext& ctx, gpu::Blob& /*lists*/) const override {
    return {.dtype = dtype_, .channels = static_cast<int>(ctx.input(0).shape[2])};
  }

 private:
  DType dtype_;
};

TORCHDALI_OPERATOR("cast")
    .doc(
        "Converts the elements to another type. To an integer they are rounded to the nearest, "
        "halves away from zero, and saturate; NaN becomes 0. To bool, what rounds to 0 is false. "
        "To float16 they are rounded to nearest even, and become infinite past 65504.")
    .input("data", "Any layout, any element type.")
    .output("converted", "Shape and layout of the input.")
    .required_arg("dtype", ArgType::kDType, "Element type of the output.")
    .sequences()
    .volumes()
    .image_role(ImageRole::kPixelwise)
    .cpu<Cast>()
    .gpu<CastGpu>();

}  // namespace
}  // namespace torchdali
