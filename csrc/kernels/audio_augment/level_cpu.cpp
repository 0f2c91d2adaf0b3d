// SPDX-License-Identifier: Apache-2.0
// level.h, once per instruction set.
#include "kernels/audio_augment/level.h"

#include <algorithm>
#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/audio_augment/level_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

template <Level kLevel>
void add_row(double* __restrict lanes, const float* __restrict x) {
  for (int64_t l = 0; l < kLevelLanes; ++l) lanes[l] = with_element<kLevel>(lanes[l], x[l]);
}

template <Level kLevel>
double level_of(const LoopedSignal& signal, int64_t count) {
  double level = 0;
  int64_t at = signal.start;
  for (int64_t begin = 0; begin < count; begin += kLevelChunk) {
    alignas(64) double lanes[kLevelLanes] = {};
    const int64_t end = std::min(begin + kLevelChunk, count);
    for (int64_t i = begin; i < end;) {
      const int64_t n = std::min(kLevelLanes, end - i);
      if (n == kLevelLanes && at + n <= signal.period) {
        add_row<kLevel>(lanes, signal.data + at);
        at += n;
      } else {
        for (int64_t l = 0; l < n; ++l) {
          if (at == signal.period) at = 0;
          lanes[l] = with_element<kLevel>(lanes[l], signal.data[at++]);
        }
      }
      i += n;
      if (at == signal.period) at = 0;
    }
    for (const double lane : lanes) level = with_part(kLevel, level, lane);
  }
  return level;
}

double signal_level(Level kind, const LoopedSignal& signal, int64_t count) {
  switch (kind) {
    case Level::kSum: return level_of<Level::kSum>(signal, count);
    case Level::kEnergy: return level_of<Level::kEnergy>(signal, count);
    case Level::kPeak: return level_of<Level::kPeak>(signal, count);
  }
  return 0;
}

void apply_gain(float* out, const float* in, int64_t count, float factor, float limit) {
  for (int64_t i = 0; i < count; ++i) out[i] = with_gain(in[i], factor, limit);
}

void mix_run(float* __restrict out, const float* __restrict in, const float* __restrict noise,
             int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) out[i] = in[i] + factor * noise[i];
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
double signal_level(Level kind, const LoopedSignal& signal, int64_t count) {
  return TORCHDALI_ISA_PICK(signal_level)(kind, signal, count);
}
void apply_gain(float* out, const float* in, int64_t count, float factor, float limit) {
  TORCHDALI_ISA_PICK(apply_gain)(out, in, count, factor, limit);
}
void mix(float* out, const float* in, const LoopedSignal& noise, int64_t count, float factor) {
  for (int64_t i = 0, at = noise.start; i < count; at = 0) {
    const int64_t n = std::min(noise.period - at, count - i);
    TORCHDALI_ISA_PICK(mix_run)(out + i, in + i, noise.data + at, n, factor);
    i += n;
  }
}
#endif

}  // namespace torchdali::kernels
