// SPDX-License-Identifier: Apache-2.0
#include "ops/decoders/device_video.h"

#include <algorithm>
#include <cstring>

#include "gpu/nvdec/support.h"
#include "ops/decoders/video_frames.h"

namespace torchdali {
namespace {

using io::video::EncodedClip;
using io::video::EncodedPacket;
using io::video::StreamFacts;

constexpr const char* kArgument = "nvdec";

template <class T>
std::byte* append(std::byte* to, std::span<const T> values) {
  if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
  return to + values.size_bytes();
}

template <class T>
const std::byte* take(const std::byte* from, std::vector<T>& values, int64_t count) {
  values.resize(static_cast<size_t>(count));
  if (count > 0) std::memcpy(values.data(), from, values.size() * sizeof(T));
  return from + values.size() * sizeof(T);
}

void output_description(SampleContext& ctx, const DeviceVideo& about,
                        std::span<const int64_t> frames, const EncodedClip& clip) {
  const std::span<const uint8_t> header = clip.facts.extradata(), bytes = clip.bytes;
  const std::span<const EncodedPacket> packets = clip.packets;
  const size_t size =
      sizeof(about) + frames.size_bytes() + packets.size_bytes() + header.size() + bytes.size();
  const SampleView& out = ctx.output(static_cast<int>(ctx.num_outputs()) - 1, DType::kUInt8,
                                     Shape{static_cast<int64_t>(size)});
  std::byte* to = append(out.as<std::byte>(), std::span(&about, 1));
  append(append(append(append(to, frames), packets), header), bytes);
}

}  // namespace

DeviceVideo read_device_video(const SampleView& description) {
  DeviceVideo about;
  std::memcpy(static_cast<void*>(&about), description.data, sizeof(about));
  return about;
}

DeviceClip read_device_clip(const SampleView& description) {
  DeviceClip made{.about = read_device_video(description), .frames = {}, .clip = {}};
  const DeviceVideo& about = made.about;
  const std::byte* from = description.as<const std::byte>() + sizeof(about);
  from = take(from, made.frames, about.frames);
  from = take(from, made.clip.packets, about.packets);
  made.clip.facts.mutable_facts() = about.facts;
  made.clip.header_in_stream = about.header_in_stream;
  made.clip.video = about.video;
  from = take(from, made.clip.facts.mutable_extradata(), about.header_bytes);
  take(from, made.clip.bytes, about.packet_bytes);
  return made;
}

int bits_of(const StreamFacts& facts) {
  return std::string_view(facts->pixel_format) == "yuv420p10le" ? 10 : 8;
}

std::string obstacle_to_nvdec(const io::video::VideoFile& video) {
  const StreamFacts* found = video.facts();
  if (found == nullptr) return "no index";
  const io::video::libav::Facts& facts = **found;
  const auto codec = gpu::nvdec::codec_of(facts.codec);
  if (!codec) return str_cat("codec ", facts.codec);
  const std::string_view format = facts.pixel_format;
  if (format != "yuv420p" && format != "yuvj420p" && format != "yuv420p10le")
    return str_cat("format ", format);
  constexpr int kProgressive = 1;  // FFmpeg's AV_FIELD_PROGRESSIVE; 0: unknown
  if (facts.field_order > kProgressive) return "interlaced";
  // Pictures may be packed in a way that only FFmpeg undoes.
  if (*codec == gpu::cuvid::Codec::kMpeg4 && facts.reorder > 0) return "codec mpeg4 with B-frames";
  kernels::Picture colors;
  if (!io::video::set_colors(*found, colors)) return "colors";
  return gpu::nvdec::known_obstacle({*codec, bits_of(*found)}, facts.width, facts.height);
}

std::unique_ptr<VideoPacker> VideoPacker::of(const OpSpec& spec) {
  return spec.schema->find_arg(kArgument) == nullptr ? nullptr
                                                     : std::make_unique<VideoPacker>(spec);
}

VideoPacker::VideoPacker(const OpSpec& spec) : required_(is_nvdec_required(spec)) {}

bool VideoPacker::pack(SampleContext& ctx, const io::video::VideoFile& video,
                       std::span<const int64_t> frames, const gpu::FrameRules& rules,
                       std::span<const uint8_t> fill) const {
  EncodedClip clip;
  std::string why = obstacle_to_nvdec(video);
  if (why.empty()) {
    std::vector<int64_t> wanted;
    std::copy_if(frames.begin(), frames.end(), std::back_inserter(wanted),
                 [](int64_t frame) { return frame >= 0; });
    why = video.encoded(wanted, clip);
  }
  if (!why.empty()) {
    if (required_) raise_not_by_nvdec(why);
    counts_.add("CPU: " + why);
    return false;
  }
  const Shape shape = frame_shape(video, rules.degrees != 0, rules.output);
  DeviceVideo about{.kind = DeviceVideo::Kind::kPackets,
                    .dtype = rules.dtype,
                    .frames = std::ssize(frames),
                    .height = shape[0],
                    .width = shape[1],
                    .channels = shape[2],
                    .rules = rules,
                    .facts = *clip.facts,
                    .header_in_stream = clip.header_in_stream,
                    .video = clip.video,
                    .packets = std::ssize(clip.packets),
                    .header_bytes = std::ssize(clip.facts.extradata()),
                    .packet_bytes = std::ssize(clip.bytes)};
  about.facts.extradata = nullptr;
  about.facts.extradata_size = 0;
  for (size_t c = 0; c < 3; ++c) about.fill[c] = fill[c % fill.size()];
  ctx.output(0, rules.dtype, Shape{0, 0, 0, 0}, "FHWC");  // of the kind of decoded frames
  output_description(ctx, about, frames, clip);
  return true;
}

void VideoPacker::describe_pixels(SampleContext& ctx) {
  const SampleView& pixels = ctx.output_view(0);
  const DeviceVideo about{.kind = DeviceVideo::Kind::kPixels,
                          .dtype = pixels.dtype,
                          .frames = pixels.shape[0],
                          .height = pixels.shape[1],
                          .width = pixels.shape[2],
                          .channels = pixels.shape[3],
                          .rules = {}};
  output_description(ctx, about, {}, {});
}

SchemaBuilder& add_nvdec_arg(SchemaBuilder& schema) {
  return schema.arg(kArgument, "1",
                    "\"1\": the CPU decodes what the GPU cannot; \"required\": that is an error.");
}

bool is_nvdec_required(const OpSpec& spec) {
  return spec.get<std::string>(kArgument) == "required";
}

void raise_not_by_nvdec(const std::string& why) {
  raise(ErrorKind::kUnsupported, "the video cannot be decoded by NVDEC (", why,
        "), which the environment variable TORCHDALI_NVDEC requires",
        to_fix("set it to 1, and the CPU decodes such videos"));
}

}  // namespace torchdali
