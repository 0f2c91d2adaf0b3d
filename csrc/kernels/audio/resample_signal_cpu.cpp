// SPDX-License-Identifier: Apache-2.0
// The loops of resample_signal.h; compiled once per instruction set.
#include <algorithm>
#include <cstdint>

#include "kernels/audio/resample_signal.h"

#define TORCHDALI_ISA_FILE "kernels/audio/resample_signal_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

constexpr int kLanes = kSignalLanes;

// Vectors of this instruction set: kVectors of them are the lanes of a sum.
#if TORCHDALI_ISA_LEVEL == 2
constexpr int kWidth = 16;
#elif TORCHDALI_ISA_LEVEL == 1
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif
constexpr int kVectors = kLanes / kWidth;
typedef float Vector __attribute__((vector_size(4 * kWidth)));
typedef float Four __attribute__((vector_size(16)));

inline Vector load(const float* from) {
  // Of memory only: variables of a type with less alignment may be misplaced by GCC 12.
  typedef float Anywhere __attribute__((vector_size(4 * kWidth), aligned(4), may_alias));
  return *reinterpret_cast<const Anywhere*>(from);
}

// The weights of one output.
struct PhaseWeights {
  const float* row;
  Vector operator()(int64_t k, int v) const { return load(row + k + v * kWidth); }
};
struct NodeWeights {
  const float* row;
  float part;
  Vector operator()(int64_t k, int v) const {
    const float* at = row + 2 * k + v * kWidth;
    return load(at) + part * load(at + kLanes);
  }
};
inline PhaseWeights weights_at(const SignalRun& run, const SignalPosition& p, PhaseWeights*) {
  return {run.weights + static_cast<int64_t>(p.between) * run.taps};
}
inline NodeWeights weights_at(const SignalRun& run, const SignalPosition& p, NodeWeights*) {
  const SignalNode node = signal_node(p.between);
  return {run.weights + int64_t{node.node} * run.taps * 2, node.part};
}

// Lanes l, l + 4, l + 8 and l + 12, added as add_lanes() does.
inline Four add_vectors(const Vector* sum) {
#if TORCHDALI_ISA_LEVEL == 2
  const __m256 half =
      _mm256_add_ps(_mm512_castps512_ps256(sum[0]),
                    _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(sum[0]), 1)));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
#elif TORCHDALI_ISA_LEVEL == 1
  const __m256 half = sum[0] + sum[1];
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
#else
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
#endif
}

// The last steps of add_lanes() for four outputs.
inline void add_fours(const Four* sum, float* out) {
#ifdef __SSE2__
  const __m128 a = _mm_unpacklo_ps(sum[0], sum[1]), b = _mm_unpacklo_ps(sum[2], sum[3]),
               c = _mm_unpackhi_ps(sum[0], sum[1]), d = _mm_unpackhi_ps(sum[2], sum[3]);
  const __m128 lane0 = _mm_movelh_ps(a, b), lane1 = _mm_movehl_ps(b, a),
               lane2 = _mm_movelh_ps(c, d), lane3 = _mm_movehl_ps(d, c);
  _mm_storeu_ps(out, _mm_add_ps(_mm_add_ps(lane0, lane2), _mm_add_ps(lane1, lane3)));
#else
  for (int i = 0; i < 4; ++i) out[i] = (sum[i][0] + sum[i][2]) + (sum[i][1] + sum[i][3]);
#endif
}

// kCount outputs, whose sums are independent: none waits for another.
template <int kCount, class Weights>
inline void sum_taps(const float* const* in, const Weights* weights, int64_t taps, Four* result) {
  Vector sum[kCount][kVectors];
  for (int o = 0; o < kCount; ++o)
    for (int v = 0; v < kVectors; ++v) sum[o][v] = weights[o](0, v) * load(in[o] + v * kWidth);
  for (int64_t k = kLanes; k < taps; k += kLanes)
    for (int o = 0; o < kCount; ++o)
      for (int v = 0; v < kVectors; ++v)
        sum[o][v] += weights[o](k, v) * load(in[o] + k + v * kWidth);
  for (int o = 0; o < kCount; ++o) result[o] = add_vectors(sum[o]);
}

// Near an end of the signal: taps may be outside of in[0, length).
template <class Weights>
Four sum_taps_inside(const float* in, int64_t first, int64_t length, const Weights& weights,
                     int64_t taps) {
  Vector sum[kVectors] = {};
  for (int64_t k = 0; k < taps; k += kLanes) {
    float x[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      const int64_t at = first + k + l;
      x[l] = at >= 0 && at < length ? in[at] : 0.0f;
    }
    for (int v = 0; v < kVectors; ++v) {
      const Vector product = weights(k, v) * load(x + v * kWidth);
      sum[v] = k == 0 ? product : sum[v] + product;
    }
  }
  return add_vectors(sum);
}

// Outputs whose sums fit into the registers.
constexpr int kAtOnce = kVectors == 4 ? 2 : 4;

template <class Weights>
void run_outputs(const SignalRun& run) {
  const SignalSteps steps = *run.steps;
  const int64_t taps = run.taps;
  SignalPosition at = signal_position(steps, run.begin);
  for (int64_t i = 0; i < run.count; i += 4) {
    const int n = static_cast<int>(std::min<int64_t>(4, run.count - i));
    Weights weights[4];
    int64_t first[4];
    for (int o = 0; o < n; ++o, next_position(steps, at)) {
      weights[o] = weights_at(run, at, static_cast<Weights*>(nullptr));
      first[o] = at.sample - run.before - run.in_begin;
    }
    Four sum[4] = {};
    const int64_t length = run.in_end - run.in_begin;
    if (n == 4 && first[0] >= 0 && first[3] <= length - taps) {
      const float* in[4];
      for (int o = 0; o < 4; ++o) in[o] = run.in + first[o];
      for (int o = 0; o < 4; o += kAtOnce) sum_taps<kAtOnce>(in + o, weights + o, taps, sum + o);
      add_fours(sum, run.out + i);
      continue;
    }
    for (int o = 0; o < n; ++o)
      if (first[o] < length && first[o] > -taps)
        sum[o] = sum_taps_inside(run.in, first[o], length, weights[o], taps);
    float last[4];
    add_fours(sum, last);
    std::copy(last, last + n, run.out + i);
  }
}

// Outputs that are `phases` apart have the same weights, which are loaded once for four of them.
void run_phases(SignalRun run) {
  const auto phases = static_cast<int64_t>(run.steps->phases);
  const auto advance = static_cast<int64_t>(run.steps->advance);
  // Outputs [begin, end) depend on no sample outside of the range.
  const auto outputs = [&](int64_t count) {
    SignalRun part = run;
    part.count = count;
    run_outputs<PhaseWeights>(part);
    run.begin += count, run.count -= count, run.out += count;
  };
  while (run.count >= 4 * phases) {
    SignalPosition at = signal_position(*run.steps, run.begin);
    const int64_t start = at.sample - run.before - run.in_begin;
    if (start < 0) {
      outputs(std::min(phases, run.count));
      continue;
    }
    if (start + 4 * advance + run.taps > run.in_end - run.in_begin) break;
    for (int64_t p = 0; p < phases; ++p, next_position(*run.steps, at)) {
      const PhaseWeights weight = weights_at(run, at, static_cast<PhaseWeights*>(nullptr));
      const float* first = run.in + (at.sample - run.before - run.in_begin);
      const float* in[4] = {first, first + advance, first + 2 * advance, first + 3 * advance};
      const PhaseWeights weights[4] = {weight, weight, weight, weight};
      Four sum[4];
      for (int o = 0; o < 4; o += kAtOnce)
        sum_taps<kAtOnce>(in + o, weights + o, run.taps, sum + o);
      float result[4];
      add_fours(sum, result);
      for (int o = 0; o < 4; ++o) run.out[p + o * phases] = result[o];
    }
    run.begin += 4 * phases, run.count -= 4 * phases, run.out += 4 * phases;
  }
  outputs(run.count);
}

}  // namespace

void resample_run(const SignalRun& run) {
  if (run.steps->phases > 0) run_phases(run);
  else run_outputs<NodeWeights>(run);
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void resample_run(const SignalRun& run) { TORCHDALI_ISA_PICK(resample_run)(run); }
#endif

}  // namespace torchdali::kernels
