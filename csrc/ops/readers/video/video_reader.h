// SPDX-License-Identifier: Apache-2.0
// VideoReader: the common part of readers of videos. docs/design/video.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/image/frame_source.h"
#include "io/recently_used.h"
#include "io/video/video_file.h"
#include "ops/decoders/device_video.h"
#include "ops/readers/reader.h"
#include "ops/readers/video/clips.h"
#include "ops/readers/video/frame_format.h"
#include "ops/readers/video/video_list.h"

namespace torchdali {

// The second and later outputs.
struct VideoOutputs {
  enum class FrameNumbers : int8_t { kNone, kFirst, kAll };
  explicit VideoOutputs(const OpSpec& spec);
  bool labels;
  FrameNumbers numbers;
  bool timestamps;
  int count() const {
    return 1 + (labels ? 1 : 0) + (numbers != FrameNumbers::kNone ? 1 : 0) + (timestamps ? 1 : 0);
  }
};

struct VideoReaderOptions {
  ClipRules clips;
  RangeRules ranges;
  std::vector<uint8_t> fill;  // the color of padded frames
  // The shape of labels, and of the number of the first frame.
  Shape of_number = Shape{1};
};

class VideoReader : public Reader, public MakesSequence, public CountsReasons {
 public:
  void run(SampleContext& ctx) const final;
  std::unique_ptr<FrameSource> open_frames(SampleContext& ctx) const final;
  std::map<std::string, int64_t> counts() const final {
    return packer_ == nullptr ? std::map<std::string, int64_t>() : packer_->counts();
  }

 protected:
  // The derived class calls prepare(), unless `lazy_init`.
  VideoReader(const OpSpec& spec, VideoReaderOptions options);
  // What output 0 consists of, if that is frames as they are.
  virtual const FrameFormat* plain_format() const { return nullptr; }
  // The frames of output 0. `how`: without colors and type.
  virtual std::unique_ptr<FrameSource> open(SampleContext& ctx,
                                            std::shared_ptr<const io::video::VideoFile> file,
                                            std::vector<int64_t> frames, SequenceFormat how) const;

 private:
  struct Sequence {
    size_t video;
    std::shared_ptr<const io::video::VideoFile> file;
    std::vector<int64_t> frames;
  };
  // Of the current sample.
  Sequence sequence_of(const SampleContext& ctx) const;
  std::unique_ptr<FrameSource> open(SampleContext& ctx, const Sequence& sequence) const;
  // Makes output 0.
  void make_frames(SampleContext& ctx, const Sequence& sequence) const;
  int64_t find_samples() final;
  std::unique_ptr<ReaderBatch> make_batch(std::span<const int64_t> indices) final;
  // Packets are read by the decoder.
  void will_read(int64_t /*position*/, int64_t /*index*/) final {}

  void open_all(const std::vector<WrittenRange>& written);
  void make_outputs(SampleContext& ctx, const io::video::VideoFile& file, size_t video,
                    std::span<const int64_t> frames) const;
  std::shared_ptr<const io::video::VideoFile> open_video(size_t video) const;
  // The video of a sequence.
  size_t video_of(int64_t index) const;

  const VideoReaderOptions options_;
  const VideoOutputs outputs_;
  const std::unique_ptr<const VideoPacker> packer_;  // of a host part
  const bool leaves_frames_;
  const bool upright_;
  const bool tolerant_;  // of samples that fail
  const int decoder_threads_;
  const io::video::OpenOptions open_options_;
  mutable io::RecentlyUsed<io::video::VideoFile> open_files_;
  std::function<VideoList()> list_;  // released after use
  FileList files_;
  // Of each line or file.
  std::vector<FrameRange> ranges_;
  std::vector<uint8_t> broken_;        // it has one sample, which fails
  std::vector<int64_t> clips_before_;  // sequences of those before it; and, at the end, of all
};

// The arguments of VideoReader and its outputs.
SchemaBuilder& add_video_reader_args(SchemaBuilder& schema);

// The host part of a reader: its first output is for the GPU, and it has one more output.
SchemaBuilder& make_host_part(SchemaBuilder& schema);

}  // namespace torchdali
