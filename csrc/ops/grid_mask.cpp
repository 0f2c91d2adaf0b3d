// SPDX-License-Identifier: Apache-2.0
// fn.grid_mask: blackens the squares of a grid.
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/operator.h"
#include "kernels/grid_mask.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

class GridMask final : public Operator {
 public:
  explicit GridMask(const OpSpec& spec)
      : layout_(spec, 0),
        tile_(spec, "tile"),
        ratio_(spec, "ratio"),
        angle_(spec, "angle"),
        shift_x_(spec, "shift_x"),
        shift_y_(spec, "shift_y") {
    if (!tile_.is_tensor()) check_tile(spec.get<int>("tile"));
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const int rows = layout.find('H');
    int64_t planes = 1, pixel = itemsize(in.dtype);
    for (int i = 0; i < rows; ++i) planes *= in.shape[i];
    for (int i = rows + 2; i < in.shape.ndim(); ++i) pixel *= in.shape[i];
    const int64_t height = in.shape[rows], width = in.shape[rows + 1];
    TORCHDALI_CHECK(width <= std::numeric_limits<int32_t>::max(), "input `data` is ", width,
                    " pixels wide, which is too much");
    const int tile_pixels = tile_(ctx);
    check_tile(tile_pixels);
    const auto tile = static_cast<float>(tile_pixels);
    const float angle = angle_(ctx), ratio = ratio_(ctx);
    const float cosine = std::cos(angle) / tile, sine = std::sin(angle) / tile;
    const float left = -shift_x_(ctx) / tile, top = -shift_y_(ctx) / tile;

    const SampleView& out = ctx.output(0, in.dtype, in.shape, in.layout);
    if (in.volume() == 0) return;
    uint8_t* mask = ctx.scratch<uint8_t>(static_cast<size_t>(width)).data();
    const int64_t row_bytes = width * pixel, plane_bytes = height * row_bytes;
    for (int64_t h = 0; h < height; ++h) {
      const auto y = static_cast<float>(h);
      // In this order of operations masks equal DALI's.
      kernels::grid_row(
          mask, width,
          {.x = left - y * sine, .dx = cosine, .y = top + y * cosine, .dy = sine, .ratio = ratio});
      for (int64_t p = 0; p < planes; ++p) {
        const int64_t at = p * plane_bytes + h * row_bytes;
        kernels::apply_mask(out.as<uint8_t>() + at, in.as<const uint8_t>() + at, mask, width,
                            pixel);
      }
    }
  }

 private:
  static void check_tile(int tile) {
    TORCHDALI_CHECK(tile > 0, "`tile` is ", tile, ", expected 1 or more");
  }

  InputLayout layout_;
  Arg<int> tile_;
  Arg<float> ratio_, angle_, shift_x_, shift_y_;
};

TORCHDALI_OPERATOR("grid_mask")
    .doc(
        "Blackens the squares of a grid (P. Chen et al., \"GridMask Data Augmentation\", 2020). "
        "The grid is turned by `angle` around the upper left corner and then shifted.")
    .input("data", "Images or sequences; any element type.",
           {"HWC", "CHW", "HW", "FHWC", "FCHW", "FHW"})
    .output("masked", "Shape, layout and element type of the input.")
    .arg("tile", 100, "Distance from square to square in pixels, 1 or more.", Arity::kPerSample)
    .arg("ratio", 0.5f, "Side of a square in units of `tile`, 0 to 1.", Arity::kPerSample)
    .arg("angle", 0.0f, "Angle of the grid, in radians.", Arity::kPerSample)
    .arg("shift_x", 0.0f, "Shift of the turned grid along its rows, in pixels.", Arity::kPerSample)
    .arg("shift_y", 0.0f, "Shift of the turned grid along its columns, in pixels.",
         Arity::kPerSample)
    .cpu<GridMask>();

}  // namespace
}  // namespace torchdali
