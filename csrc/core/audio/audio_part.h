// SPDX-License-Identifier: Apache-2.0
// The interfaces of operators that can be fused into a chain over one clip, without whole signals
// or spectrograms between them (executor/chain/audio_chain.h, docs/design/audio.md). A chain is a
// row of readers, each of which reads from the one before.
#pragma once

#include <cstdint>
#include <memory>

#include "core/audio/frame_lanes.h"
#include "core/operator.h"

namespace torchdali {

// A signal of the current sample, read in order: float32, one channel. One worker thread.
class SignalReader {
 public:
  explicit SignalReader(int64_t length) : length_(length) {}
  SignalReader(const SignalReader&) = delete;
  SignalReader& operator=(const SignalReader&) = delete;
  virtual ~SignalReader() = default;
  // In samples.
  int64_t length() const { return length_; }
  // Writes the next `count` samples. There are that many left.
  virtual void read(float* out, int64_t count) = 0;

 protected:
  void set_length(int64_t length) { length_ = length; }

 private:
  int64_t length_;
};

// The columns of a spectrogram, or of features computed from one, read in order: float32. One
// worker thread.
class FrameReader {
 public:
  FrameReader(int64_t rows, int64_t frames) : rows_(rows), frames_(frames) {}
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  virtual ~FrameReader() = default;
  // The number of values of a frame: frequencies, filters or coefficients.
  int64_t rows() const { return rows_; }
  int64_t frames() const { return frames_; }
  // Writes the next kFrameLanes frames, or those that are left, and anything finite in the lanes
  // after them: tile[row * kFrameLanes + lane]. The tile is 64-byte aligned.
  virtual void read(float* tile) = 0;
  // Completes the values when all frames were read and stored. `values`: as the output has them,
  // in any order.
  virtual void finish(float* /*values*/, int64_t /*count*/) {}

 private:
  int64_t rows_, frames_;
};

// AudioRole::kDecoder.
class MakesSignal {
 public:
  virtual ~MakesSignal() = default;
  // Null if the output of this sample is no signal as a SignalReader has it.
  virtual std::unique_ptr<SignalReader> open_signal(SampleContext& ctx) const = 0;
};

// AudioRole::kSignal. `in` outlives the result.
class FiltersSignal {
 public:
  virtual ~FiltersSignal() = default;
  // Null if the output of this sample is no signal as a SignalReader has it. Reads nothing then.
  virtual std::unique_ptr<SignalReader> filter_signal(SampleContext& ctx,
                                                      SignalReader& in) const = 0;
};

class WritesFrames {
 public:
  virtual ~WritesFrames() = default;
  // Allocates output 0 for all frames of `in`, writes them, and completes them. Layout "tf" if
  // `time_first`, else "ft".
  virtual void write_frames(SampleContext& ctx, FrameReader& in, bool time_first) const = 0;
};

// AudioRole::kSpectrum. `in` outlives the result.
class MakesFrames : public WritesFrames {
 public:
  virtual std::unique_ptr<FrameReader> make_frames(SampleContext& ctx, SignalReader& in) const = 0;
  // Whether the output has the layout "tf" instead of "ft".
  virtual bool time_first() const = 0;
};

// AudioRole::kFrames: each frame of the output depends on the same frame of the input. `in`
// outlives the result.
class FiltersFrames : public WritesFrames {
 public:
  // Null if frames of this layout ("tf" if `time_first`, else "ft") are not filtered one by one.
  // Reads nothing then.
  virtual std::unique_ptr<FrameReader> filter_frames(SampleContext& ctx, FrameReader& in,
                                                     bool time_first) const = 0;
  // Whether values are complete only after FrameReader::finish(). Constant.
  virtual bool needs_finish() const { return false; }
};

}  // namespace torchdali
