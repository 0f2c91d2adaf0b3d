// SPDX-License-Identifier: Apache-2.0
// fn.noise.gaussian: adds values of a normal distribution.
#include <algorithm>

#include "core/argument.h"
#include "core/operator.h"
#include "kernels/noise/noise_gpu.h"
#include "kernels/noise/random_block.h"
#include "kernels/noise/random_scalar.h"
#include "ops/noise/noise_gpu.h"

namespace torchdali {
namespace {

class GaussianNoise final : public Operator {
 public:
  explicit GaussianNoise(const OpSpec& spec) : mean_(spec, "mean"), stddev_(spec, "stddev") {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const float mean = mean_(ctx), stddev = stddev_(ctx);
    const SampleView& out = ctx.output(0, in.dtype, in.shape, in.layout);
    const RandomStream random = ctx.random();
    const int64_t count = in.volume();
    alignas(64) float noise[kernels::kRandomBlock];
    dispatch_dtype(in.dtype, [&]<class T>() {
      for (int64_t i = 0; i < count; i += kernels::kRandomBlock) {
        kernels::random_normals(noise, random.seed(), random.sample(),
                                static_cast<uint64_t>(i / kernels::kRandomBlock));
        const int64_t n = std::min(kernels::kRandomBlock, count - i);
        const T* from = in.as<const T>() + i;
        T* to = out.as<T>() + i;
        if constexpr (std::is_same_v<T, uint8_t>) {
          kernels::add_noise(to, from, noise, n, mean, stddev);
        } else {
          for (int64_t k = 0; k < n; ++k)
            to[k] = kernels::with_noise(from[k], noise[k], mean, stddev);
        }
      }
    });
  }

 private:
  Arg<float> mean_, stddev_;
};

class GaussianNoiseGpu final : public gpu::KernelOperator<gpu::GaussianNoiseKernel> {
 public:
  explicit GaussianNoiseGpu(const OpSpec& spec) : mean_(spec, "mean"), stddev_(spec, "stddev") {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    Task task;
    task.mean = mean_(ctx);
    task.stddev = stddev_(ctx);
    set_noise(task, ctx, ctx.output(0, in.dtype, in.shape, in.layout), in.volume());
    tasks(ctx).add(ctx, task);
  }

 private:
  Arg<float> mean_, stddev_;
};

TORCHDALI_OPERATOR("noise.gaussian")
    .doc(
        "Adds a value of a normal distribution to each element. The same seed gives the "
        "same values with any number of threads and any prefetch depth.")
    .input("data", "Any shape, layout and element type.")
    .output("noisy",
            "Shape, layout and element type of the input; integers are rounded and saturate.")
    .arg("mean", 0.0f, "Mean of the noise, in units of the data.", Arity::kPerSample)
    .arg("stddev", 1.0f, "Standard deviation of the noise, in units of the data.",
         Arity::kPerSample)
    .random()
    .cpu<GaussianNoise>()
    .gpu<GaussianNoiseGpu>();

}  // namespace
}  // namespace torchdali
