// SPDX-License-Identifier: Apache-2.0
// VideoFile: the frames of a video, by number, exact. docs/design/video.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "io/storage/input_file.h"
#include "kernels/video/picture.h"

namespace torchdali::io::video {

class StreamFacts;   // io/video/index.h
struct EncodedClip;  // io/video_clips/encoded_clip.h

struct Rational {
  int64_t num = 0, den = 1;
};

// What the file says of its video stream.
struct StreamInfo {
  std::string codec;      // FFmpeg's name: "h264"
  std::string container;  // FFmpeg's name: "mov,mp4,..."
  int width = 0, height = 0;
  int rotation = 0;       // degrees by which pictures are to be turned clockwise: 0, 90, 180, 270
  Rational time_base;     // seconds of a unit of time
  Rational average_rate;  // frames per second, as the container says; 0/1 if unknown
};

// Where frames come from.
struct OpenOptions {
  bool exact = true;       // from an index; otherwise frame numbers are estimated from the rate
  bool keep_index = true;  // read it from, and write it to, where indices are kept
};

// Immutable, and used by any number of threads.
class VideoFile {
 public:
  // `name` is for errors, and for the index. Raises kData if this is not a video, or if it is
  // broken; kUnsupported without FFmpeg, or for codecs that FFmpeg lacks.
  static std::shared_ptr<const VideoFile> open(const std::string& path, const OpenOptions& = {});
  // `bytes` must outlive the result.
  static std::shared_ptr<const VideoFile> open(std::span<const uint8_t> bytes,
                                               const OpenOptions& = {});
  VideoFile() = default;
  VideoFile(const VideoFile&) = delete;
  VideoFile& operator=(const VideoFile&) = delete;
  virtual ~VideoFile() = default;

  const StreamInfo& info() const { return info_; }
  // Number of frames.
  virtual int64_t frames() const = 0;
  // Presentation time of a frame, in units of the time base; ascending.
  virtual int64_t pts(int64_t frame) const = 0;
  // The same in seconds.
  double seconds(int64_t frame) const {
    return static_cast<double>(pts(frame)) * static_cast<double>(info_.time_base.num) /
           static_cast<double>(info_.time_base.den);
  }
  // The number of frames whose time is less than this.
  int64_t frames_before(int64_t pts) const;
  // Whether the times of all frames are equally far apart.
  virtual bool constant_rate() const = 0;

  // Decodes frames: calls use(i, picture) for frames[i], each i once, in ascending order of frames,
  // which may repeat and come in any order. The picture is valid during the call. `threads`: of the
  // decoder.
  using Use = std::function<void(size_t i, const kernels::Picture& picture)>;
  virtual void decode(std::span<const int64_t> frames, const Use& use, int threads = 1) const = 0;

  // For decoders elsewhere: facts about the stream, null if they are not known, and the packets
  // that frames are decoded from. encoded() returns "", or why it has none.
  virtual const StreamFacts* facts() const { return nullptr; }
  virtual std::string encoded(std::span<const int64_t> /*frames*/, EncodedClip& /*out*/) const {
    return "no index";
  }

 protected:
  StreamInfo info_;
};

}  // namespace torchdali::io::video
