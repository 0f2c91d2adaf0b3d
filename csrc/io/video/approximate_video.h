// SPDX-License-Identifier: Apache-2.0
// ApproximateVideo: the VideoFile without an index, whose frames are found by their time, which is
// estimated from the average rate.
#pragma once

#include <memory>

#include "io/video/file_bytes.h"
#include "io/video/index.h"
#include "io/video/video_file.h"

namespace torchdali::io::video {

class ApproximateVideo final : public VideoFile {
 public:
  explicit ApproximateVideo(std::unique_ptr<const FileBytes> bytes);

  int64_t frames() const override { return frames_; }
  int64_t pts(int64_t frame) const override;
  bool constant_rate() const override { return true; }
  void decode(std::span<const int64_t> frames, const Use& use, int threads) const override;

 private:
  std::unique_ptr<const FileBytes> bytes_;
  StreamFacts facts_;
  int64_t frames_ = 0, start_ = 0;
  double step_ = 1;  // units of time from frame to frame
};

}  // namespace torchdali::io::video
