// SPDX-License-Identifier: Apache-2.0
#include "io/audio/wav.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "io/bytes.h"

namespace torchdali::io {
namespace {

using kernels::PcmType;

constexpr uint32_t kUnknownSize = 0xffffffff;
constexpr uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xfffe;
constexpr int kMaxChannels = 1024;  // as libsndfile

std::string_view tag_at(std::span<const uint8_t> bytes, size_t at) {
  if (bytes.size() < at + 4) return {};
  return {reinterpret_cast<const char*>(bytes.data()) + at, 4};
}

struct Format {
  uint16_t tag = 0;
  int channels = 0;
  int64_t rate = 0;
  int bytes_per_frame = 0, bits = 0;  // of a sample
};

Format read_format(std::span<const uint8_t> chunk) {
  TORCHDALI_CHECK_KIND(kData, chunk.size() >= 16,
                       "the WAV file is broken or truncated: its `fmt ` chunk has ", chunk.size(),
                       " bytes, expected 16 or more");
  ByteReader in(chunk);
  Format f;
  f.tag = in.u16();
  f.channels = in.u16();
  f.rate = in.u32();
  in.skip(4);  // bytes per second
  f.bytes_per_frame = in.u16();
  f.bits = in.u16();
  if (f.tag == kExtensible && chunk.size() >= 40) {
    // The tag is the beginning of a GUID, the rest of which says so.
    constexpr uint8_t kRest[] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71};
    in.seek(24);
    const uint16_t tag = in.u16();
    if (std::ranges::equal(in.take(sizeof(kRest)), kRest)) f.tag = tag;
  }
  TORCHDALI_CHECK_KIND(kData, f.channels > 0, "the WAV file is broken: it claims 0 channels");
  TORCHDALI_CHECK_KIND(kData, f.channels <= kMaxChannels, "the WAV file claims ", f.channels,
                       " channels, expected at most ", kMaxChannels);
  TORCHDALI_CHECK_KIND(kData, f.rate > 0, "the WAV file is broken: it claims a sample rate of 0");
  return f;
}

std::optional<PcmType> type_of(const Format& f) {
  if (f.tag == kFloat) {
    TORCHDALI_CHECK_KIND(kData, f.bits == 32 || f.bits == 64,
                         "the WAV file is broken: it claims floats of ", f.bits,
                         " bits, expected 32 or 64");
    return f.bits == 32 ? PcmType::kFloat : PcmType::kFloat64;
  }
  if (f.tag != kPcm) return std::nullopt;
  TORCHDALI_CHECK_KIND(kData, f.bits >= 1 && f.bits <= 32,
                       "the WAV file is broken: it claims integers of ", f.bits,
                       " bits, expected 1 to 32");
  // A sample may have more bytes than its bits need: the bits are then the upper ones.
  constexpr PcmType kTypes[] = {PcmType::kUInt8, PcmType::kInt16, PcmType::kInt24, PcmType::kInt32};
  int bytes = (f.bits + 7) / 8;
  const int container = f.bytes_per_frame / f.channels;
  if (f.bytes_per_frame % f.channels == 0 && container > bytes && container <= 4) bytes = container;
  return kTypes[bytes - 1];
}

class WavReader final : public AudioReader {
 public:
  WavReader(std::span<const uint8_t> bytes, const WavHeader& header) : header_(header) {
    constexpr const char* kNames[] = {"8-bit PCM",  "16-bit PCM",   "24-bit PCM",
                                      "32-bit PCM", "32-bit float", "64-bit float"};
    info_ = {.frames = header.frames,
             .channels = header.channels,
             .rate = header.rate,
             .format = std::string("WAV, ") + kNames[static_cast<int>(header.type)]};
    data_ = bytes.subspan(header.data,
                          static_cast<size_t>(header.frames) * static_cast<size_t>(frame_bytes()));
  }
  void seek(int64_t frame) override {
    TORCHDALI_ASSERT(frame >= 0 && frame <= info_.frames, "frame ", frame, " of ", info_.frames);
    next_ = frame;
  }
  void read(float* out, int64_t frames) override { convert(out, frames); }
  void read(int16_t* out, int64_t frames) override { convert(out, frames); }
  void read(int32_t* out, int64_t frames) override { convert(out, frames); }
  void read_mono(float* out, int64_t frames) override {
    if (info_.channels == 2 && header_.type == PcmType::kInt16)
      kernels::mix_stereo(take(frames), out, frames);
    else AudioReader::read_mono(out, frames);
  }

 private:
  int frame_bytes() const { return header_.frame_bytes(); }
  const uint8_t* take(int64_t frames) {
    TORCHDALI_ASSERT(frames >= 0 && frames <= info_.frames - next_, frames, " frames at ", next_,
                     " of ", info_.frames);
    const uint8_t* at = data_.data() + next_ * frame_bytes();
    next_ += frames;
    return at;
  }
  template <class T>
  void convert(T* out, int64_t frames) {
    kernels::convert_pcm(header_.type, take(frames), out, frames * info_.channels);
  }

  WavHeader header_;
  std::span<const uint8_t> data_;
  int64_t next_ = 0;
};

}  // namespace

bool is_wav(std::span<const uint8_t> bytes) {
  const std::string_view riff = tag_at(bytes, 0);
  return (riff == "RIFF" || riff == "RF64" || riff == "BW64") && tag_at(bytes, 8) == "WAVE";
}

std::optional<WavHeader> read_wav_header(std::span<const uint8_t> bytes) {
  std::optional<Format> format;
  uint64_t long_size = kUnknownSize;  // from the chunk `ds64`
  ByteReader in(bytes);
  in.seek(4);
  constexpr uint32_t kOpenSize = 8;  // what some programs write until they close the file
  const bool is_open = in.u32() == kOpenSize;
  in.seek(12);
  while (in.left() >= 8) {
    const std::string_view tag = tag_at(bytes, in.position());
    in.skip(4);
    const uint32_t size = in.u32();
    if (tag == "data") {
      TORCHDALI_CHECK_KIND(kData, format.has_value(),
                           "the WAV file is broken: it has no `fmt ` chunk before its data");
      const std::optional<PcmType> type = type_of(*format);
      if (!type) return std::nullopt;
      WavHeader header{.type = *type, .channels = format->channels, .rate = format->rate};
      header.data = in.position();
      uint64_t data_size = size == kUnknownSize ? long_size : size;
      if (data_size == kUnknownSize || (data_size == 0 && is_open)) data_size = in.left();
      data_size = std::min<uint64_t>(data_size, in.left());
      header.frames = static_cast<int64_t>(data_size / static_cast<uint64_t>(header.frame_bytes()));
      return header;
    }
    if (tag == "ds64" && size >= 16 && in.left() >= 16) {
      ByteReader sizes(bytes.subspan(in.position(), 16));
      sizes.skip(8);  // of the file
      long_size = sizes.u64();
    }
    if (tag == "fmt ")
      format = read_format(bytes.subspan(in.position(), std::min<size_t>(size, in.left())));
    const uint64_t padded = uint64_t{size} + size % 2;
    if (padded >= in.left()) break;
    in.skip(static_cast<size_t>(padded));
  }
  raise(ErrorKind::kData, "the WAV file is broken or truncated: it has no `data` chunk in its ",
        bytes.size(), " bytes");
}

std::unique_ptr<AudioReader> open_wav(std::span<const uint8_t> bytes, const WavHeader& header) {
  return std::make_unique<WavReader>(bytes, header);
}

}  // namespace torchdali::io
