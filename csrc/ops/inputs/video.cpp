// SPDX-License-Identifier: Apache-2.0
// fn.experimental.inputs.video: the sequences of encoded videos that the user feeds.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/source.h"
#include "ops/decoders/device_video.h"
#include "ops/decoders/video_frames.h"

namespace torchdali {
namespace {

using io::video::VideoFile;

// A video, and the owner of its bytes.
struct OpenVideo {
  std::unique_ptr<ExternalBatch> fed;
  std::shared_ptr<const VideoFile> file;
};

struct SequenceBatch final : ExternalBatch, FramesOfBatch {
  std::shared_ptr<const OpenVideo> video;
  int64_t first_frame = 0;
};

class FedVideo final : public FedData {
 public:
  FedVideo(OpenVideo video, int64_t length, int batch_size)
      : video_(std::make_shared<const OpenVideo>(std::move(video))),
        length_(length),
        batch_size_(batch_size) {}

  int64_t batches() const override { return parts(sequences(), batch_size_); }
  std::unique_ptr<ExternalBatch> batch(int64_t index) const override {
    auto batch = std::make_unique<SequenceBatch>();
    const int64_t first = index * batch_size_;
    batch->size = static_cast<int>(std::min<int64_t>(batch_size_, sequences() - first));
    batch->samples.assign(static_cast<size_t>(batch->size), video_->fed->samples[0]);
    batch->video = video_;
    batch->first_frame = first * length_;
    return batch;
  }

 private:
  static int64_t parts(int64_t whole, int64_t size) { return (whole - 1) / size + 1; }
  int64_t sequences() const { return parts(video_->file->frames(), length_); }

  std::shared_ptr<const OpenVideo> video_;
  int64_t length_;
  int batch_size_;
};

class VideoInput : public ExternalSource, public MakesSequence {
 public:
  explicit VideoInput(const OpSpec& spec)
      : name_(spec.name),
        batch_size_(spec.max_batch_size),
        decoder_threads_(std::max(1, spec.num_threads / std::max(1, spec.max_batch_size))),
        length_(spec.get<int64_t>("sequence_length")),
        upright_(spec.get<bool>("adjust_orientation")),
        leaves_frames_(spec.leaves_frames) {
    const auto policy = spec.get<std::string>("last_sequence_policy");
    TORCHDALI_CHECK(length_ > 0, "`sequence_length` is ", length_, ", expected 1 or more");
    TORCHDALI_CHECK(policy == "partial" || policy == "pad", "`last_sequence_policy` is \"", policy,
                    "\", expected \"partial\" or \"pad\"");
    pads_ = policy == "pad";
  }

  // Batches are made by divide(), except those whose samples have all failed.
  void accept(ExternalBatch& batch) const override {
    if (auto* sequences = dynamic_cast<SequenceBatch*>(&batch)) sequences->source = this;
  }
  std::shared_ptr<const FedData> divide(std::unique_ptr<ExternalBatch> fed) const override {
    TORCHDALI_CHECK(fed->size == 1, "takes one video at a time, a batch of one sample, got ",
                    fed->size, to_fix("feed the videos one after another; they are queued"));
    const SampleView& bytes = fed->samples[0];
    TORCHDALI_CHECK_KIND(kType, bytes.dtype == DType::kUInt8 && bytes.shape.ndim() == 1,
                         "takes an encoded video, a 1-D tensor of uint8, got ",
                         dtype_name(bytes.dtype), " of shape ", bytes.shape);
    auto file =
        VideoFile::open(std::span(bytes.as<const uint8_t>(), static_cast<size_t>(bytes.volume())));
    TORCHDALI_CHECK_KIND(kData, file->frames() > 0, "the video has no frames");
    return std::make_shared<FedVideo>(OpenVideo{std::move(fed), std::move(file)}, length_,
                                      batch_size_);
  }
  std::unique_ptr<SourceBatch> next_batch(int /*max_size*/) override {
    raise(ErrorKind::kRuntime, "has no data; call Pipeline.feed_input(\"", name_,
          "\", ...) before the pipeline runs");
  }

  void run(SampleContext& ctx) const override {
    if (leaves_frames_) ctx.output(0, DType::kUInt8, Shape{0});
    else output_frames(ctx, *open_frames(ctx));
  }
  std::unique_ptr<FrameSource> open_frames(SampleContext& ctx) const override {
    return open_video_frames(ctx.source_batch<SequenceBatch>().video->file, sequence(ctx).frames,
                             {.degrees = upright_ ? sequence(ctx).file.info().rotation : 0,
                              .fill = {0},
                              .threads = decoder_threads_});
  }

 protected:
  // The frames of a sample; -1: a black one.
  struct Sequence {
    const VideoFile& file;
    std::vector<int64_t> frames = {};
  };
  Sequence sequence(const SampleContext& ctx) const {
    const auto& batch = ctx.source_batch<SequenceBatch>();
    Sequence made{*batch.video->file};
    const int64_t first = batch.first_frame + ctx.index_in_batch() * length_;
    const int64_t there = std::min(length_, made.file.frames() - first);
    made.frames.assign(static_cast<size_t>(pads_ ? length_ : there), -1);
    std::iota(made.frames.begin(), made.frames.begin() + there, first);
    return made;
  }
  bool upright() const { return upright_; }

 private:
  std::string name_;
  int batch_size_, decoder_threads_;
  int64_t length_;
  bool upright_, leaves_frames_;
  bool pads_ = false;
};

// The host part: passes on the packets of sequences that the GPU's decoder knows.
class PackVideoInput final : public VideoInput, public CountsReasons {
 public:
  explicit PackVideoInput(const OpSpec& spec) : VideoInput(spec), packer_(spec) {}
  void run(SampleContext& ctx) const override {
    const Sequence from = sequence(ctx);
    const gpu::FrameRules rules{.degrees = upright() ? from.file.info().rotation : 0};
    constexpr uint8_t kBlack[3] = {};
    if (packer_.pack(ctx, from.file, from.frames, rules, kBlack)) return;
    output_frames(ctx, *open_frames(ctx));
    VideoPacker::describe_pixels(ctx);
  }
  std::map<std::string, int64_t> counts() const override { return packer_.counts(); }

 private:
  VideoPacker packer_;
};

SchemaBuilder& add_video_input_args(SchemaBuilder& schema) {
  return schema
      .required_arg("sequence_length", ArgType::kInt, "Number of frames of a sequence, 1 or more.")
      .arg("last_sequence_policy", "partial",
           "If the video ends within a sequence: \"partial\" makes that one shorter, \"pad\" adds "
           "black frames.")
      .arg(
          "blocking", false,
          "If no video was fed, wait for another thread to call feed_input() instead of raising an "
          "error.")
      .arg(
          "no_copy", false,
          "Use the user's memory, which must not change before the frames of the video were taken. "
          "By default the file is copied when it is fed.")
      .arg("adjust_orientation", true,
           "Turn the frames by the rotation that the file asks for, as players do. DALI does not. "
           "torchdali only.")
      .arg("affine", true, "For DALI's threads that feed the GPU's decoder. Has no effect.")
      .external_source()
      .mixed();
}

TORCHDALI_OPERATOR("experimental.inputs.video")
    .doc(
        "Divides encoded videos, which Pipeline.feed_input() brings in, into sequences of frames, "
        "with FFmpeg's libraries. One video gives as many iterations as it has batches of "
        "sequences; its last batch may have fewer of them than `batch_size`, and the next video "
        "begins with a batch of its own. Videos that are fed meanwhile are queued. Unlike "
        "fn.decoders.video, it needs no memory for a whole decoded video.\n\n"
        "feed_input() takes one file at a time: a list of one 1-D array of uint8, or an array "
        "[1, bytes]. It raises an error for data that is no video. With "
        "`device=\"mixed\"`, the CPU decodes and frames are copied, unless the environment "
        "variable TORCHDALI_NVDEC asks for the GPU's decoder.")
    .output("frames", "Sequences of frames of the video, uint8, layout \"FHWC\", RGB.")
    .with(add_video_input_args)
    .parts("host_part.experimental.inputs.video", "decoders.video_device_part")
    .frames_part("source_frames")
    .cpu<VideoInput>();

TORCHDALI_OPERATOR("host_part.experimental.inputs.video")
    .doc("The host part of experimental.inputs.video with device=\"mixed\".")
    .output("data", "Decoded frames, for the GPU.")
    .output("description", "What the GPU part is to do, for the host.")
    .with(add_video_input_args)
    .with(add_nvdec_arg)
    .hidden()
    .cpu<PackVideoInput>();

}  // namespace
}  // namespace torchdali
