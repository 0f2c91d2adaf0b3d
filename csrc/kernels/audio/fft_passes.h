// SPDX-License-Identifier: Apache-2.0
// The loops of fft.h. Complex rows have 2 * kFrameLanes floats: real, then imaginary parts. Arrays
// of complex constants alternate real and imaginary parts.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// Transforms of `radix` (2, 3, 4, 5, 8 or 16) rows with a distance of `stride` rows, in each of
// `blocks` blocks of radix * stride rows. Result q > 0 at offset j of a block is multiplied with
// twiddles[(j - 1) * (radix - 1) + q - 1], if j > 0.
void fft_pass(int radix, float* z, int64_t blocks, int64_t stride, const float* twiddles);

// The transform of 2 * half real samples, of which the even ones were the real parts and the odd
// ones the imaginary parts of a transform of length `half`, whose result k is row positions[k].
struct Untangling {
  int64_t half;
  const int32_t* positions;
  const float* twiddles;  // exp(-pi * i * k / half) for k = 1, 2, ... below half / 2
};
void untangle_complex(float* out, const float* z, const Untangling& u);
void untangle_magnitude(float* out, const float* z, const Untangling& u);
void untangle_power(float* out, const float* z, const Untangling& u);

// Frequencies 0 to bins - 1 of a complex transform.
void pick_complex(float* out, const float* z, const int32_t* positions, int64_t bins);
void pick_magnitude(float* out, const float* z, const int32_t* positions, int64_t bins);
void pick_power(float* out, const float* z, const int32_t* positions, int64_t bins);

// Complex row i of `out` is row positions[i] of z times factors[i], conjugated for `conjugate`.
void multiply_rows(float* out, const float* z, const int32_t* positions, const float* factors,
                   int64_t rows, bool conjugate);

}  // namespace torchdali::kernels
