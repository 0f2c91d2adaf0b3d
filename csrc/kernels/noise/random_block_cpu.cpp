// SPDX-License-Identifier: Apache-2.0
// random_block.h, once per instruction set.
#include "kernels/noise/random_block.h"

#include "kernels/noise/random_scalar.h"

#define TORCHDALI_ISA_FILE "kernels/noise/random_block_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

constexpr int64_t kCounters = kRandomBlock / 4;

// philox4x32() of core/random.h for kCounters counters: word j of counter i is out[j][i].
void philox(uint32_t (*__restrict out)[kCounters], uint64_t seed, uint64_t sample, uint64_t block) {
  constexpr uint64_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  const uint64_t first = block * kCounters;  // the low word does not wrap within a block
  const uint32_t low = static_cast<uint32_t>(first), high = static_cast<uint32_t>(first >> 32);
  const uint32_t sample0 = static_cast<uint32_t>(sample);
  const uint32_t sample1 = static_cast<uint32_t>(sample >> 32);
  const uint32_t seed0 = static_cast<uint32_t>(seed), seed1 = static_cast<uint32_t>(seed >> 32);
  for (uint32_t i = 0; i < kCounters; ++i) {
    uint32_t c0 = sample0, c1 = sample1, c2 = low + i, c3 = high, k0 = seed0, k1 = seed1;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = kMul0 * c0, p1 = kMul1 * c2;
      c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<uint32_t>(p1);
      c3 = static_cast<uint32_t>(p0);
      k0 += kWeyl0;
      k1 += kWeyl1;
    }
    out[0][i] = c0;
    out[1][i] = c1;
    out[2][i] = c2;
    out[3][i] = c3;
  }
}

void random_words(uint32_t* out, uint64_t seed, uint64_t sample, uint64_t block) {
  philox(reinterpret_cast<uint32_t (*)[kCounters]>(out), seed, sample, block);
}

void random_normals(float* out, uint64_t seed, uint64_t sample, uint64_t block) {
  alignas(64) uint32_t words[4][kCounters];
  philox(words, seed, sample, block);
  for (int pair = 0; pair < 2; ++pair) {
    const uint32_t* __restrict radii = words[2 * pair];
    const uint32_t* __restrict angles = words[2 * pair + 1];
    float* __restrict cosines = out + 2 * pair * kCounters;
    float* __restrict sines = cosines + kCounters;
    for (int64_t i = 0; i < kCounters; ++i) normal_pair(radii[i], angles[i], cosines[i], sines[i]);
  }
}

void add_noise(uint8_t* __restrict out, const uint8_t* __restrict in, const float* __restrict noise,
               int64_t count, float mean, float stddev) {
  for (int64_t i = 0; i < count; ++i) out[i] = with_noise(in[i], noise[i], mean, stddev);
}

void choose(uint8_t* __restrict out, const uint32_t* __restrict words, int64_t count, float first,
            float either) {
  for (int64_t i = 0; i < count; ++i) out[i] = choice_of(words[i], first, either);
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void random_words(uint32_t* out, uint64_t seed, uint64_t sample, uint64_t block) {
  TORCHDALI_ISA_PICK(random_words)(out, seed, sample, block);
}
void random_normals(float* out, uint64_t seed, uint64_t sample, uint64_t block) {
  TORCHDALI_ISA_PICK(random_normals)(out, seed, sample, block);
}
void add_noise(uint8_t* out, const uint8_t* in, const float* noise, int64_t count, float mean,
               float stddev) {
  TORCHDALI_ISA_PICK(add_noise)(out, in, noise, count, mean, stddev);
}
void choose(uint8_t* out, const uint32_t* words, int64_t count, float first, float either) {
  TORCHDALI_ISA_PICK(choose)(out, words, count, first, either);
}
#endif

}  // namespace torchdali::kernels
