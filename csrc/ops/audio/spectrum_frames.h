// SPDX-License-Identifier: Apache-2.0
// The spectra of the frames of a signal, 16 at a time: frames, window, transform.
#pragma once

#include <span>

#include "core/audio/audio_part.h"
#include "kernels/audio/fft.h"
#include "ops/audio/padded_signal.h"
#include "ops/audio/spectrogram_args.h"

namespace torchdali {

// `args`, `fft` and `in` outlive it. Its memory is scratch of the sample.
class SpectrumFrames final : public FrameReader {
 public:
  SpectrumFrames(SampleContext& ctx, const SpectrogramArgs& args, const kernels::RealFft& fft,
                 SignalReader& in);
  void read(float* tile) override;

 private:
  void read_signal();

  const SpectrogramArgs& args_;
  const kernels::RealFft& fft_;
  PaddedSignal in_;
  const int64_t step_;  // between frames in signal_: frames that do not touch have no gaps there
  std::span<float> signal_, work_;
  bool begun_ = false;
};

}  // namespace torchdali
