// SPDX-License-Identifier: Apache-2.0
// The inner loops of convolution, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// sum[i] = weights[0] * middle[i] + weights[k] * (before[k - 1][i] + after[k - 1][i]) over k from
// 1 to radius, for n elements. `sum` overlaps with none of the rows.
template <class In>
using SymmetricSum = void (*)(const In* middle, const In* const* before, const In* const* after,
                              const float* weights, int64_t radius, int64_t n, float* sum);
// For active_isa(). In: uint8_t, float.
template <class In>
SymmetricSum<In> symmetric_sum();

// sum[i] += scale * row[i] for n elements; the rows do not overlap.
using AddScaled = void (*)(const float* row, float scale, int64_t n, float* sum);
AddScaled add_scaled();

// row[i] *= scale for n elements.
using Multiply = void (*)(float scale, int64_t n, float* row);
Multiply multiply();

// sum[i] = weights[0] * rows[0][i] + ... for n elements; at least one tap. `sum` overlaps with none
// of the rows.
using WeightedSum = void (*)(const float* const* rows, const float* weights, int64_t taps,
                             int64_t n, float* sum);
WeightedSum weighted_sum();

}  // namespace torchdali::kernels
