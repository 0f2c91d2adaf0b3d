// SPDX-License-Identifier: Apache-2.0
// The arguments of fn.spectrogram, checked, for its CPU and GPU halves.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operator.h"
#include "kernels/audio/fft.h"
#include "kernels/audio/frames.h"

namespace torchdali {

// Immutable; any thread.
class SpectrogramArgs {
 public:
  explicit SpectrogramArgs(const OpSpec& spec);

  const kernels::Framing& framing() const { return framing_; }
  const std::vector<float>& window() const { return window_; }  // framing().length values
  bool reflects() const { return reflects_; }  // pads with mirrored samples, not with zeros
  int64_t nfft() const { return nfft_; }
  int64_t rows() const { return nfft_ / 2 + 1; }
  kernels::SpectrumKind kind() const { return kind_; }
  bool time_first() const { return time_first_; }

  // Checks an input, and returns its number of samples.
  int64_t samples(const SampleView& in) const;
  // The number of frames of a signal. Raises kValue if there is none.
  int64_t frames(int64_t samples) const;
  Shape output_shape(int64_t frames) const {
    return time_first_ ? Shape{frames, rows()} : Shape{rows(), frames};
  }
  Layout output_layout() const { return time_first_ ? "tf" : "ft"; }

 private:
  kernels::Framing framing_;
  std::vector<float> window_;
  bool reflects_ = false;
  int64_t nfft_ = 0;
  kernels::SpectrumKind kind_ = kernels::SpectrumKind::kPower;
  bool time_first_ = false;
};

}  // namespace torchdali
