// SPDX-License-Identifier: Apache-2.0
// fn.cast_like: converts to the element type of another input. A view if it is the same.
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/convert.h"
#include "kernels/convert_gpu.h"

namespace torchdali {
namespace {

class CastLike final : public Operator {
 public:
  explicit CastLike(const OpSpec&) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const DType dtype = ctx.input(1).dtype;
    if (in.dtype == dtype) {
      ctx.share_input(0, 0, in);
      return;
    }
    const SampleView& out = ctx.output(0, dtype, in.shape, in.layout);
    kernels::converter(dtype, in.dtype)(out.data, in.data, in.volume());
  }
};

class CastLikeGpu final : public gpu::KernelOperator<gpu::ConvertKernel> {
 public:
  explicit CastLikeGpu(const OpSpec&) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const DType dtype = ctx.input(1).dtype;
    if (in.dtype == dtype) {
      ctx.share_input(0, 0, in);
      return;
    }
    Task task;
    task.in = in.data;
    task.out = ctx.output(0, dtype, in.shape, in.layout).data;
    task.size = in.volume();
    task.in_dtype = in.dtype;
    task.out_dtype = dtype;
    tasks(ctx).add(ctx, task);
  }
};

TORCHDALI_OPERATOR("cast_like")
    .doc("Converts the elements to the type of another input, as fn.cast does.")
    .input("data", "Any layout, any element type.")
    .input("like", "Input with the element type of the output; its values are not used.")
    .output("converted", "Shape and layout of `data`.")
    .sequences()
    .volumes()
    .cpu<CastLike>()
    .gpu<CastLikeGpu>();

}  // namespace
}  // namespace torchdali
