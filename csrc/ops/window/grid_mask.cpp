// SPDX-License-Identifier: Apache-2.0
// fn.grid_mask: sets the squares of a grid to black.
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/argument.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/window/grid_mask.h"
#include "kernels/window/grid_mask_gpu.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

// The image as [planes, height, width, pixel], and the grid.
class GridMaskArgs {
 public:
  struct Plan {
    int64_t planes = 1, height = 1, width = 1, pixel = 1;
    float left, top, cosine, sine, ratio;
  };
  explicit GridMaskArgs(const OpSpec& spec)
      : layout_(spec, 0),
        tile_(spec, "tile"),
        ratio_(spec, "ratio"),
        angle_(spec, "angle"),
        shift_x_(spec, "shift_x"),
        shift_y_(spec, "shift_y") {
    if (!tile_.is_tensor()) check_tile(spec.get<int>("tile"));
  }

  Plan operator()(const SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const int rows = layout.find('H');
    Plan plan;
    for (int i = 0; i < rows; ++i) plan.planes *= in.shape[i];
    for (int i = rows + 2; i < in.shape.ndim(); ++i) plan.pixel *= in.shape[i];
    plan.height = in.shape[rows];
    plan.width = in.shape[rows + 1];
    TORCHDALI_CHECK(plan.width <= std::numeric_limits<int32_t>::max(), "input `data` is ",
                    plan.width, " pixels wide, which is too much");
    const int tile_pixels = tile_(ctx);
    check_tile(tile_pixels);
    const auto tile = static_cast<float>(tile_pixels);
    const float angle = angle_(ctx);
    plan.ratio = ratio_(ctx);
    plan.cosine = std::cos(angle) / tile;
    plan.sine = std::sin(angle) / tile;
    plan.left = -shift_x_(ctx) / tile;
    plan.top = -shift_y_(ctx) / tile;
    return plan;
  }

 private:
  static void check_tile(int tile) {
    TORCHDALI_CHECK(tile > 0, "`tile` is ", tile, ", expected 1 or more");
  }

  InputLayout layout_;
  Arg<int> tile_;
  Arg<float> ratio_, angle_, shift_x_, shift_y_;
};

class GridMask final : public Operator {
 public:
  explicit GridMask(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto plan = args_(ctx);
    const SampleView& out = ctx.output(0, in.dtype, in.shape, in.layout);
    if (in.volume() == 0) return;
    uint8_t* mask = ctx.scratch<uint8_t>(static_cast<size_t>(plan.width)).data();
    const int64_t pixel_bytes = plan.pixel * itemsize(in.dtype);
    const int64_t row_bytes = plan.width * pixel_bytes, plane_bytes = plan.height * row_bytes;
    for (int64_t h = 0; h < plan.height; ++h) {
      kernels::grid_row(
          mask, plan.width,
          kernels::grid_row_at(h, plan.left, plan.top, plan.cosine, plan.sine, plan.ratio));
      for (int64_t p = 0; p < plan.planes; ++p) {
        const int64_t at = p * plane_bytes + h * row_bytes;
        kernels::apply_mask(out.as<uint8_t>() + at, in.as<const uint8_t>() + at, mask, plan.width,
                            pixel_bytes);
      }
    }
  }

 private:
  GridMaskArgs args_;
};

class GridMaskGpu final : public gpu::KernelOperator<gpu::GridMaskKernel> {
 public:
  explicit GridMaskGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto plan = args_(ctx);
    Task task;
    task.in = in.data;
    task.out = ctx.output(0, in.dtype, in.shape, in.layout).data;
    task.size = in.volume();
    task.itemsize = static_cast<int>(itemsize(in.dtype));
    task.height = plan.height;
    task.width = plan.width;
    task.pixel = plan.pixel;
    task.left = plan.left;
    task.top = plan.top;
    task.cosine = plan.cosine;
    task.sine = plan.sine;
    task.ratio = plan.ratio;
    tasks(ctx).add(ctx, task);
  }

 private:
  GridMaskArgs args_;
};

TORCHDALI_OPERATOR("grid_mask")
    .doc(
        "Sets the squares of a grid to black (P. Chen et al., \"GridMask Data Augmentation\", "
        "2020). The grid is rotated by `angle` around the upper left corner and then shifted.")
    .input("data", "Images or sequences; any element type.",
           {"HWC", "CHW", "HW", "FHWC", "FCHW", "FHW"})
    .output("masked", "Shape, layout and element type of the input.")
    .arg("tile", 100, "Distance from square to square in pixels, 1 or more.", Arity::kPerSample)
    .arg("ratio", 0.5f, "Side of a square in units of `tile`, 0 to 1.", Arity::kPerSample)
    .arg("angle", 0.0f, "Angle of the grid, in radians.", Arity::kPerSample)
    .arg("shift_x", 0.0f, "Shift of the rotated grid along its rows, in pixels.", Arity::kPerSample)
    .arg("shift_y", 0.0f, "Shift of the rotated grid along its columns, in pixels.",
         Arity::kPerSample)
    .cpu<GridMask>()
    .gpu<GridMaskGpu>();

}  // namespace
}  // namespace torchdali
