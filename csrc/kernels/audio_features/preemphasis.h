// SPDX-License-Identifier: Apache-2.0
// fn.preemphasis_filter: y[i] = x[i] - coefficient * x[i - 1].
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// What comes before the first sample.
enum class PreemphasisBorder : int8_t { kClamp, kZero, kReflect };

// The sample before x[0], `count` > 0.
template <class T>
constexpr T sample_before(const T* x, int64_t count, PreemphasisBorder border) {
  if (border == PreemphasisBorder::kClamp) return x[0];
  return border == PreemphasisBorder::kReflect && count > 1 ? x[1] : T(0);
}

// Reads x[-1] too. `out` and `x` do not overlap. `bypass_cache`: the output is not read soon.
void preemphasize(float* out, const float* x, int64_t count, float coefficient,
                  bool bypass_cache = false);
void preemphasize(double* out, const double* x, int64_t count, double coefficient);

}  // namespace torchdali::kernels
