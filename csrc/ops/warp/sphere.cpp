// SPDX-License-Identifier: Apache-2.0
// fn.sphere: images as on a sphere, larger in the center. Source: DALI 1.35, run with images whose
// pixels encode their positions.
#include "kernels/warp/warp_position.h"
#include "ops/warp/displacement.h"

namespace torchdali {
namespace {

class Sphere final : public Operator {
 public:
  explicit Sphere(const OpSpec& spec) : displacement_(spec) {}

  void run(SampleContext& ctx) const override {
    displacement_.run(ctx, [](int64_t height, int64_t width) {
      return [map = kernels::SphereMap(height, width)](kernels::WarpPoints& points, int64_t,
                                                       int64_t h, int64_t w, int64_t n) {
        kernels::sphere_points(map, h, w, n, points.x, points.y);
      };
    });
  }

 private:
  Displacement displacement_;
};

class SphereGpu final : public WarpGpuOperator {
 public:
  explicit SphereGpu(const OpSpec& spec) : displacement_(spec) {}
  void run(SampleContext& ctx) const override {
    displacement_.run_gpu(ctx, [](Task& task) { task.map = gpu::WarpMap::kSphere; });
  }

 private:
  Displacement displacement_;
};

TORCHDALI_OPERATOR("sphere")
    .doc(
        "Shows images as on a sphere: a pixel at distance r from the center is taken from distance "
        "r * r / R on the same line, where R is half of the longer side, in whole pixels. An image "
        "of one pixel becomes `fill_value`.")
    .with(add_displacement_args)
    .cpu<Sphere>()
    .gpu<SphereGpu>();

}  // namespace
}  // namespace torchdali
