// SPDX-License-Identifier: Apache-2.0
// fn.readers.nemo_asr: clips of audio and their texts, as manifests in NeMo's format list them.
#include <algorithm>

#include "io/storage/mapping.h"
#include "ops/audio/resampling_reader.h"
#include "ops/decoders/audio_decoding.h"
#include "ops/readers/nemo_manifest.h"
#include "ops/readers/reader.h"

namespace torchdali {
namespace {

class NemoAsrReader final : public Reader {
 public:
  // Files stay open and are mapped, because many clips may be of one file.
  explicit NemoAsrReader(const OpSpec& spec)
      : Reader(spec, kOpenFiles),
        decoding_(spec),
        manifests_(spec.get<std::vector<std::string>>("manifest_filepaths")),
        options_{.min_duration = spec.get<double>("min_duration"),
                 .max_duration = spec.get<double>("max_duration"),
                 .keep_text = spec.get<bool>("read_text")},
        sample_rate_(std::max(0.0, spec.get<double>("sample_rate"))),
        reads_rate_(spec.get<bool>("read_sample_rate")),
        reads_text_(spec.get<bool>("read_text")),
        reads_index_(spec.get<bool>("read_idxs")),
        maps_parts_(!spec.get<bool>("dont_use_mmap")) {
    TORCHDALI_CHECK(!manifests_.empty(),
                    "`manifest_filepaths` is an empty list, expected one path or more");
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    const int64_t index = index_of(ctx);
    AudioPart part{
        .start = clips_.offset(index), .sample_rate = sample_rate_, .from_manifest = true};
    if (clips_.duration(index) >= 0) part.duration = clips_.duration(index);
    double file_rate = 0;
    const auto decode = [&](std::span<const uint8_t> file) {
      file_rate = decoding_.decode(ctx, 0, file, part).file;
    };
    const std::string path(clips_.path(index));
    if (!maps(index) || !use_mapped(path, decode))
      sample_bytes(ctx, {.path = path}).view(ctx, decode);
    int output = 1;
    if (reads_rate_)
      *ctx.output(output++, DType::kFloat, {}).as<float>() = static_cast<float>(file_rate);
    if (reads_text_) {
      const std::string_view text = clips_.text(index);
      auto* data = ctx.output(output, DType::kUInt8, Shape{std::ssize(text)}).data;
      ctx.copy_to_output(output++, data, text.data(), std::ssize(text));
    }
    if (reads_index_)
      *ctx.output(output, DType::kInt64, Shape{1}).as<int64_t>() = clips_.number(index);
  }

 private:
  int64_t find_samples() override {
    clips_ = NemoManifest(manifests_, options_);
    TORCHDALI_CHECK_KIND(kData, clips_.size() > 0, "there are no clips in ", manifests_.size(),
                         " manifests, the first of which is \"", manifests_.front(),
                         "\", with `min_duration` ", options_.min_duration, " and `max_duration` ",
                         options_.max_duration);
    return clips_.size();
  }

  // "duration": of the clips.
  std::vector<float> find_lengths(const std::string& by) override {
    if (by != "duration") return Reader::find_lengths(by);
    std::vector<float> lengths(static_cast<size_t>(clips_.size()));
    for (int64_t i = 0; i < clips_.size(); ++i) {
      const double duration = clips_.duration(i);
      TORCHDALI_CHECK_KIND(kData, duration >= 0, "`bucket_by` is \"duration\", but the entry of \"",
                           clips_.path(i), "\" in a manifest has no \"duration\"",
                           to_fix("add it, or leave out `bucket_by`"));
      lengths[static_cast<size_t>(i)] = static_cast<float>(std::min(duration, 1e30));
    }
    return lengths;
  }

  // Parts of long files are not read ahead: how many bytes they have is not known, and all of them
  // would be read.
  io::ReadRequest request(int64_t index) const override {
    if (maps(index)) return {};
    return {.path = std::string(clips_.path(index))};
  }

  // Whether a clip is a part of a local file that is mapped. Clips of one file usually follow one
  // another in a manifest.
  bool maps(int64_t index) const {
    const std::string_view path = clips_.path(index);
    const auto has_path = [&](int64_t i) {
      return i >= 0 && i < clips_.size() && clips_.path(i) == path;
    };
    return maps_parts_ && !io::is_remote(path) &&
           (clips_.offset(index) > 0 || has_path(index - 1) || has_path(index + 1));
  }

  bool use_mapped(const std::string& path, const SampleBytes::Use& use) const {
    const std::shared_ptr<const io::InputFile> file = open(path);
    const io::Mapping* mapping = file->mapping();
    return mapping != nullptr && mapping->read(0, file->size_bytes(), use);
  }

  std::unique_ptr<ReaderBatch> make_batch(std::span<const int64_t> indices) override {
    auto batch = std::make_unique<ReaderBatch>();
    auto names = std::make_shared<SampleNames>();
    bool durations_known = true;
    for (const int64_t index : indices) {
      names->add([&](std::string& text) { text += clips_.path(index); });
      const double duration = clips_.duration(index);
      durations_known = durations_known && duration >= 0;
      constexpr double kMillisecond = 1e3, kMost = 4e9;
      batch->sizes.push_back(
          static_cast<uint32_t>(std::clamp(duration * kMillisecond, 0.0, kMost)));
    }
    if (!durations_known) batch->sizes.clear();
    batch->names = std::move(names);
    return batch;
  }

  AudioDecoding decoding_;
  const std::vector<std::string> manifests_;
  const NemoOptions options_;
  const double sample_rate_;
  const bool reads_rate_, reads_text_, reads_index_, maps_parts_;
  NemoManifest clips_;
};

TORCHDALI_OPERATOR("readers.nemo_asr")
    .doc(
        "Reads clips of audio and their texts, for speech recognition, as manifests in the format "
        "of NVIDIA NeMo list them.\n\n"
        "A manifest has a JSON object on each line: `{\"audio_filepath\": \"a.wav\", \"offset\": "
        "1.5, \"duration\": 2.0, \"text\": \"hello\"}`. Only the file's name is required. "
        "`offset` and `duration` are in seconds, of which the fraction of a frame is cut off; only "
        "that part of the file is decoded, and it ends with the file at the latest. Without them, "
        "the clip begins and ends with the file. Other fields are ignored, and so are blank "
        "lines. Names are relative to the working directory; those in a manifest at a URL are "
        "relative to it.\n\n"
        "Formats are those of `decoders.audio`. The reader never ends: an epoch is followed by the "
        "next one.")
    .output("audio", "The clip: [frames], or [frames, channels] without `downmix`.")
    .output("sample_rate",
            "With `read_sample_rate`: frames per second of the file, also if the clip is "
            "resampled; float32, a scalar.")
    .output("text", "With `read_text`: the text in UTF-8, empty if there is none; uint8 [bytes].")
    .output(
        "index",
        "With `read_idxs`: the number of the clip in its manifest, from 0 on, without clips that "
        "are left out; int64 [1].")
    .num_outputs([](const OpSpec& spec) {
      return 1 + static_cast<int>(spec.get<bool>("read_sample_rate")) +
             static_cast<int>(spec.get<bool>("read_text")) +
             static_cast<int>(spec.get<bool>("read_idxs"));
    })
    .required_arg("manifest_filepaths", ArgType::kStringVec, "Paths or URLs of the manifests.")
    .arg("read_sample_rate", true, "Return the sample rate of each file.")
    .arg("read_text", true, "Return the text of each clip.")
    .arg("read_idxs", false, "Return the number of each clip.")
    .arg("downmix", true, "Return the mean of the channels, without an axis of channels.")
    .arg("dtype", DType::kFloat,
         "Element type of the audio: float32, in [-1, 1], or int16 or int32, with their full "
         "range.")
    .arg("sample_rate", -1.0f,
         "Frames per second of the audio; 0 or less keeps the rate of each file.")
    .arg("quality", 50.0f,
         "Quality of resampling, 0 to 100: 0 has 3 lobes of the sinc filter, 50 has 16, 100 has "
         "64.")
    .with(antialias_arg)
    .arg("min_duration", 0.0f,
         "Leave out clips whose \"duration\" is less, or missing; in seconds. 0: no limit.")
    .arg("max_duration", 0.0f,
         "Leave out clips whose \"duration\" is greater, in seconds. 0: no limit.")
    .deprecated_arg("normalize_text", ArgType::kBool,
                    "No effect: texts are returned as they are in the manifest.")
    .with(reader_args)
    .with([](SchemaBuilder& schema) {
      bucket_args(schema, "\"duration\": of the clip; each entry of the manifests must have it.");
    })
    .cpu<NemoAsrReader>();

}  // namespace
}  // namespace torchdali
