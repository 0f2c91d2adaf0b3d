// SPDX-License-Identifier: Apache-2.0
// fn.sphere: images as on a sphere, larger in the middle. Source: DALI 1.35, asked with images that
// hold their own positions.
#include <algorithm>
#include <cmath>

#include "ops/displacement.h"

namespace torchdali {
namespace {

class Sphere final : public Operator {
 public:
  explicit Sphere(const OpSpec& spec) : displacement_(spec) {}

  void run(SampleContext& ctx) const override {
    displacement_.run(ctx, [](int64_t height, int64_t width) {
      const float middle_x = static_cast<float>(width) * 0.5f;
      const float middle_y = static_cast<float>(height) * 0.5f;
      const float unit = static_cast<float>(std::max(width / 2, height / 2));
      return [=](kernels::WarpPoints& points, int64_t, int64_t h, int64_t w, int64_t n) {
        const float y = static_cast<float>(h) + 0.5f - middle_y;
        for (int64_t i = 0; i < n; ++i) {
          const float x = static_cast<float>(w + i) + 0.5f - middle_x;
          const float scale = std::sqrt(x * x + y * y) / unit;
          points.x[i] = x * scale + middle_x;
          points.y[i] = y * scale + middle_y;
        }
      };
    });
  }

 private:
  Displacement displacement_;
};

TORCHDALI_OPERATOR("sphere")
    .doc(
        "Shows images as on a sphere: a pixel at distance r from the middle comes from distance r "
        "* "
        "r / R on the same line, where R is half of the longer side, in whole pixels. An image of "
        "one pixel becomes `fill_value`.")
    .with(add_displacement_args)
    .cpu<Sphere>();

}  // namespace
}  // namespace torchdali
