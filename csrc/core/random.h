// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: each value is a pure function of (seed, sample, draw), so threads,
// prefetching and resuming cannot change it.
// Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011 (Philox4x32-10).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace torchdali {

// One block of Philox4x32-10: four 32-bit words from a 128-bit counter and a 64-bit key.
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  constexpr uint32_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57, kWeyl0 = 0x9E3779B9,
                     kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMul0) * counter[0];
    const uint64_t p1 = static_cast<uint64_t>(kMul1) * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

// Mixes an operator's number into a pipeline's seed (a block of the same cipher).
inline uint64_t derive_seed(uint64_t seed, uint64_t stream) {
  const auto b =
      philox4x32({static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32), 0x5eed, 0},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return b[0] | static_cast<uint64_t>(b[1]) << 32;
}

// The random numbers of one (seed, sample). Cheap to construct for every sample.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t sample)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, sample_(sample) {}

  // The key, for code that generates many numbers at once.
  uint64_t seed() const { return key_[0] | static_cast<uint64_t>(key_[1]) << 32; }
  uint64_t sample() const { return sample_; }

  // The first block of words of which none has been drawn, for the same.
  uint64_t next_block() const { return draw_; }

  uint32_t next_u32() {
    if (used_ == 4) {
      block_ = philox4x32({static_cast<uint32_t>(sample_), static_cast<uint32_t>(sample_ >> 32),
                           static_cast<uint32_t>(draw_), static_cast<uint32_t>(draw_ >> 32)},
                          key_);
      ++draw_;
      used_ = 0;
    }
    return block_[used_++];
  }
  uint64_t next_u64() {
    const uint64_t low = next_u32();
    return low | static_cast<uint64_t>(next_u32()) << 32;
  }
  // Uniform in [0, 1), 24 bits.
  float uniform_float() { return static_cast<float>(next_u32() >> 8) * 0x1p-24f; }
  // Uniform in [0, 1), 53 bits.
  double uniform_double() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }
  float uniform(float low, float high) {
    // Rounding can reach `high`, which the interval excludes.
    const float value = low + (high - low) * uniform_float();
    return value < high ? value : low < high ? std::nextafterf(high, low) : low;
  }
  // Uniform in [low, high], without modulo bias (Lemire, "Fast Random Integer Generation in an
  // Interval", 2019).
  int64_t uniform_int(int64_t low, int64_t high) {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    if (range == 0) return static_cast<int64_t>(next_u64());
    __uint128_t product = static_cast<__uint128_t>(next_u64()) * range;
    if (static_cast<uint64_t>(product) < range) {
      const uint64_t threshold = -range % range;
      while (static_cast<uint64_t>(product) < threshold)
        product = static_cast<__uint128_t>(next_u64()) * range;
    }
    return static_cast<int64_t>(static_cast<uint64_t>(low) + static_cast<uint64_t>(product >> 64));
  }
  // Standard normal (Box and Muller, 1958). Uses two words per value, so that a draw does not
  // depend on the one before.
  float normal() {
    const double u1 = (next_u32() + 1.0) * 0x1p-32;  // (0, 1]: the logarithm is finite
    const double u2 = next_u32() * 0x1p-32;
    return static_cast<float>(std::sqrt(-2.0 * std::log(u1)) *
                              std::cos(2.0 * 3.14159265358979323846 * u2));
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t sample_;
  uint64_t draw_ = 0;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace torchdali
