// SPDX-License-Identifier: Apache-2.0
// Resampling of signals by windowed sinc functions: out[i] = sum over k of w(k - i * step) * in[k].
// Signals are silent before their start and after their end. docs/design/audio.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/audio/resample_signal_scalar.h"

namespace torchdali::kernels {

struct SignalRun;

// How a signal changes its rate.
struct SignalRates {
  double in = 1, out = 1;  // > 0, finite; only the ratio matters
  double quality = 50;     // 0 to 100
  // Whether frequencies that the output cannot have are removed. Without it, they are mirrored, as
  // by DALI.
  bool antialias = false;
  bool operator==(const SignalRates&) const = default;
};

// The tables for one SignalRates, which never change.
class SignalResampler {
 public:
  // Shared: tables that were used lately are kept. Raises kValue for a step that is too large.
  static std::shared_ptr<const SignalResampler> find(const SignalRates& rates);
  explicit SignalResampler(const SignalRates& rates);

  // The number of outputs whose positions can be computed: resample() takes no others.
  int64_t most_outputs() const { return most_outputs_; }
  // The inputs that output `i` depends on: [first_input(i), first_input(i) + taps()).
  int64_t first_input(int64_t i) const { return signal_position(steps_, i).sample - before_; }
  // A multiple of kSignalLanes.
  int taps() const { return taps_; }

  // At least 1: so many outputs in a row have positions that are at most `samples` apart.
  int64_t outputs_within(int64_t samples) const;

  // Writes outputs [begin, begin + count) of each channel to `out`: [count, channels]. `in` holds
  // samples [in_begin, in_begin + in_count) of the signal: [in_count, channels]. All others are 0.
  void resample(const float* in, int64_t in_begin, int64_t in_count, int64_t channels,
                int64_t begin, int64_t count, float* out) const;

  // For the GPU.
  const SignalSteps& steps() const { return steps_; }
  int before() const { return before_; }
  // Weights of each phase: [phases, taps]. Without phases, weights of each node and their
  // differences to the next node: [kSignalNodes, taps / kSignalLanes, 2, kSignalLanes].
  std::span<const float> weights() const { return *weights_; }

 private:
  void resample_channels(const SignalRun& all, int64_t channels) const;

  SignalSteps steps_;
  int64_t most_outputs_ = 0;
  int before_ = 0;  // taps before the position
  int taps_ = 0;
  std::shared_ptr<const std::vector<float>> weights_;
};

// One call of the vectorized loops, in resample_signal_cpu.cpp: outputs of one channel.
struct SignalRun {
  const float* in;  // sample `in_begin`
  int64_t in_begin, in_end;
  const SignalSteps* steps;
  const float* weights;
  int before, taps;
  int64_t begin, count;
  float* out;
};
void resample_run(const SignalRun& run);

}  // namespace torchdali::kernels
