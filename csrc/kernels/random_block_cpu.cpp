// SPDX-License-Identifier: Apache-2.0
// random_block.h, once per instruction set.
#include "kernels/random_block.h"

#include <bit>
#include <cmath>

#include "kernels/convert.h"

#define TORCHDALI_ISA_FILE "kernels/random_block_cpu.cpp"
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

// Natural logarithm of x in [2^-31, 1]. Source of the coefficients, and of those below: S. Moshier,
// Cephes, logf, sinf and cosf; relative errors below 2^-22.
inline float log_of(float x) {
  constexpr int32_t kSqrtHalf = 0x3F3504F3;
  const int32_t bits = std::bit_cast<int32_t>(x);
  const int32_t exponent = (bits - kSqrtHalf) >> 23;
  // In [sqrt(1/2), sqrt(2)), less 1.
  const float f = std::bit_cast<float>(bits - exponent * (1 << 23)) - 1.0f;
  const float e = static_cast<float>(exponent), square = f * f;
  float y = 7.0376836292e-2f;
  y = y * f - 1.1514610310e-1f;
  y = y * f + 1.1676998740e-1f;
  y = y * f - 1.2420140846e-1f;
  y = y * f + 1.4249322787e-1f;
  y = y * f - 1.6668057665e-1f;
  y = y * f + 2.0000714765e-1f;
  y = y * f - 2.4999993993e-1f;
  y = y * f + 3.3333331174e-1f;
  y = y * f * square + e * -2.12194440e-4f - 0.5f * square;
  return f + y + e * 0.693359375f;
}

void random_normals(float* out, uint64_t seed, uint64_t sample, uint64_t block) {
  alignas(64) uint32_t words[4][kCounters];
  philox(words, seed, sample, block);
  for (int pair = 0; pair < 2; ++pair) {
    const uint32_t* __restrict radii = words[2 * pair];
    const uint32_t* __restrict angles = words[2 * pair + 1];
    float* __restrict cosines = out + 2 * pair * kCounters;
    float* __restrict sines = cosines + kCounters;
    for (int64_t i = 0; i < kCounters; ++i) {
      // In [2^-31, 1]: the logarithm is finite.
      const float u = (static_cast<float>(static_cast<int32_t>(radii[i] >> 1)) + 1.0f) * 0x1p-31f;
      const float radius = std::sqrt(std::abs(-2.0f * log_of(u)));
      // The angle is 2 pi * word / 2^32: the nearest quarter turn, and what is left of it.
      const uint32_t word = angles[i];
      const uint32_t quarter = (word + (1u << 29)) >> 30;
      const int32_t rest = static_cast<int32_t>(word - (quarter << 30));
      const float x = static_cast<float>(rest) * (3.14159265358979f * 0x1p-31f), z = x * x;
      const float sine =
          ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
      const float cosine =
          ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z *
              z -
          0.5f * z + 1.0f;
      const uint32_t odd = 0u - (quarter & 1);
      const uint32_t s = std::bit_cast<uint32_t>(sine), c = std::bit_cast<uint32_t>(cosine);
      const uint32_t cosine_sign = ((quarter + 1) & 2) << 30, sine_sign = (quarter & 2) << 30;
      const uint32_t cos_bits = ((c & ~odd) | (s & odd)) ^ cosine_sign;
      const uint32_t sin_bits = ((s & ~odd) | (c & odd)) ^ sine_sign;
      cosines[i] = radius * std::bit_cast<float>(cos_bits);
      sines[i] = radius * std::bit_cast<float>(sin_bits);
    }
  }
}

void add_noise(uint8_t* __restrict out, const uint8_t* __restrict in, const float* __restrict noise,
               int64_t count, float mean, float stddev) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = round_to_byte(static_cast<float>(in[i]) + (mean + stddev * noise[i]));
}

void choose(uint8_t* __restrict out, const uint32_t* __restrict words, int64_t count, float first,
            float either) {
  for (int64_t i = 0; i < count; ++i) {
    const float u = static_cast<float>(static_cast<int32_t>(words[i] >> 8)) * 0x1p-24f;
    const int is_first = u < first, is_either = u < either;
    out[i] = static_cast<uint8_t>(2 * is_either - is_first);
  }
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
