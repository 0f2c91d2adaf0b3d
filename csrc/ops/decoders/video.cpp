// SPDX-License-Identifier: Apache-2.0
// fn.decoders.video: frames of encoded videos.
#include "core/argument.h"
#include "ops/decoders/video_frames.h"

namespace torchdali {
namespace {

class DecodeVideo final : public Operator {
 public:
  explicit DecodeVideo(const OpSpec& spec)
      : choice_(spec),
        exact_(spec.get<bool>("build_index")),
        upright_(spec.get<bool>("adjust_orientation")) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8 && in.shape.ndim() == 1,
                         "takes encoded videos, 1-D tensors of uint8, got ", dtype_name(in.dtype),
                         " of shape ", in.shape);
    const auto video = io::video::VideoFile::open(
        std::span(in.as<const uint8_t>(), static_cast<size_t>(in.volume())), {.exact = exact_});
    const std::vector<int64_t> frames = choice_(ctx, video->frames());
    const Shape frame = frame_shape(*video, upright_);
    auto* out =
        ctx.output(0, DType::kUInt8,
                   {static_cast<int64_t>(frames.size()), frame[0], frame[1], frame[2]}, "FHWC")
            .as<uint8_t>();
    decode_frames(*video, frames, upright_, kernels::PixelOutput::kRGB, out);
    const int64_t pixels = frame[0] * frame[1];
    for (size_t i = 0; i < frames.size(); ++i)
      if (frames[i] < 0) choice_.fill(out + static_cast<int64_t>(i) * pixels * 3, pixels);
  }

 private:
  FrameChoice choice_;
  bool exact_, upright_;
};

TORCHDALI_OPERATOR("decoders.video")
    .doc(
        "Decodes videos, or chosen frames of them, to RGB, with FFmpeg's libraries: whatever "
        "containers and codecs the installed ones know. The frames are exact, also with variable "
        "rates, B-frames and cut files; only the packets that they depend on are decoded. "
        "`device=\"mixed\"` decodes on the CPU, too, and copies the frames to the GPU.")
    .input("encoded", "Encoded video files, uint8, 1-D.")
    .output("video", "Frames, uint8, layout \"FHWC\", RGB.")
    .with(frame_choice_args)
    .arg("build_index", true,
         "Look at all packets first, which makes the numbers of frames exact. Otherwise frames are "
         "found by their time, and the average rate that the file claims; that is faster for "
         "long videos of which little is decoded.")
    .arg("adjust_orientation", true,
         "Turn the frames by the rotation that the file asks for, as players do. DALI does not. "
         "torchdali only.")
    .arg("affine", true, "For DALI's threads that feed the GPU's decoder. Has no effect.")
    .mixed()
    .cpu<DecodeVideo>();

}  // namespace
}  // namespace torchdali
