// SPDX-License-Identifier: Apache-2.0
// fn.bb_flip: mirrors bounding boxes.
#include <algorithm>

#include "core/argument.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/boxes/flip_boxes.h"
#include "kernels/boxes/points_gpu.h"

namespace torchdali {
namespace {

class BbFlipArgs {
 public:
  struct Plan {
    int64_t boxes = 0;
    bool ltrb = false;
    bool flips[2] = {};  // x and y
  };
  explicit BbFlipArgs(const OpSpec& spec)
      : horizontal_(spec, "horizontal"),
        vertical_(spec, "vertical"),
        ltrb_(spec.get<bool>("ltrb")) {}

  // Makes the output.
  Plan operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `boxes` is ",
                         dtype_name(in.dtype), ", expected float32");
    const int64_t count = in.volume();
    TORCHDALI_CHECK(
        count % 4 == 0 && (in.shape.ndim() < 2 || in.shape[in.shape.ndim() - 1] == 4 || count == 0),
        "input `boxes` has shape ", in.shape, ", expected boxes of 4 coordinates, (boxes, 4)");
    const Plan plan{
        .boxes = count / 4, .ltrb = ltrb_, .flips = {horizontal_(ctx) != 0, vertical_(ctx) != 0}};
    ctx.output(0, DType::kFloat, in.shape);
    return plan;
  }

 private:
  Arg<int> horizontal_, vertical_;
  bool ltrb_;
};

class BbFlip final : public Operator {
 public:
  explicit BbFlip(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto plan = args_(ctx);
    const float* from = ctx.input(0).as<const float>();
    float* to = ctx.output_view(0).as<float>();
    for (int64_t i = 0; i < plan.boxes; ++i, from += 4, to += 4) {
      for (int axis = 0; axis < 2; ++axis) {
        const kernels::BoxSide side =
            kernels::mirrored_side({from[axis], from[axis + 2]}, plan.ltrb, plan.flips[axis]);
        to[axis] = side.begin;
        to[axis + 2] = side.end;
      }
    }
  }

 private:
  BbFlipArgs args_;
};

class BbFlipGpu final : public gpu::KernelOperator<gpu::FlipBoxesKernel> {
 public:
  explicit BbFlipGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto plan = args_(ctx);
    Task task;
    task.in = ctx.input(0).data;
    task.out = ctx.output_view(0).data;
    task.size = plan.boxes;
    task.ltrb = plan.ltrb;
    std::copy_n(plan.flips, 2, task.flips);
    tasks(ctx).add(ctx, task);
  }

 private:
  BbFlipArgs args_;
};

TORCHDALI_OPERATOR("bb_flip")
    .doc("Mirrors bounding boxes in an image whose width and height are 1.")
    .input("boxes",
           "Boxes, float32, shape (boxes, 4): left, top, width, height, or with `ltrb` left, top, "
           "right, bottom; fractions of the image's size.")
    .output("flipped", "Shape of the input, float32; without layout.")
    .arg("ltrb", false, "Boxes are left, top, right, bottom.")
    .arg("horizontal", 1, "If not 0, mirrors left to right.", Arity::kPerSample)
    .arg("vertical", 0, "If not 0, mirrors top to bottom.", Arity::kPerSample)
    .cpu<BbFlip>()
    .gpu<BbFlipGpu>();

}  // namespace
}  // namespace torchdali
