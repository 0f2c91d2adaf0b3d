// SPDX-License-Identifier: Apache-2.0
// What the kernels of spectrograms read: frames of a signal, their spectra, and what is made of
// these: bands of a filter bank, decibels.
#pragma once

#include <cstdint>

#include "kernels/audio/block_fft.h"
#include "kernels/audio_features/decibels.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// `in` is float[samples], `out` float[rows][frames], or float[frames][rows] if `time_first`.
struct SpectrogramTask : TaskBase {
  int64_t samples = 0, frames = 0, first = 0, step = 0;  // frame f begins at first + f * step
  int32_t window_length = 0, nfft = 0;
  BlobOffset window = 0;    // float[window_length]
  bool reflects = false;    // pads with mirrored samples, not with zeros
  bool magnitudes = false;  // not their squares
  bool time_first = false;
  int32_t rows = 0;  // of the output: nfft / 2 + 1, or the number of filters

  // Of SpectrogramKernel.
  FftPlan plan;  // for pairs of samples, if nfft is even
  int32_t frames_per_block = 1;
  BlobOffset twiddles = 0;  // Complex[]: fft_twiddles()
  BlobOffset roots = 0;     // Complex[nfft / 2 + 1]: exp(-2 * pi * i * k / nfft)
  bool filters = false;     // of a filter bank: kernels::MelBank
  BlobOffset start = 0, rising = 0, falling = 0;  // its lists
  bool decibels = false;
  // Decibels relative to the largest value of the sample, which are not computed: `maxima` gets the
  // largest value of each block, or 0 if it is negative, for RelativeDecibelsKernel.
  bool relative = false;
  kernels::DecibelScale scale;
  float* maxima = nullptr;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(maxima);
  }
  TORCHDALI_HOST_DEVICE bool is_packed() const { return nfft % 2 == 0; }
  TORCHDALI_HOST_DEVICE int32_t bins() const { return nfft / 2 + 1; }
  // The floats of a buffer for one frame.
  TORCHDALI_HOST_DEVICE int32_t buffer_floats() const {
    const int values = 2 * padded(plan.size), powers = power_stride() + 1;
    return values > powers ? values : powers;
  }
  // From the powers of one frame to those of the next one: odd, so that threads that read the same
  // bin of consecutive frames use different banks.
  TORCHDALI_HOST_DEVICE int32_t power_stride() const { return bins() | 1; }
};

// Replaces the values in `out`, made by a SpectrogramTask, by decibels relative to the largest one.
struct RelativeDecibelsTask : TaskBase {
  int64_t values = 0;
  const float* maxima = nullptr;
  int64_t num_maxima = 0;
  kernels::DecibelScale scale;  // without a reference

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(maxima);
  }
};

// A frame of a signal, multiplied with the window.
class WindowedFrame {
 public:
  TORCHDALI_HOST_DEVICE WindowedFrame(const SpectrogramTask& task, const void* blob, int64_t frame)
      : in_(static_cast<const float*>(task.in)),
        window_(list_of<float>(blob, task.window)),
        begin_(task.first + frame * task.step),
        samples_(task.samples),
        length_(task.window_length),
        whole_(begin_ >= 0 && begin_ + length_ <= samples_ ? in_ + begin_ : nullptr),
        reflects_(task.reflects) {}

  // 0 after the end of the window.
  TORCHDALI_HOST_DEVICE float operator[](int i) const {
    if (i >= length_) return 0;
    return window_[i] * (whole_ != nullptr ? whole_[i] : sample(begin_ + i));
  }

 private:
  TORCHDALI_HOST_DEVICE float sample(int64_t i) const {
    if (i < 0 || i >= samples_) {
      if (!reflects_ || samples_ == 0) return 0;
      i = reflected(i);
    }
    return in_[i];
  }
  // Mirrored at the first and the last sample, which are not repeated.
  TORCHDALI_HOST_DEVICE int64_t reflected(int64_t i) const {
    if (samples_ == 1) return 0;
    const int64_t period = 2 * (samples_ - 1);
    i %= period;
    if (i < 0) i += period;
    return i < samples_ ? i : period - i;
  }

  const float* in_;
  const float* window_;
  int64_t begin_, samples_;
  int length_;
  const float* whole_;  // unless null: the frame, which is inside the signal
  bool reflects_;
};

}  // namespace torchdali::gpu
