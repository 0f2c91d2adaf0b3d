// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/video/video_reader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "io/records/parallel_files.h"
#include "io/records/progress.h"
#include "io/storage/input_file.h"
#include "ops/decoders/video_frames.h"

namespace torchdali {
namespace {

constexpr size_t kOpenVideos = 128;

struct VideoBatch final : ReaderBatch, FramesOfBatch {};

io::video::OpenOptions open_options(const OpSpec& spec) {
  const auto mode = spec.get<std::string>("seek_mode");
  TORCHDALI_CHECK(mode == "exact" || mode == "approximate", "`seek_mode` is \"", mode,
                  "\", expected \"exact\" or \"approximate\"");
  return {.exact = mode == "exact"};
}

VideoOutputs::FrameNumbers frame_numbers(const OpSpec& spec) {
  const auto mode = spec.get<std::string>("enable_frame_num");
  if (mode == "none") return VideoOutputs::FrameNumbers::kNone;
  if (mode == "scalar") return VideoOutputs::FrameNumbers::kFirst;
  if (mode == "sequence") return VideoOutputs::FrameNumbers::kAll;
  raise(ErrorKind::kValue, "`enable_frame_num` is \"", mode,
        "\", expected \"none\", \"scalar\" or \"sequence\"");
}

}  // namespace

VideoOutputs::VideoOutputs(const OpSpec& spec)
    : labels(has_labels(spec)),
      numbers(frame_numbers(spec)),
      timestamps(spec.get<bool>("enable_timestamps")) {}

VideoReader::VideoReader(const OpSpec& spec, VideoReaderOptions options)
    : Reader(spec),
      options_(std::move(options)),
      outputs_(spec),
      packer_(VideoPacker::of(spec)),
      leaves_frames_(spec.leaves_frames),
      upright_(spec.get<bool>("adjust_orientation")),
      tolerant_(spec.has("on_error")),
      decoder_threads_(std::max(1, spec.num_threads / std::max(1, spec.max_batch_size))),
      open_options_(open_options(spec)),
      open_files_(kOpenVideos),
      list_(listing_of_videos(spec)) {}

std::shared_ptr<const io::video::VideoFile> VideoReader::open_video(size_t video) const {
  std::string path;
  files_.append_path(static_cast<int64_t>(video), path);
  if (auto file = open_files_.find(path)) return file;
  return open_files_.add(path, io::video::VideoFile::open(path, open_options_));
}

size_t VideoReader::video_of(int64_t index) const {
  const auto after = std::upper_bound(clips_before_.begin(), clips_before_.end(), index);
  return static_cast<size_t>(after - clips_before_.begin() - 1);
}

// Finds the range of each video, on several threads.
void VideoReader::open_all(const std::vector<WrittenRange>& written) {
  const auto count = static_cast<size_t>(files_.size());
  ranges_.assign(count, {});
  broken_.assign(count, 0);
  io::Progress progress("indexing videos", static_cast<int64_t>(count), 0);
  io::for_each_file(count, [&](size_t i, const std::atomic<bool>& /*cancelled*/) {
    try {
      const auto file = open_video(i);
      ranges_[i] = {0, file->frames()};
      if (!written.empty()) {
        const auto [begin, end] = options_.ranges.frames_of(written[i], *file);
        ranges_[i] = {begin, end};
      }
    } catch (const Error& error) {
      const bool of_sample = error.kind() == ErrorKind::kData || error.kind() == ErrorKind::kFile;
      if (!tolerant_ || !of_sample) throw;
      broken_[i] = 1;
    }
    progress.add_file();
  });
}

int64_t VideoReader::find_samples() {
  VideoList list;
  if (list_) list = list_();  // otherwise already rejected
  list_ = nullptr;
  files_ = std::move(list.files);
  open_all(list.ranges);
  clips_before_.assign(1, 0);
  for (size_t i = 0; i < ranges_.size(); ++i)
    clips_before_.push_back(clips_before_.back() +
                            (broken_[i] != 0 ? 1 : count_clips(options_.clips, ranges_[i])));
  int64_t longest = 0;
  for (const FrameRange& range : ranges_) longest = std::max(longest, range.size());
  TORCHDALI_CHECK_KIND(kData, clips_before_.back() > 0, "no video has a sequence of ",
                       options_.clips.length, " frames: one takes up ", options_.clips.extent,
                       ", and the longest range of a video has ", longest,
                       to_fix("shorten `sequence_length` or `stride`, or pad the sequences"));
  return clips_before_.back();
}

std::unique_ptr<ReaderBatch> VideoReader::make_batch(std::span<const int64_t> indices) {
  auto batch = std::make_unique<VideoBatch>();
  batch->source = this;
  auto names = std::make_shared<SampleNames>();
  for (const int64_t index : indices) {
    const auto video = static_cast<int64_t>(video_of(index));
    names->add([&](std::string& text) { files_.append_path(video, text); });
  }
  batch->names = std::move(names);
  return batch;
}

VideoReader::Sequence VideoReader::sequence_of(const SampleContext& ctx) const {
  const int64_t index = index_of(ctx);
  Sequence sequence{.video = video_of(index), .file = nullptr, .frames = {}};
  const size_t video = sequence.video;
  sequence.file = open_video(video);
  TORCHDALI_CHECK_KIND(kData, broken_[video] == 0 && ranges_[video].end <= sequence.file->frames(),
                       "the file has changed since the reader listed the videos",
                       to_fix("build the pipeline anew"));
  clip_frames(options_.clips, ranges_[video], index - clips_before_[video], ctx.random(),
              sequence.frames);
  return sequence;
}

void VideoReader::run(SampleContext& ctx) const {
  const Sequence sequence = sequence_of(ctx);
  if (leaves_frames_) ctx.output(0, DType::kUInt8, Shape{0});
  else make_frames(ctx, sequence);
  make_outputs(ctx, *sequence.file, sequence.video, sequence.frames);
}

std::unique_ptr<FrameSource> VideoReader::open_frames(SampleContext& ctx) const {
  return open(ctx, sequence_of(ctx));
}

std::unique_ptr<FrameSource> VideoReader::open(SampleContext& ctx, const Sequence& sequence) const {
  return open(ctx, sequence.file, sequence.frames,
              {.degrees = upright_ ? sequence.file->info().rotation : 0,
               .fill = options_.fill,
               .threads = decoder_threads_});
}

std::unique_ptr<FrameSource> VideoReader::open(SampleContext& /*ctx*/,
                                               std::shared_ptr<const io::video::VideoFile> file,
                                               std::vector<int64_t> frames,
                                               SequenceFormat how) const {
  const FrameFormat& format = *plain_format();
  how.colors = format.pixels;
  how.dtype = format.dtype;
  how.scale = format.scale;
  return open_video_frames(std::move(file), std::move(frames), std::move(how));
}

void VideoReader::make_frames(SampleContext& ctx, const Sequence& sequence) const {
  const FrameFormat* format = packer_ == nullptr ? nullptr : plain_format();
  if (format != nullptr) {
    const gpu::FrameRules rules{.output = format->pixels,
                                .degrees = upright_ ? sequence.file->info().rotation : 0,
                                .dtype = format->dtype,
                                .scale = format->scale};
    if (packer_->pack(ctx, *sequence.file, sequence.frames, rules, options_.fill)) return;
  }
  output_frames(ctx, *open(ctx, sequence));
  if (packer_ != nullptr) VideoPacker::describe_pixels(ctx);
}

void VideoReader::make_outputs(SampleContext& ctx, const io::video::VideoFile& file, size_t video,
                               std::span<const int64_t> frames) const {
  int output = 1;
  const int64_t count = std::ssize(frames);
  if (outputs_.labels)
    *ctx.output(output++, DType::kInt32, options_.of_number).as<int32_t>() =
        files_.label(static_cast<int64_t>(video));
  if (outputs_.numbers == VideoOutputs::FrameNumbers::kFirst)
    *ctx.output(output++, DType::kInt32, options_.of_number).as<int32_t>() =
        static_cast<int32_t>(frames.front());
  if (outputs_.numbers == VideoOutputs::FrameNumbers::kAll)
    std::transform(frames.begin(), frames.end(),
                   ctx.output(output++, DType::kInt32, Shape{count}).as<int32_t>(),
                   [](int64_t frame) { return static_cast<int32_t>(frame); });
  if (outputs_.timestamps)
    std::transform(frames.begin(), frames.end(),
                   ctx.output(output++, DType::kFloat64, Shape{count}).as<double>(),
                   [&file](int64_t frame) { return frame < 0 ? -1.0 : file.seconds(frame); });
}

SchemaBuilder& add_video_reader_args(SchemaBuilder& schema) {
  return schema.output("frames", "The frames, layout \"FHWC\".")
      .output("label", "With `file_root`, `file_list` or `labels`: the label; int32.")
      .output(
          "frame_num",
          "With `enable_frame_num`: the number of the first frame in its video, int32; or those of "
          "all frames, int32 [F]. -1: padding.")
      .output("timestamps",
              "With `enable_timestamps`: the presentation times of the frames in seconds; float64 "
              "[F]. -1: padding.")
      .num_outputs([](const OpSpec& spec) { return VideoOutputs(spec).count(); })
      .with(add_video_list_args)
      .with(add_clip_args)
      .arg("enable_frame_num", "none",
           "Output of frame numbers, from 0: \"none\", \"scalar\" (of the first frame of a "
           "sequence; True means the same) or \"sequence\" (of all).")
      .arg("enable_timestamps", false, "Output the presentation times of frames.")
      .arg("seek_mode", "exact",
           "How frames are found. \"exact\": by the presentation times of all frames, for which "
           "each file is indexed once. \"approximate\": by the average frame rate, without an "
           "index; wrong where frames are not equally far apart. torchdali only.")
      .arg("adjust_orientation", true,
           "Turn the frames by the rotation that the file asks for, as players do. DALI does not. "
           "torchdali only.")
      .with(reader_args);
}

SchemaBuilder& make_host_part(SchemaBuilder& schema) {
  return schema.output("description", "What the GPU part is to do, for the host.")
      .num_outputs([](const OpSpec& spec) { return VideoOutputs(spec).count() + 1; })
      .with(add_nvdec_arg)
      .hidden();
}

}  // namespace torchdali
