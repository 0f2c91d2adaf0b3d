// SPDX-License-Identifier: Apache-2.0
// Encoded audio: WAV files are decoded here, other files by libsndfile, if it is found at run time.
// docs/design/audio.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace torchdali::io {

// A frame of a file is one sample of each channel.
struct AudioInfo {
  int64_t frames = 0;
  int channels = 0;
  int64_t rate = 0;    // frames per second
  std::string format;  // for errors: "WAV, 16-bit PCM"
};

// A file that is decoded in order. One thread.
class AudioReader {
 public:
  AudioReader(const AudioReader&) = delete;
  AudioReader& operator=(const AudioReader&) = delete;
  virtual ~AudioReader() = default;
  const AudioInfo& info() const { return info_; }
  // The frame that is read next.
  virtual void seek(int64_t frame) = 0;
  // Writes the next `frames` frames, channels interleaved. There are that many left according to
  // info(); raises kData if the file ends before. Floats are in [-1, 1]; integers have the full
  // range of their type.
  virtual void read(float* out, int64_t frames) = 0;
  virtual void read(int16_t* out, int64_t frames) = 0;
  virtual void read(int32_t* out, int64_t frames) = 0;
  // As read(float*), with the mean of the channels. `out` has one value for each frame.
  virtual void read_mono(float* out, int64_t frames);

 protected:
  AudioReader() = default;
  AudioInfo info_;
};

// Reads the header. Raises kData if the bytes are not an audio file, or its header is broken or
// claims a size that a file of this length cannot contain; kUnsupported for formats that are
// recognized but not decoded. A WAV file that is truncated is as long as its data. `bytes` must
// outlive the reader.
std::unique_ptr<AudioReader> open_audio(std::span<const uint8_t> bytes);

}  // namespace torchdali::io
