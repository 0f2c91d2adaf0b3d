// SPDX-License-Identifier: Apache-2.0
// fn.decoders.video: frames of encoded videos.
#include "core/argument.h"
#include "core/image/frame_source.h"
#include "ops/decoders/device_video.h"
#include "ops/decoders/video_frames.h"

namespace torchdali {
namespace {

using io::video::VideoFile;

class DecodeVideo : public Operator, public MakesSequence {
 public:
  explicit DecodeVideo(const OpSpec& spec)
      : choice_(spec),
        exact_(spec.get<bool>("build_index")),
        upright_(spec.get<bool>("adjust_orientation")) {}

  void run(SampleContext& ctx) const override {
    const auto video = open(ctx);
    decode(ctx, *video, choice_(ctx, video->frames()));
  }
  std::unique_ptr<FrameSource> open_frames(SampleContext& ctx) const override {
    auto video = open(ctx);
    std::vector<int64_t> frames = choice_(ctx, video->frames());
    const int degrees = upright_ ? video->info().rotation : 0;
    const auto color = choice_.color();
    return open_video_frames(std::move(video), std::move(frames),
                             {.degrees = degrees, .fill = {color.begin(), color.end()}});
  }

 protected:
  std::shared_ptr<const VideoFile> open(const SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8 && in.shape.ndim() == 1,
                         "takes encoded videos, 1-D tensors of uint8, got ", dtype_name(in.dtype),
                         " of shape ", in.shape);
    return VideoFile::open(std::span(in.as<const uint8_t>(), static_cast<size_t>(in.volume())),
                           {.exact = exact_});
  }
  void decode(SampleContext& ctx, const VideoFile& video,
              const std::vector<int64_t>& frames) const {
    const Shape frame = frame_shape(video, upright_);
    auto* out =
        ctx.output(0, DType::kUInt8,
                   {static_cast<int64_t>(frames.size()), frame[0], frame[1], frame[2]}, "FHWC")
            .as<uint8_t>();
    decode_frames(video, frames, upright_, kernels::PixelOutput::kRGB, out);
    const int64_t pixels = frame[0] * frame[1];
    for (size_t i = 0; i < frames.size(); ++i)
      if (frames[i] < 0) choice_.fill(out + static_cast<int64_t>(i) * pixels * 3, pixels);
  }

  FrameChoice choice_;
  bool exact_, upright_;
};

// The host part: passes on the packets of videos that the GPU's decoder knows.
class PackVideo final : public DecodeVideo, public CountsReasons {
 public:
  explicit PackVideo(const OpSpec& spec) : DecodeVideo(spec), packer_(spec) {}
  void run(SampleContext& ctx) const override {
    const auto video = open(ctx);
    const std::vector<int64_t> frames = choice_(ctx, video->frames());
    const gpu::FrameRules rules{.degrees = upright_ ? video->info().rotation : 0};
    if (packer_.pack(ctx, *video, frames, rules, choice_.color())) return;
    decode(ctx, *video, frames);
    VideoPacker::describe_pixels(ctx);
  }
  std::map<std::string, int64_t> counts() const override { return packer_.counts(); }

 private:
  VideoPacker packer_;
};

SchemaBuilder& add_video_decoder_args(SchemaBuilder& schema) {
  return schema.with(frame_choice_args)
      .arg("build_index", true,
           "Look at all packets first, which makes the numbers of frames exact. Otherwise frames "
           "are found by their time, and the average rate that the file claims; that is faster for "
           "long videos of which little is decoded.")
      .arg("adjust_orientation", true,
           "Turn the frames by the rotation that the file asks for, as players do. DALI does not. "
           "torchdali only.")
      .arg("affine", true, "For DALI's threads that feed the GPU's decoder. Has no effect.");
}

TORCHDALI_OPERATOR("decoders.video")
    .doc(
        "Decodes videos, or chosen frames of them, to RGB, with FFmpeg's libraries: whatever "
        "containers and codecs the installed ones know. The frames are exact, also with variable "
        "rates, B-frames and cut files; only the packets that they depend on are decoded. With "
        "`device=\"mixed\"`, the CPU decodes and frames are copied, unless the environment "
        "variable TORCHDALI_NVDEC asks for the GPU's decoder (docs/guide/video.md).")
    .input("encoded", "Encoded video files, uint8, 1-D.")
    .output("video", "Frames, uint8, layout \"FHWC\", RGB.")
    .with(add_video_decoder_args)
    .mixed()
    .parts("host_part.decoders.video", "decoders.video_device_part")
    .image_role(ImageRole::kDecoder)
    .cpu<DecodeVideo>();

TORCHDALI_OPERATOR("host_part.decoders.video")
    .doc("The host part of decoders.video with device=\"mixed\".")
    .input("encoded", "Encoded video files, uint8, 1-D.")
    .output("data", "Decoded frames, for the GPU.")
    .output("description", "What the GPU part is to do, for the host.")
    .with(add_video_decoder_args)
    .with(add_nvdec_arg)
    .hidden()
    .cpu<PackVideo>();

}  // namespace
}  // namespace torchdali
