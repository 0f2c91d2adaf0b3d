// SPDX-License-Identifier: Apache-2.0
// fn.jitter: moves pixels at random. DALI 1.35 has it on the GPU only; this follows its
// documentation.
#include "kernels/warp/warp_position.h"
#include "ops/warp/displacement.h"

namespace torchdali {
namespace {

class JitterArgs {
 public:
  explicit JitterArgs(const OpSpec& spec)
      : displacement(spec), degree(spec.get<int64_t>("nDegree")) {
    TORCHDALI_CHECK(degree >= 0 && degree <= kMaxDegree, "`nDegree` is ", degree,
                    ", expected 0 to ", kMaxDegree);
  }
  const Displacement displacement;
  const int64_t degree;

 private:
  static constexpr int64_t kMaxDegree = 1 << 30;
};

class Jitter final : public Operator {
 public:
  explicit Jitter(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    RandomStream random = ctx.random();
    const auto shift = [&] { return kernels::jitter_shift(random.next_u32(), args_.degree); };
    args_.displacement.run(ctx, [&](int64_t, int64_t) {
      return [&](kernels::WarpPoints& points, int64_t, int64_t h, int64_t w, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          points.x[i] = static_cast<float>(w + i + shift()) + 0.5f;
          points.y[i] = static_cast<float>(h + shift()) + 0.5f;
        }
      };
    });
  }

 private:
  JitterArgs args_;
};

class JitterGpu final : public WarpGpuOperator {
 public:
  explicit JitterGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    args_.displacement.run_gpu(ctx, [&](Task& task) {
      task.map = gpu::WarpMap::kJitter;
      task.seed = ctx.random().seed();
      task.sample = ctx.random().sample();
      task.degree = args_.degree;
    });
  }

 private:
  JitterArgs args_;
};

TORCHDALI_OPERATOR("jitter")
    .doc(
        "Takes each pixel from a random neighbor: moved by a whole number of pixels, each equally "
        "likely, along x and along y.")
    .with(add_displacement_args)
    .arg("nDegree", 2, "Each pixel moves by -(nDegree // 2) to nDegree // 2 pixels.")
    .random()
    .cpu<Jitter>()
    .gpu<JitterGpu>();

}  // namespace
}  // namespace torchdali
