// SPDX-License-Identifier: Apache-2.0
// Values of a normal distribution are added to each element: fn.noise.gaussian, fn.dither.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "core/argument.h"
#include "core/audio/audio_part.h"
#include "gpu/operator.h"
#include "kernels/noise/noise_gpu.h"
#include "kernels/noise/random_block.h"
#include "kernels/noise/random_scalar.h"
#include "ops/noise/noise_gpu.h"

namespace torchdali {

// A signal with noise. Draws what GaussianNoise::run() does.
class NoisySignal final : public SignalReader {
 public:
  NoisySignal(SignalReader& in, const RandomStream& random, float mean, float stddev)
      : SignalReader(in.length()), in_(in), random_(random), mean_(mean), stddev_(stddev) {}
  void read(float* out, int64_t count) override {
    in_.read(out, count);
    while (count > 0) {
      if (used_ == kernels::kRandomBlock) {
        kernels::random_normals(noise_, random_.seed(), random_.sample(), block_++);
        used_ = 0;
      }
      const int64_t n = std::min(count, kernels::kRandomBlock - used_);
      for (int64_t i = 0; i < n; ++i)
        out[i] = kernels::with_noise(out[i], noise_[used_ + i], mean_, stddev_);
      used_ += n;
      out += n;
      count -= n;
    }
  }

 private:
  SignalReader& in_;
  RandomStream random_;
  float mean_, stddev_;
  uint64_t block_ = 0;
  int64_t used_ = kernels::kRandomBlock;
  alignas(64) float noise_[kernels::kRandomBlock];
};

// `mean` and `stddev` name arguments; without the first, the mean is 0.
class GaussianNoise : public Operator, public FiltersSignal {
 public:
  GaussianNoise(const OpSpec& spec, const char* mean, const char* stddev) : stddev_(spec, stddev) {
    if (mean != nullptr) mean_.emplace(spec, mean);
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const float mean = this->mean(ctx), stddev = stddev_(ctx);
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

  std::unique_ptr<SignalReader> filter_signal(SampleContext& ctx, SignalReader& in) const override {
    return std::make_unique<NoisySignal>(in, ctx.random(), mean(ctx), stddev_(ctx));
  }

 private:
  float mean(const SampleContext& ctx) const { return mean_.has_value() ? (*mean_)(ctx) : 0.0f; }
  std::optional<Arg<float>> mean_;
  Arg<float> stddev_;
};

class GaussianNoiseGpu : public gpu::KernelOperator<gpu::GaussianNoiseKernel> {
 public:
  GaussianNoiseGpu(const OpSpec& spec, const char* mean, const char* stddev)
      : stddev_(spec, stddev) {
    if (mean != nullptr) mean_.emplace(spec, mean);
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    Task task;
    task.mean = mean_.has_value() ? (*mean_)(ctx) : 0.0f;
    task.stddev = stddev_(ctx);
    set_noise(task, ctx, ctx.output(0, in.dtype, in.shape, in.layout), in.volume());
    tasks(ctx).add(ctx, task);
  }

 private:
  std::optional<Arg<float>> mean_;
  Arg<float> stddev_;
};

}  // namespace torchdali
