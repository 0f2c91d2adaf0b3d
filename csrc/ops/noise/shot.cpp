// SPDX-License-Identifier: Apache-2.0
// fn.noise.shot: replaces values by draws from a Poisson distribution around them.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/argument.h"
#include "core/batch_context.h"
#include "core/operator.h"
#include "kernels/convert.h"
#include "kernels/noise/byte_draws.h"
#include "kernels/noise/poisson.h"
#include "kernels/noise/random_block.h"
#include "ops/noise/noise_gpu.h"

namespace torchdali {
namespace {

// The distributions of all values of an 8-bit type, for one factor. A draw uses one word.
class ByteDistributions {
 public:
  using Row = kernels::ByteDraws::Row;
  template <class T>
  ByteDistributions(T, float factor) : rows_(256) {
    for (int v = 0; v < 256; ++v) {
      const double lambda = static_cast<double>(static_cast<T>(v)) / factor;
      Row& row = rows_[static_cast<size_t>(v)];
      row.first = static_cast<uint32_t>(ends_.size());
      const int64_t low = add_distribution(lambda);
      for (size_t k = row.first; k < ends_.size(); ++k)
        results_.push_back(static_cast<uint8_t>(kernels::convert<T>(static_cast<float>(
            static_cast<double>(low + static_cast<int64_t>(k - row.first)) * factor))));
      uint32_t k = row.first;
      for (uint32_t g = 0; g < kernels::ByteDraws::kGuides; ++g) {
        while (ends_[k] < g << kernels::ByteDraws::kGuideShift) ++k;
        row.guides[g] = static_cast<uint16_t>(k - row.first);
      }
    }
  }
  kernels::ByteDraws draws() const {
    return {.rows = rows_.data(), .ends = ends_.data(), .results = results_.data()};
  }
  std::span<const Row> rows() const { return rows_; }
  std::span<const uint32_t> ends() const { return ends_; }
  std::span<const uint8_t> results() const { return results_; }

 private:
  // Adds the last word of each count from the returned one on. Counts before it, and after the
  // last, are too rare to be drawn.
  int64_t add_distribution(double lambda) {
    constexpr double kWords = 0x1p32;
    if (!(lambda > 0)) {
      ends_.push_back(~uint32_t{0});
      return 0;
    }
    const double spread = 7 * std::sqrt(lambda) + 30;
    const auto low = static_cast<int64_t>(std::max(0.0, std::floor(lambda - spread)));
    const auto high = static_cast<int64_t>(std::ceil(lambda + spread));
    const auto first = static_cast<double>(low);
    double p = std::exp(first * std::log(lambda) - lambda - log_factorial(first)), sum = 0;
    for (int64_t k = low; k <= high; ++k) {
      sum += p;
      p *= lambda / static_cast<double>(k + 1);
      const double end = std::clamp(std::nearbyint(sum * kWords) - 1, 0.0, kWords - 1);
      ends_.push_back(static_cast<uint32_t>(end));
      if (ends_.back() == ~uint32_t{0}) return low;
    }
    ends_.back() = ~uint32_t{0};
    return low;
  }

  std::vector<Row> rows_;
  std::vector<uint32_t> ends_;
  std::vector<uint8_t> results_;
};

// How values are drawn, equally on the CPU and the GPU.
class ShotNoiseArgs {
 public:
  explicit ShotNoiseArgs(const OpSpec& spec) : factor_(spec, "factor") {
    if (!factor_.is_tensor()) check(spec.get<float>("factor"));
  }

  // Makes the output, which is a view of the input if the factor is 0.
  float operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const float factor = factor_(ctx);
    check(factor);
    if (factor == 0) ctx.share_input(0, 0, in);
    else ctx.output(0, in.dtype, in.shape, in.layout);
    return factor;
  }

 private:
  static void check(float factor) {
    TORCHDALI_CHECK(factor >= 0 && std::isfinite(factor), "`factor` is ", factor,
                    ", expected a finite number from 0 on");
  }
  Arg<float> factor_;
};

// Whether to draw with tables. Building them takes as long as drawing about ten thousand values,
// and longer for small factors.
bool by_tables(const SampleView& in, float factor) {
  constexpr int64_t kManyBytes = 1 << 15;
  constexpr float kLeastFactor = 0.25f;
  const bool byte = in.dtype == DType::kUInt8 || in.dtype == DType::kInt8;
  return byte && in.volume() >= kManyBytes && factor >= kLeastFactor;
}
ByteDistributions make_tables(DType dtype, float factor) {
  return dtype == DType::kInt8 ? ByteDistributions(int8_t{}, factor)
                               : ByteDistributions(uint8_t{}, factor);
}

class ShotNoise final : public Operator {
 public:
  explicit ShotNoise(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const float factor = args_(ctx);
    if (factor == 0) return;
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    const RandomStream random = ctx.random();
    const int64_t count = in.volume();
    if (by_tables(in, factor)) {
      const ByteDistributions tables = make_tables(in.dtype, factor);
      draw_bytes(out.as<uint8_t>(), in.as<const uint8_t>(), count, random, tables.draws());
      return;
    }
    dispatch_dtype(in.dtype, [&]<class T>() {
      const T* from = in.as<const T>();
      T* to = out.as<T>();
      for (int64_t i = 0; i < count; ++i) {
        PoissonDraws draws(random.seed(), random.sample(), static_cast<uint64_t>(i));
        const double lambda = static_cast<double>(from[i]) / factor;
        to[i] = kernels::convert<T>(poisson(lambda, draws) * factor);
      }
    });
  }

 private:
  static void draw_bytes(uint8_t* out, const uint8_t* in, int64_t count, const RandomStream& random,
                         const kernels::ByteDraws& draws) {
    constexpr int64_t kBlock = kernels::kRandomBlock;
    alignas(64) uint32_t words[kBlock];
    for (int64_t i = 0; i < count; i += kBlock) {
      kernels::random_words(words, random.seed(), random.sample(),
                            static_cast<uint64_t>(i / kBlock));
      const int64_t n = std::min(kBlock, count - i);
      for (int64_t k = 0; k < n; ++k) out[i + k] = draws(in[i + k], words[k]);
    }
  }

  ShotNoiseArgs args_;
};

struct ShotNoiseSteps final : gpu::TaskBatch {
  struct Tables {
    gpu::BlobOffset rows = 0, ends = 0, results = 0;
  };
  gpu::Tasks<gpu::ShotNoiseKernel> tasks{*this};
  std::map<std::pair<DType, float>, Tables> tables;
};

class ShotNoiseGpu final : public gpu::StepsOperator<ShotNoiseSteps> {
 public:
  explicit ShotNoiseGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const float factor = args_(ctx);
    if (factor == 0) return;
    const SampleView& in = ctx.input(0);
    ShotNoiseSteps& steps = this->steps(ctx);
    gpu::ShotNoiseTask task;
    set_noise(task, ctx, ctx.output_view(0), in.volume());
    task.factor = factor;
    task.by_tables = by_tables(in, factor);
    if (task.by_tables) {
      const auto& tables = tables_of(steps, in.dtype, factor);
      task.rows = tables.rows;
      task.ends = tables.ends;
      task.results = tables.results;
    }
    steps.tasks.add(ctx, task);
  }

 private:
  // Made once per batch for all samples with the same factor.
  static const ShotNoiseSteps::Tables& tables_of(ShotNoiseSteps& steps, DType dtype, float factor) {
    const auto [at, is_new] = steps.tables.try_emplace({dtype, factor});
    if (is_new) {
      const ByteDistributions made = make_tables(dtype, factor);
      at->second = {.rows = steps.blob.keep(made.rows()),
                    .ends = steps.blob.keep(made.ends()),
                    .results = steps.blob.keep(made.results())};
    }
    return at->second;
  }

  ShotNoiseArgs args_;
};

TORCHDALI_OPERATOR("noise.shot")
    .doc(
        "Replaces each value x by factor * Poisson(x / factor): the mean stays x, the variance "
        "becomes factor * x. Negative values become 0. The same seed gives the same values with "
        "any number of threads and any prefetch depth.")
    .input("data", "Any shape, layout and element type.")
    .output("noisy",
            "Shape, layout and element type of the input; integers are rounded and saturate.")
    .arg("factor", 20.0f, "Strength of the noise, 0 or more; 0 changes nothing.", Arity::kPerSample)
    .random()
    .cpu<ShotNoise>()
    .gpu<ShotNoiseGpu>();

}  // namespace
}  // namespace torchdali
