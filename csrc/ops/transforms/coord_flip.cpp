// SPDX-License-Identifier: Apache-2.0
// fn.coord_flip: mirrors the coordinates of points.
#include <algorithm>
#include <array>

#include "core/argument.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/boxes/linear_points.h"
#include "kernels/boxes/points_gpu.h"

namespace torchdali {
namespace {

class CoordFlipArgs {
 public:
  // x -> add + factor * x, for each coordinate.
  struct Plan {
    int ndim = 0;
    float factor[3] = {}, add[3] = {};
  };
  explicit CoordFlipArgs(const OpSpec& spec)
      : layout_(spec.get<Layout>("layout")),
        axes_{{{'x', {spec, "flip_x"}, {spec, "center_x"}},
               {'y', {spec, "flip_y"}, {spec, "center_y"}},
               {'z', {spec, "flip_z"}, {spec, "center_z"}}}} {
    for (int i = 0; i < layout_.size(); ++i) {
      const bool known = layout_[i] == 'x' || layout_[i] == 'y' || layout_[i] == 'z';
      TORCHDALI_CHECK_KIND(kLayout, known && layout_.find(layout_[i]) == i, "`layout` is ", layout_,
                           ", expected an order of \"x\", \"xy\" or \"xyz\"");
    }
  }

  // Makes the output.
  Plan operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `points` is ",
                         dtype_name(in.dtype), ", expected float32");
    TORCHDALI_CHECK(in.shape.ndim() == 2 && in.shape[1] <= 3, "input `points` has shape ", in.shape,
                    ", expected (points, 1 to 3 coordinates)");
    const int ndim = static_cast<int>(in.shape[1]);
    TORCHDALI_CHECK(layout_.empty() || layout_.size() >= ndim, "`layout` is ", layout_,
                    ", and the points have ", ndim, " coordinates");
    Plan plan{.ndim = ndim};
    if (ctx.output(0, DType::kFloat, in.shape).volume() == 0) return plan;
    for (int i = 0; i < ndim; ++i) {
      const Axis& axis = axes_[layout_.empty() ? i : layout_[i] - 'x'];
      const bool flips = axis.flip(ctx) != 0;
      plan.factor[i] = flips ? -1.0f : 1.0f;
      plan.add[i] = flips ? 2 * axis.center(ctx) : 0.0f;
    }
    return plan;
  }

 private:
  struct Axis {
    char name;
    Arg<int> flip;
    Arg<float> center;
  };
  Layout layout_;
  std::array<Axis, 3> axes_;
};

class CoordFlip final : public Operator {
 public:
  explicit CoordFlip(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const CoordFlipArgs::Plan plan = args_(ctx);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() > 0)
      kernels::scale_points(out.as<float>(), ctx.input(0).as<const float>(), out.volume(),
                            plan.ndim, plan.factor, plan.add);
  }

 private:
  CoordFlipArgs args_;
};

class CoordFlipGpu final : public gpu::KernelOperator<gpu::FlipPointsKernel> {
 public:
  explicit CoordFlipGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto plan = args_(ctx);
    const SampleView& out = ctx.output_view(0);
    Task task;
    task.in = ctx.input(0).data;
    task.out = out.data;
    task.size = out.volume();
    task.components = plan.ndim;
    std::copy_n(plan.factor, 3, task.factor);
    std::copy_n(plan.add, 3, task.add);
    tasks(ctx).add(ctx, task);
  }

 private:
  CoordFlipArgs args_;
};

TORCHDALI_OPERATOR("coord_flip")
    .doc("Mirrors the coordinates of points at a center: 2 * center - coordinate.")
    .input("points", "Points, float32, shape (points, 1 to 3 coordinates).")
    .output("flipped", "Shape of the input, float32; without layout.")
    .arg("flip_x", 1, "If not 0, mirrors x.", Arity::kPerSample)
    .arg("flip_y", 0, "If not 0, mirrors y.", Arity::kPerSample)
    .arg("flip_z", 0, "If not 0, mirrors z.", Arity::kPerSample)
    .arg("center_x", 0.5f, "Center of the mirrored x.", Arity::kPerSample)
    .arg("center_y", 0.5f, "Center of the mirrored y.", Arity::kPerSample)
    .arg("center_z", 0.5f, "Center of the mirrored z.", Arity::kPerSample)
    .arg("layout", Layout(""),
         "Order of the coordinates, e.g. \"yx\"; \"x\", \"xy\" or \"xyz\" by default.")
    .cpu<CoordFlip>()
    .gpu<CoordFlipGpu>();

}  // namespace
}  // namespace torchdali
