// SPDX-License-Identifier: Apache-2.0
// Resampling of signals by windowed sinc functions: out[i] = sum over k of w(k - i * step) * in[k].
// Signals are silent before their start and after their end. docs/design/audio.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace torchdali::kernels {

// How a signal changes its rate.
struct SignalRates {
  double in = 1, out = 1;  // > 0, finite; only the ratio matters
  double quality = 50;     // 0 to 100
  // Whether frequencies that the output cannot have are removed. Without it, they are mirrored, as
  // by DALI.
  bool antialias = false;
};

// The tables for one SignalRates, which never change.
class SignalResampler {
 public:
  // Shared: tables that were used lately are kept.
  static std::shared_ptr<const SignalResampler> find(const SignalRates& rates);
  explicit SignalResampler(const SignalRates& rates);
  ~SignalResampler();

  // The inputs that output `i` depends on: [first_input(i), first_input(i) + taps()).
  int64_t first_input(int64_t i) const;
  int taps() const;

  // Writes outputs [begin, begin + count) of each channel to `out`: [count, channels]. `in` holds
  // samples [in_begin, in_begin + in_count) of the signal: [in_count, channels]. All others are 0.
  void resample(const float* in, int64_t in_begin, int64_t in_count, int64_t channels,
                int64_t begin, int64_t count, float* out) const;

 private:
  struct Tables;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace torchdali::kernels
