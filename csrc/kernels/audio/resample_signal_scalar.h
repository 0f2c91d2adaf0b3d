// SPDX-License-Identifier: Apache-2.0
// Positions and sums of resampled signals, for CPU and GPU. The sum of an output is made in
// kSignalLanes parts, lane l of every tap k with k % kSignalLanes == l, which are then added in
// pairs, so that vectors of any width and single threads give the same bits.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

inline constexpr int kSignalLanes = 16;
// Positions between two samples for which weights are stored; weights between them are
// interpolated. DALI's table has as many.
inline constexpr int kSignalNodes = 32;

// Where outputs are. With `phases`, output i is at i * advance / phases, and the weights of each
// phase are stored. Otherwise it is at i * (advance + fraction / 2^64).
struct SignalSteps {
  uint64_t advance = 1, fraction = 0;
  uint32_t phases = 1;
};

// Whether outputs are equal to inputs.
constexpr bool is_copy(const SignalSteps& steps) { return steps.phases == 1 && steps.advance == 1; }

struct SignalPosition {
  int64_t sample = 0;    // rounded down
  uint64_t between = 0;  // the phase, or the rest in units of 2^-64
};

constexpr uint64_t multiply_high(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  const uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1;
  const uint64_t carry = ((middle & 0xffffffff) + other) >> 32;
  return a1 * b1 + (middle >> 32) + carry;
#endif
}

constexpr SignalPosition signal_position(const SignalSteps& steps, int64_t i) {
  const auto n = static_cast<uint64_t>(i);
  if (steps.phases > 0) {
    const uint64_t at = n * steps.advance;
    return {static_cast<int64_t>(at / steps.phases), at % steps.phases};
  }
  const uint64_t whole = n * steps.advance + multiply_high(n, steps.fraction);
  return {static_cast<int64_t>(whole), n * steps.fraction};
}

constexpr void next_position(const SignalSteps& steps, SignalPosition& p) {
  if (steps.phases > 0) {
    p.between += steps.advance % steps.phases;
    p.sample += static_cast<int64_t>(steps.advance / steps.phases);
    if (p.between >= steps.phases) ++p.sample, p.between -= steps.phases;
    return;
  }
  const uint64_t before = p.between;
  p.between += steps.fraction;
  p.sample += static_cast<int64_t>(steps.advance) + (p.between < before ? 1 : 0);
}

// Of a position between samples: the node before it, and the part of the way to the next node.
struct SignalNode {
  int node;
  float part;
};
constexpr SignalNode signal_node(uint64_t between) {
  static_assert(kSignalNodes == 32);
  return {static_cast<int>(between >> 59), static_cast<float>(between << 5 >> 40) * 0x1p-24f};
}

// Between element types. An output is the sum over in * scale + shift, times `out`.
struct SignalScale {
  float in = 1, shift = 0, out = 1;
};
constexpr float scaled_sample(const SignalScale& scale, float x) {
  return scale.shift == 0 ? x : x * scale.in + scale.shift;
}

// Adds the parts of a sum. A recursion, so that the GPU keeps them in registers.
template <int kWidth = kSignalLanes / 2>
constexpr float add_lanes(float* sum) {
  for (int l = 0; l < kWidth; ++l) sum[l] += sum[l + kWidth];
  if constexpr (kWidth > 1) return add_lanes<kWidth / 2>(sum);
  else return sum[0];
}

}  // namespace torchdali::kernels
