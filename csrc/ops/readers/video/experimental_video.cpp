// SPDX-License-Identifier: Apache-2.0
// fn.experimental.readers.video: fn.readers.video with other arguments for ranges and padding.
#include "core/operator.h"
#include "ops/decoders/frame_padding.h"
#include "ops/readers/video/video_reader.h"

namespace torchdali {
namespace {

RangeRules range_rules(const OpSpec& spec) {
  RangeRules rules{.include_end = spec.get<bool>("file_list_include_end")};
  const auto format = spec.get<std::string>("file_list_format");
  TORCHDALI_CHECK(format == "frames" || format == "timestamps", "`file_list_format` is \"", format,
                  "\", expected \"frames\" or \"timestamps\"");
  rules.frames = format == "frames";
  const auto rounding = spec.get<std::string>("file_list_rounding");
  using Rounding = RangeRules::Rounding;
  if (rounding == "start_down_end_up") rules.start = Rounding::kDown, rules.end = Rounding::kUp;
  else if (rounding == "start_up_end_down")
    rules.start = Rounding::kUp, rules.end = Rounding::kDown;
  else if (rounding == "all_down") rules.start = rules.end = Rounding::kDown;
  else if (rounding == "all_up") rules.start = rules.end = Rounding::kUp;
  else
    raise(ErrorKind::kValue, "`file_list_rounding` is \"", rounding,
          "\", expected \"start_down_end_up\", \"start_up_end_down\", \"all_down\" or \"all_up\"");
  return rules;
}

VideoReaderOptions experimental_options(const OpSpec& spec) {
  VideoReaderOptions options{.clips = clip_rules(spec),
                             .ranges = range_rules(spec),
                             .fill = fill_color(spec.get<std::vector<int64_t>>("fill_value"),
                                                static_cast<size_t>(FrameFormat(spec).channels)),
                             .of_number = Shape{}};                    // as in DALI
  options.clips.extent = options.clips.length * options.clips.stride;  // as in DALI 1.35
  const PadMode& padding = pad_mode_of(spec.get<std::string>("pad_mode"));
  options.clips.pads = padding.pads;
  options.clips.border = padding.border;
  options.clips.uniform = spec.get<bool>("uniform_sample");
  for (const char* name : {"stride", "step", "clips_per_video", "jitter", "pad_mode"})
    TORCHDALI_CHECK(!options.clips.uniform || !spec.has(name), "`uniform_sample` and `", name,
                    "` exclude each other", to_fix("leave out `", name, "`"));
  return options;
}

class ExperimentalVideoReader : public VideoReader {
 public:
  explicit ExperimentalVideoReader(const OpSpec& spec)
      : VideoReader(spec, experimental_options(spec)), format_(spec) {
    if (!spec.get<bool>("lazy_init")) prepare();
  }

 private:
  const FrameFormat* plain_format() const override { return &format_; }
  FrameFormat format_;
};

SchemaBuilder& add_experimental_video_args(SchemaBuilder& schema) {
  return schema.with(add_video_reader_args)
      .arg("image_type", ImageType::kRGB,
           "Color space of the frames: RGB, YCbCr (BT.601 of limited range) or GRAY.")
      .arg("file_list_format", "timestamps",
           "What the numbers in `file_list` are: \"timestamps\" (seconds) or \"frames\", from 0.")
      .arg("file_list_rounding", "start_down_end_up",
           "Of times between two frames, to which of them the start and the end are rounded: "
           "\"start_down_end_up\", \"start_up_end_down\", \"all_down\" or \"all_up\".")
      .arg("file_list_include_end", true, "The frame of the end is part of the range.")
      .arg(
          "pad_mode", "none",
          "What completes a sequence that the range has not enough frames for. \"none\": there is "
          "no such sequence. \"constant\": frames of `fill_value`. \"edge\" (\"repeat\"): the last "
          "frame. \"reflect_1001\" (\"symmetric\"): the frames backwards from the last one. "
          "\"reflect_101\" (\"reflect\"): those from the one before it. Unless it is \"none\", "
          "sequences begin at all multiples of `step`.")
      .arg("fill_value", std::vector<int64_t>{0},
           "Values of the channels of padded frames, or one for all; 0 to 255.")
      .arg("uniform_sample", false,
           "Take one sequence of each range, with frames equally far apart from its first to its "
           "last; if it has fewer than `sequence_length`, some repeat. Excludes `stride` and "
           "`step`.");
}

TORCHDALI_OPERATOR("experimental.readers.video")
    .doc(
        "Reads sequences of frames from videos: fn.readers.video with other arguments for ranges "
        "and padding.\n\nThe defaults of `file_list` differ from fn.readers.video: the numbers are "
        "seconds, and the frame of the end is part of the range.")
    .with(add_experimental_video_args)
    .gpu_by_copy()
    .parts("host_part.experimental.readers.video", "decoders.video_device_part")
    .frames_part("source_frames")
    .cpu<ExperimentalVideoReader>();

TORCHDALI_OPERATOR("host_part.experimental.readers.video")
    .doc("The host part of experimental.readers.video with device=\"gpu\".")
    .with(add_experimental_video_args)
    .with(make_host_part)
    .cpu<ExperimentalVideoReader>();

}  // namespace
}  // namespace torchdali
