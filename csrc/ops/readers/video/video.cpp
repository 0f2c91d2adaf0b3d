// SPDX-License-Identifier: Apache-2.0
// fn.readers.video, fn.readers.video_resize: sequences of frames of videos.
#include <utility>

#include "core/operator.h"
#include "ops/readers/video/video_reader.h"

namespace torchdali {
namespace {

VideoReaderOptions options_of(const OpSpec& spec) {
  const auto channels = static_cast<size_t>(FrameFormat(spec).channels);
  VideoReaderOptions options{
      .clips = clip_rules(spec), .ranges = {}, .fill = std::vector<uint8_t>(channels)};
  options.clips.pads = spec.get<bool>("pad_sequences");
  options.clips.one_padded = true;
  using Rounding = RangeRules::Rounding;
  const bool before = spec.get<bool>("file_list_include_preceding_frame");
  options.ranges = {.frames = spec.get<bool>("file_list_frame_num"),
                    .start = before ? Rounding::kDown : Rounding::kUp,
                    .end = before ? Rounding::kUp : Rounding::kDown};
  return options;
}

class PlainVideoReader : public VideoReader {
 public:
  explicit PlainVideoReader(const OpSpec& spec)
      : VideoReader(spec, options_of(spec)), format_(spec) {
    if (!spec.get<bool>("lazy_init")) prepare();
  }

 private:
  const FrameFormat* plain_format() const override { return &format_; }
  FrameFormat format_;
};

class ResizingVideoReader : public VideoReader {
 public:
  explicit ResizingVideoReader(const OpSpec& spec)
      : VideoReader(spec, options_of(spec)), format_(spec), resize_(spec), filters_(spec) {
    if (!spec.get<bool>("lazy_init")) prepare();
  }

 protected:
  std::unique_ptr<FrameSource> open(SampleContext& ctx,
                                    std::shared_ptr<const io::video::VideoFile> file,
                                    std::vector<int64_t> frames,
                                    SequenceFormat how) const override {
    return open_resized_frames(ctx, std::move(file), std::move(frames), std::move(how), format_,
                               resize_, filters_);
  }
  FrameFormat format_;

 private:
  ResizeArgs resize_;
  ResampleArgs filters_;
};

// One whose frames fn.resize resizes on the GPU: they are as they are, and bytes.
class ResizedLaterVideoReader : public ResizingVideoReader {
 public:
  explicit ResizedLaterVideoReader(const OpSpec& spec)
      : ResizingVideoReader(spec), bytes_(format_) {
    bytes_.dtype = DType::kUInt8;
    bytes_.scale = 1;
  }

 private:
  std::unique_ptr<FrameSource> open(SampleContext& ctx,
                                    std::shared_ptr<const io::video::VideoFile> file,
                                    std::vector<int64_t> frames,
                                    SequenceFormat how) const override {
    return VideoReader::open(ctx, std::move(file), std::move(frames), std::move(how));
  }
  const FrameFormat* plain_format() const override { return &bytes_; }
  FrameFormat bytes_;
};

// What the GPU does with them.
std::vector<NextPart> resize_parts(const OpSpec& spec) {
  std::vector<NextPart> parts = {{.op = "resize"}};
  if (const float scale = FrameFormat(spec).scale; scale != 1)
    parts.push_back({.op = "brightness", .args = {{"brightness", double{scale}}}});
  return parts;
}

SchemaBuilder& add_video_args(SchemaBuilder& schema) {
  return schema.with(add_video_reader_args)
      .with(add_frame_format_args)
      .arg("dtype", DType::kUInt8, "Element type of the frames: uint8, or float (from 0 to 255).")
      .arg("pad_sequences", false,
           "A last sequence that the video has not enough frames for is completed by frames of "
           "zeros.")
      .arg("file_list_frame_num", false,
           "The numbers in `file_list` are frames, from 0, the start inclusive and the end "
           "exclusive; not seconds.")
      .arg("file_list_include_preceding_frame", false,
           "Of times between two frames: the start is rounded down to a frame and the end up, not "
           "the other way around. The frame of the end is not part of the range.")
      .arg("skip_vfr_check", false,
           "No effect: frames of a variable rate are found exactly, so there is no such check.")
      .arg("additional_decode_surfaces", 2, "No effect: it belongs to DALI's GPU decoder.");
}

constexpr const char* kDoc =
    "The videos come from `filenames`, from `file_root` (folders are labels), or from `file_list`, "
    "which may have a range for each. Frames are found by their presentation times, so that they "
    "are exact for variable frame rates too. Files are decoded on the CPU by FFmpeg's libraries, "
    "which are loaded when the reader is made; docs/guide/video.md has more.";
constexpr const char* kOnGpu =
    " With device=\"gpu\", the CPU decodes and frames are copied, unless the environment variable "
    "TORCHDALI_NVDEC asks for the GPU's decoder.";

TORCHDALI_OPERATOR("readers.video")
    .doc(std::string("Reads sequences of frames from videos.\n\n") + kDoc + kOnGpu)
    .with(add_video_args)
    .gpu_by_copy()
    .parts("host_part.readers.video", "decoders.video_device_part")
    .frames_part("source_frames")
    .cpu<PlainVideoReader>();

TORCHDALI_OPERATOR("host_part.readers.video")
    .doc("The host part of readers.video with device=\"gpu\".")
    .with(add_video_args)
    .with(make_host_part)
    .cpu<PlainVideoReader>();

SchemaBuilder& add_resizing_video_args(SchemaBuilder& schema) {
  return schema.with(add_video_args).with(add_resize_args).with(add_filter_args);
}

TORCHDALI_OPERATOR("readers.video_resize")
    .doc(std::string("Reads sequences of frames from videos, and resizes them as fn.resize does. "
                     "On the CPU, the whole frames are never stored.\n\n") +
         kDoc + kOnGpu)
    .with(add_resizing_video_args)
    .gpu_by_copy()
    .parts("host_part.readers.video_resize", "decoders.video_device_part")
    .next_parts(resize_parts)
    .frames_part("source_frames")
    .cpu<ResizingVideoReader>();

TORCHDALI_OPERATOR("host_part.readers.video_resize")
    .doc("The host part of readers.video_resize with device=\"gpu\".")
    .with(add_resizing_video_args)
    .with(make_host_part)
    .cpu<ResizedLaterVideoReader>();

}  // namespace
}  // namespace torchdali
