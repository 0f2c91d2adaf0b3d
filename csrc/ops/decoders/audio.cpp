// SPDX-License-Identifier: Apache-2.0
// fn.decoders.audio: decodes audio files, or parts of them.
#include "core/argument.h"
#include "ops/decoders/audio_decoding.h"

namespace torchdali {
namespace {

class DecodeAudio final : public Operator, public MakesSignal {
 public:
  explicit DecodeAudio(const OpSpec& spec)
      : decoding_(spec),
        sample_rate_(spec, "sample_rate"),
        start_(spec, "start"),
        duration_(spec, "duration") {}

  void run(SampleContext& ctx) const override {
    const double rate = decoding_.decode(ctx, 0, file_of(ctx), part_of(ctx)).result;
    *ctx.output(1, DType::kFloat, {}).as<float>() = static_cast<float>(rate);
  }
  std::unique_ptr<SignalReader> open_signal(SampleContext& ctx) const override {
    return decoding_.open_signal(file_of(ctx), part_of(ctx));
  }

 private:
  static std::span<const uint8_t> file_of(const SampleContext& ctx) {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8 && in.shape.ndim() == 1,
                         "takes encoded audio, 1-D tensors of uint8, got ", dtype_name(in.dtype),
                         " of shape ", in.shape);
    return {in.as<const uint8_t>(), static_cast<size_t>(in.volume())};
  }
  AudioPart part_of(const SampleContext& ctx) const {
    AudioPart part{.start = start_(ctx), .sample_rate = sample_rate_(ctx)};
    if (duration_.defined()) part.duration = duration_(ctx);
    return part;
  }

  AudioDecoding decoding_;
  Arg<float> sample_rate_;
  Arg<double> start_, duration_;
};

TORCHDALI_OPERATOR("decoders.audio")
    .doc(
        "Decodes audio files: WAV and FLAC; with libsndfile, if it is installed, also Ogg Vorbis, "
        "Opus, MP3, AIFF and others. `start` and `duration` decode a part of the file, at little "
        "more "
        "than its share of the cost.")
    .input("data", "Encoded audio files, uint8, 1-D.")
    .output("audio", "Samples: [frames, channels], or [frames] with `downmix`.")
    .output("sample_rate", "Frames per second of the audio, float32, a scalar.")
    .with(audio_decoding_args)
    .arg("sample_rate", 0.0f, "Frames per second of the result; 0 keeps those of the file.",
         Arity::kPerSample)
    .arg("start", 0.0,
         "Where the part begins, in seconds, rounded to the nearest frame of the file. It is an "
         "error if it is after the end.",
         Arity::kPerSample)
    .optional_arg("duration", ArgType::kFloat,
                  "Length of the part, in seconds, rounded to the nearest number of frames of the "
                  "file; the part is shorter if the file ends before. By default up to the end.",
                  Arity::kPerSample)
    .audio_role(AudioRole::kDecoder)
    .cpu<DecodeAudio>();

}  // namespace
}  // namespace torchdali
