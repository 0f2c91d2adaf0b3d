// SPDX-License-Identifier: Apache-2.0
// The order in which the level of a signal is computed, and what follows from levels, for the CPU
// and the GPU.
#pragma once

#include <cmath>
#include <cstdint>

namespace torchdali::kernels {

enum class Level : int8_t {
  kSum,
  kEnergy,  // the sum of squares
  kPeak,    // the largest absolute value; NaN are ignored
};

// Elements are added up by chunks. Lane `l` of a chunk adds every kLevelLanes-th element from `l`
// on; the sums of lanes are then added in their order.
constexpr int64_t kLevelLanes = 64, kLevelChunk = 256 * kLevelLanes;

constexpr int64_t count_level_parts(int64_t count) {
  return (count + kLevelChunk - 1) / kLevelChunk * kLevelLanes;
}

template <Level kLevel>
constexpr double with_element(double level, float x) {
  const double value = x;
  if constexpr (kLevel == Level::kSum) return level + value;
  else if constexpr (kLevel == Level::kEnergy) return level + value * value;
  else return std::abs(value) > level ? std::abs(value) : level;
}
constexpr double with_part(Level kind, double level, double part) {
  return kind != Level::kPeak ? level + part : part > level ? part : level;
}

// Elements start, start + 1, ... of a signal that is repeated without end.
struct LoopedSignal {
  const float* data = nullptr;
  int64_t period = 1;
  int64_t start = 0;  // below `period`
};

// The factor that gives a signal of `count` values the peak or the root mean square 1, times
// `factor`. A silent signal does not change by it.
constexpr float level_factor(Level kind, double level, int64_t count, double factor) {
  const double now = kind == Level::kPeak ? level : std::sqrt(level / static_cast<double>(count));
  return static_cast<float>(now > 0 ? factor / now : factor);
}

// The factor of noise of energy `noise`, if its ratio to `signal` is 1, times `factor`.
constexpr float noise_factor(double signal, double noise, double factor) {
  return static_cast<float>(noise > 0 ? std::sqrt(signal / noise) * factor : 0.0);
}

constexpr float with_gain(float x, float factor, float limit) {
  const float value = x * factor;
  const float above = value < -limit ? -limit : value;
  return above > limit ? limit : above;
}

}  // namespace torchdali::kernels
