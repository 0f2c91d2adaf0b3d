// SPDX-License-Identifier: Apache-2.0
// Blocks of random values: Philox4x32-10 with the key and counter of core/random.h, in an order
// that suits vectors. Values do not depend on the instruction set.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

constexpr int64_t kRandomBlock = 256;  // values; word j of counter i is value j * 64 + i

// Block `block` of the words of (seed, sample), kRandomBlock of them.
void random_words(uint32_t* out, uint64_t seed, uint64_t sample, uint64_t block);
// The same as draws from a standard normal distribution (Box and Muller, 1958); at most 6.6 from 0.
void random_normals(float* out, uint64_t seed, uint64_t sample, uint64_t block);
// out[i] = in[i] + (mean + stddev * noise[i]), rounded and saturated.
void add_noise(uint8_t* out, const uint8_t* in, const float* noise, int64_t count, float mean,
               float stddev);
// out[i] = 1 with probability `first`, 2 with probability `second`, else 0. Probabilities are exact
// in 24 bits.
void choose(uint8_t* out, const uint32_t* words, int64_t count, float first, float either);

}  // namespace torchdali::kernels
