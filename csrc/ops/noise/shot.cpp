// SPDX-License-Identifier: Apache-2.0
// fn.noise.shot: replaces values by draws of a Poisson distribution around them.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/operator.h"
#include "kernels/convert.h"
#include "kernels/random_block.h"
#include "ops/noise/poisson.h"

namespace torchdali {
namespace {

// The distributions of all values of a type of 8 bits, for one factor: a draw takes one word.
class ByteDistributions {
 public:
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
      // Where to begin, by the first bits of the word.
      uint32_t k = row.first;
      for (uint32_t g = 0; g < kGuides; ++g) {
        while (ends_[k] < g << kGuideShift) ++k;
        row.guides[g] = static_cast<uint16_t>(k - row.first);
      }
    }
  }
  uint8_t draw(uint8_t value, uint32_t word) const {
    const Row& row = rows_[value];
    uint32_t k = row.first + row.guides[word >> kGuideShift];
    while (word > ends_[k]) ++k;
    return results_[k];
  }

 private:
  static constexpr uint32_t kGuides = 64, kGuideShift = 26;
  struct Row {
    uint32_t first;  // in ends_ and results_
    uint16_t guides[kGuides];
  };

  // Adds the last word of each count from a first on, which is returned; those before it, and those
  // behind the last, are too rare to be drawn.
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

class ShotNoise final : public Operator {
 public:
  explicit ShotNoise(const OpSpec& spec) : factor_(spec, "factor") {
    if (!factor_.is_tensor()) check(spec.get<float>("factor"));
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const float factor = factor_(ctx);
    check(factor);
    if (factor == 0) {
      ctx.share_input(0, 0, in);
      return;
    }
    const SampleView& out = ctx.output(0, in.dtype, in.shape, in.layout);
    const RandomStream random = ctx.random();
    const int64_t count = in.volume();
    // Making the tables takes as long as drawing some ten thousand values, and longer where factors
    // are small.
    constexpr int64_t kManyBytes = 1 << 15;
    constexpr float kLeastFactor = 0.25f;
    dispatch_dtype(in.dtype, [&]<class T>() {
      constexpr bool kByte = std::is_same_v<T, uint8_t> || std::is_same_v<T, int8_t>;
      if constexpr (kByte) {
        if (count >= kManyBytes && factor >= kLeastFactor) {
          draw_bytes(out.as<uint8_t>(), in.as<const uint8_t>(), count, random,
                     ByteDistributions(T{}, factor));
          return;
        }
      }
      const T* from = in.as<const T>();
      T* to = out.as<T>();
      for (int64_t i = 0; i < count; ++i) {
        PoissonDraws draws(random, static_cast<uint64_t>(i));
        const double lambda = static_cast<double>(from[i]) / factor;
        to[i] = kernels::convert<T>(poisson(lambda, draws) * factor);
      }
    });
  }

 private:
  static void check(float factor) {
    TORCHDALI_CHECK(factor >= 0 && std::isfinite(factor), "`factor` is ", factor,
                    ", expected a finite number from 0 on");
  }
  static void draw_bytes(uint8_t* out, const uint8_t* in, int64_t count, const RandomStream& random,
                         const ByteDistributions& distributions) {
    constexpr int64_t kBlock = kernels::kRandomBlock;
    alignas(64) uint32_t words[kBlock];
    for (int64_t i = 0; i < count; i += kBlock) {
      kernels::random_words(words, random.seed(), random.sample(),
                            static_cast<uint64_t>(i / kBlock));
      const int64_t n = std::min(kBlock, count - i);
      for (int64_t k = 0; k < n; ++k) out[i + k] = distributions.draw(in[i + k], words[k]);
    }
  }

  Arg<float> factor_;
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
    .cpu<ShotNoise>();

}  // namespace
}  // namespace torchdali
