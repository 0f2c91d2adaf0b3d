// SPDX-License-Identifier: Apache-2.0
#include "ops/decoders/audio_decoding.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "io/audio/audio_file.h"
#include "kernels/audio/pcm.h"
#include "kernels/audio/resample_signal.h"
#include "ops/audio/resampling_reader.h"

namespace torchdali {
namespace {

// A part of a file, in frames.
struct Clip {
  std::unique_ptr<io::AudioReader> reader;  // at its first frame
  int64_t frames = 0;
  double in_rate = 0, out_rate = 0;
  int64_t out_frames = 0;

  int channels() const { return reader->info().channels; }
  bool is_resampled() const { return in_rate != out_rate; }
};

// Seconds as frames, at most `most`. Raises kValue below 0.
int64_t to_frames(double seconds, int64_t rate, int64_t most, bool rounds, const char* name) {
  TORCHDALI_CHECK(seconds >= 0, "`", name, "` is ", seconds, " s, expected 0 or more");
  const double exact = seconds * static_cast<double>(rate);
  const double frames = rounds ? std::round(exact) : std::floor(exact);
  return frames < static_cast<double>(most) ? static_cast<int64_t>(frames) : most;
}

Clip open_clip(std::span<const uint8_t> file, const AudioPart& part) {
  Clip clip{.reader = io::open_audio(file)};
  const io::AudioInfo& info = clip.reader->info();
  const char* start = part.from_manifest ? "offset" : "start";
  const bool rounds = !part.from_manifest;
  const int64_t begin = to_frames(part.start, info.rate, info.frames + 1, rounds, start);
  TORCHDALI_CHECK(begin <= info.frames, "`", start, "` is ", part.start,
                  " s, but the file ends at ",
                  static_cast<double>(info.frames) / static_cast<double>(info.rate), " s");
  clip.frames = to_frames(part.duration, info.rate, info.frames - begin, rounds, "duration");
  if (begin > 0 && clip.frames > 0) clip.reader->seek(begin);
  TORCHDALI_CHECK(part.sample_rate >= 0 && std::isfinite(part.sample_rate), "`sample_rate` is ",
                  part.sample_rate, ", expected a finite number, 0 or more");
  clip.in_rate = static_cast<double>(info.rate);
  clip.out_rate = part.sample_rate > 0 ? part.sample_rate : clip.in_rate;
  clip.out_frames = clip.is_resampled() ? resampled_length(clip.frames, clip.in_rate, clip.out_rate)
                                        : clip.frames;
  return clip;
}

// Mono, resampled where the clip is.
class ClipSignal final : public SignalReader {
 public:
  ClipSignal(Clip clip, double quality, bool antialias)
      : SignalReader(clip.out_frames), clip_(std::move(clip)), source_(clip_) {
    if (clip_.is_resampled())
      resampled_ = resample_signal(source_, clip_.in_rate, clip_.out_rate, clip_.out_frames,
                                   quality, antialias);
  }
  void read(float* out, int64_t count) override {
    if (resampled_ != nullptr) resampled_->read(out, count);
    else source_.read(out, count);
  }

 private:
  class Source final : public SignalReader {
   public:
    explicit Source(const Clip& clip) : SignalReader(clip.frames), reader_(*clip.reader) {}
    void read(float* out, int64_t count) override { reader_.read_mono(out, count); }

   private:
    io::AudioReader& reader_;
  };

  Clip clip_;
  Source source_;
  std::unique_ptr<SignalReader> resampled_;
};

// Calls read(values, count) for parts of `count` values, which are converted to `out`.
template <class T, class Read>
void convert_blocks(T* out, int64_t count, Read&& read) {
  constexpr int64_t kBlock = 4096;
  alignas(64) std::array<float, kBlock> block;
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = std::min(kBlock, count - i);
    read(block.data(), n);
    kernels::from_floats(block.data(), out + i, n);
  }
}

template <class T>
void read_signal(SignalReader& signal, T* out) {
  if constexpr (std::is_same_v<T, float>) signal.read(out, signal.length());
  else
    convert_blocks(out, signal.length(),
                   [&](float* values, int64_t count) { signal.read(values, count); });
}

// Several channels, resampled.
template <class T>
void resample_clip(SampleContext& ctx, Clip& clip, double quality, bool antialias, T* out) {
  const int64_t channels = clip.channels();
  const auto in = ctx.scratch<float>(static_cast<size_t>(clip.frames * channels));
  clip.reader->read(in.data(), clip.frames);
  const auto resampler =
      find_resampler(clip.in_rate, clip.out_rate, clip.out_frames, quality, antialias);
  const int64_t values = clip.out_frames * channels;
  float* resampled;
  if constexpr (std::is_same_v<T, float>) resampled = out;
  else resampled = ctx.scratch<float>(static_cast<size_t>(values)).data();
  resampler->resample(in.data(), 0, clip.frames, channels, 0, clip.out_frames, resampled);
  if constexpr (!std::is_same_v<T, float>) kernels::from_floats(resampled, out, values);
}

template <class Fn>
void with_type(DType dtype, Fn&& fn) {
  if (dtype == DType::kInt16) fn.template operator()<int16_t>();
  else if (dtype == DType::kInt32) fn.template operator()<int32_t>();
  else fn.template operator()<float>();
}

}  // namespace

void audio_decoding_args(SchemaBuilder& schema) {
  schema
      .arg("downmix", false,
           "Whether the result is the mean of the channels, without an axis of channels.")
      .arg("dtype", DType::kFloat,
           "Element type of the audio: float32, in [-1, 1], or int16 or int32, with their full "
           "range. To a narrower integer, bits are dropped; from floats, as of Vorbis or after "
           "resampling, values are rounded and saturate.")
      .arg("quality", 50.0f,
           "Quality of resampling, from 0 to 100: 0 has 3 lobes of the sinc filter, 50 has 16, 100 "
           "has 64.")
      .with(antialias_arg);
}

AudioDecoding::AudioDecoding(const OpSpec& spec)
    : downmix_(spec.get<bool>("downmix")),
      dtype_(spec.get<DType>("dtype")),
      quality_(spec.get<double>("quality")),
      antialias_(spec.get<bool>("antialias")) {
  TORCHDALI_CHECK_KIND(
      kType, dtype_ == DType::kFloat || dtype_ == DType::kInt16 || dtype_ == DType::kInt32,
      "`dtype` is ", dtype_name(dtype_), ", expected float32, int16 or int32",
      to_fix("use fn.cast"));
  check_resampling_quality(quality_);
}

AudioRates AudioDecoding::decode(SampleContext& ctx, int output, std::span<const uint8_t> file,
                                 const AudioPart& part) const {
  Clip clip = open_clip(file, part);
  const AudioRates rates{.file = clip.in_rate, .result = clip.out_rate};
  const int64_t frames = clip.frames;
  const int channels = clip.channels();
  Shape shape = {clip.out_frames};
  if (!downmix_) shape.push_back(channels);
  void* data = ctx.output(output, dtype_, shape).data;
  with_type(dtype_, [&]<class T>() {
    auto* out = static_cast<T*>(data);
    const bool mixes = downmix_ && channels > 1;
    if (!mixes && !clip.is_resampled()) {
      clip.reader->read(out, frames);
    } else if (downmix_ || channels == 1) {
      ClipSignal signal(std::move(clip), quality_, antialias_);
      read_signal(signal, out);
    } else {
      resample_clip(ctx, clip, quality_, antialias_, out);
    }
  });
  return rates;
}

std::unique_ptr<SignalReader> AudioDecoding::open_signal(std::span<const uint8_t> file,
                                                         const AudioPart& part) const {
  if (dtype_ != DType::kFloat) return nullptr;
  Clip clip = open_clip(file, part);
  if (!downmix_ && clip.channels() > 1) return nullptr;
  return std::make_unique<ClipSignal>(std::move(clip), quality_, antialias_);
}

}  // namespace torchdali
