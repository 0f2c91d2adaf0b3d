// SPDX-License-Identifier: Apache-2.0
// A signal that is longer or shorter than the one it is made from, of the same pitch.
// Source of the method: Verhelst and Roelands, "An overlap-add technique based on waveform
// similarity (WSOLA) for high quality time-scale modification of speech", 1993.
//
// The output is made of segments of `overlap` frames. Segment k fades from the frames that follow
// what was used last, x[c_k], to x[q_k]. q_k is the position within `search` frames of the nominal
// one, p_k, whose frames are most similar to the former, by the sum of squared differences; of
// equal ones, that nearest to p_k. Then c_(k+1) = q_k + overlap. p_k is such that the end of the
// segment, frame (k + 1) * overlap, is made of the input at (k + 1) * overlap * rate. There are
// zeros after the end of the input.
#pragma once

#include <cstdint>
#include <span>

#include "core/audio/audio_part.h"
#include "kernels/audio_augment/time_stretch.h"

namespace torchdali {

struct Stretching {
  double rate = 1;
  int64_t frames = 0, channels = 1;  // of the input
  int64_t overlap = 1, search = 0;

  int64_t output_frames() const;
};

// The part of x[q_k] in each frame of a segment: half of a Hann window.
void make_fade(std::span<float> weights);

class StretchedSignal final : public SignalReader {
 public:
  // `in` has the channels of each frame side by side, and so has the result. Memory is scratch of
  // `ctx`.
  StretchedSignal(SampleContext& ctx, SignalReader& in, const Stretching& stretching);
  void read(float* out, int64_t count) override;

 private:
  // Frames [begin, end) of the input become those from the start of the buffer. Neither `begin` nor
  // the frames that were held before may be skipped back to.
  void hold(int64_t begin, int64_t end);
  void make_segment();
  int64_t most_similar(const kernels::StretchCandidates& candidates);

  SignalReader& in_;
  const Stretching s_;
  std::span<float> frames_, mono_;         // held; mono_ is the sum of the channels
  std::span<float> target_, mono_target_;  // frames from c_k on
  std::span<float> distances_, weights_, segment_;
  int64_t begin_ = 0, end_ = 0;  // what is held
  int64_t number_ = 0;           // of the next segment
  int64_t next_ = 0;             // c_k
  int64_t used_ = 0;             // of segment_, in frames times channels
};

}  // namespace torchdali
