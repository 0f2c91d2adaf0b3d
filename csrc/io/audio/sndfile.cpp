// SPDX-License-Identifier: Apache-2.0
#include "io/audio/sndfile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/audio/mpeg_frames.h"
#include "io/audio/ogg_pages.h"
#include "io/audio/sndfile_library.h"
#include "kernels/audio/pcm.h"

namespace torchdali::io {
namespace {

using namespace std::string_view_literals;
using Bytes = std::span<const uint8_t>;

constexpr const char* kInstall =
    "pip install soundfile, or install libsndfile (Debian, Ubuntu: libsndfile1), or name its file "
    "in TORCHDALI_SNDFILE_LIBRARY";
constexpr int kMaxChannels = 1024;  // libsndfile's own limit

bool starts_with(Bytes bytes, std::string_view signature, size_t at = 0) {
  return bytes.size() >= at + signature.size() &&
         std::memcmp(bytes.data() + at, signature.data(), signature.size()) == 0;
}

// A frame of MPEG audio, layer 1 to 3.
bool is_mpeg(Bytes b) {
  return starts_with(b, "ID3"sv) || (b.size() >= 2 && b[0] == 0xff && (b[1] & 0xe6) > 0xe0);
}

// The names of formats that libsndfile decodes, or null.
const char* format_of(Bytes b) {
  if (starts_with(b, "fLaC"sv)) return "FLAC";
  if (starts_with(b, "OggS"sv)) return "Ogg";
  if (is_mpeg(b)) return "MP3";
  if (starts_with(b, "FORM"sv) && starts_with(b, "AIF"sv, 8)) return "AIFF";
  if (starts_with(b, "RIFX"sv)) return "RIFX";
  if (starts_with(b, "RIFF"sv) || starts_with(b, "RF64"sv)) return "WAV";
  if (starts_with(b, "riff"sv)) return "Wave64";
  if (starts_with(b, "caff"sv)) return "CAF";
  if (starts_with(b, ".snd"sv)) return "AU";
  if (starts_with(b, "NIST_1A"sv)) return "NIST Sphere";
  return nullptr;
}

// The names of formats that are recognized but not decoded, or null.
const char* unsupported_format(Bytes b) {
  if (starts_with(b, "ftyp"sv, 4)) return "MPEG-4 (AAC or ALAC in .m4a, .mp4)";
  if (starts_with(b, "\x30\x26\xB2\x75\x8E\x66\xCF\x11"sv)) return "ASF (.wma)";
  if (starts_with(b, "\x1A\x45\xDF\xA3"sv)) return "Matroska or WebM";
  if (b.size() >= 2 && b[0] == 0xff && (b[1] & 0xf6) == 0xf0) return "AAC (ADTS)";
  if (starts_with(b, "#!AMR"sv)) return "AMR";
  return nullptr;
}

// A file in memory, for libsndfile.
struct Memory {
  std::vector<uint8_t> first;  // before the bytes
  Bytes bytes;
  int64_t at = 0;

  static Memory& of(void* user) { return *static_cast<Memory*>(user); }
  int64_t size() const { return std::ssize(first) + std::ssize(bytes); }
};

// Of an MP3 file that does not say its length, libsndfile would guess it from the first frames, and
// cut off the rest.
Memory memory_of(Bytes bytes) {
  if (is_mpeg(bytes))
    if (auto counted = count_mp3_frames(bytes))
      return {.first = std::move(counted->first), .bytes = counted->rest};
  return {.first = {}, .bytes = bytes};
}

int64_t seek_memory(int64_t offset, int whence, void* user) {
  Memory& m = Memory::of(user);
  const int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? m.at : m.size();
  int64_t to = 0;
  if (__builtin_add_overflow(base, offset, &to) || to < 0) return -1;
  m.at = std::min(to, m.size());
  return m.at;
}

int64_t read_memory(void* to, int64_t count, void* user) {
  Memory& m = Memory::of(user);
  int64_t done = 0;
  const auto copy = [&](Bytes part, int64_t begin) {
    const int64_t from = m.at - begin;
    const int64_t some = std::clamp<int64_t>(count - done, 0, std::ssize(part) - from);
    if (some > 0)
      std::memcpy(static_cast<char*>(to) + done, part.data() + from, static_cast<size_t>(some));
    m.at += some;
    done += some;
  };
  if (m.at < std::ssize(m.first)) copy(m.first, 0);
  if (m.at >= std::ssize(m.first)) copy(m.bytes, std::ssize(m.first));
  return done;
}

sndfile::VirtualFile memory_file = {
    .size = [](void* user) { return Memory::of(user).size(); },
    .seek = seek_memory,
    .read = read_memory,
    .write = [](const void*, int64_t, void*) -> int64_t { return 0; },
    .tell = [](void* user) { return Memory::of(user).at; },
};

[[noreturn]] void raise_refused(Bytes bytes, const sndfile::Api& api, int error) {
  if (const char* name = unsupported_format(bytes))
    raise(ErrorKind::kUnsupported, "this is ", name, ", which torchdali does not decode",
          to_fix("convert the file to WAV, FLAC or Ogg, or leave it out"));
  const char* name = format_of(bytes);
  if (name == nullptr)
    raise(ErrorKind::kData, "not audio: neither WAV nor a format of ", api.version_string(), " (",
          bytes.size(), " bytes)");
  raise(ErrorKind::kData, "the ", name, " file cannot be decoded by ", api.version_string(), ": ",
        api.error_number(error));
}

// Errors of opening are global in libsndfile: a file that fails is opened once more, alone.
std::shared_mutex opening;

class SndfileReader final : public AudioReader {
 public:
  SndfileReader(Bytes bytes, const sndfile::Api& api)
      : api_(api), bytes_(bytes), memory_(memory_of(bytes)) {
    TORCHDALI_CHECK_KIND(kUnsupported, !is_chained_ogg(bytes),
                         "the Ogg file has several streams, one after another, of which "
                         "libsndfile decodes the first only",
                         to_fix("join them to one stream, for example with ffmpeg"));
    const sndfile::Info info = open();
    try {
      examine(info);
    } catch (...) {
      api_.close(file_);
      throw;
    }
  }
  ~SndfileReader() override {
    if (file_ != nullptr) api_.close(file_);
  }

  void seek(int64_t frame) override {
    const int64_t from = exact_position(frame);
    if (api_.seek(file_, from, SEEK_SET) == from) next_ = from;
    else restart();  // libsndfile cannot seek there
    skip(frame - next_);
  }
  void read(float* out, int64_t frames) override {
    check(frames, api_.readf_float(file_, out, frames));
  }
  void read(int16_t* out, int64_t frames) override {
    if (has_floats_) read_floats(out, frames);
    else check(frames, api_.readf_short(file_, out, frames));
  }
  void read(int32_t* out, int64_t frames) override {
    if (has_floats_) read_floats(out, frames);
    else check(frames, api_.readf_int(file_, out, frames));
  }

 private:
  sndfile::Info open() {
    sndfile::Info info;
    const auto try_open = [&] {
      memory_.at = 0;
      info = {};
      file_ = api_.open_virtual(&memory_file, sndfile::kRead, &info, &memory_);
      return file_ != nullptr;
    };
    {
      const std::shared_lock lock(opening);
      if (try_open()) return info;
    }
    const std::unique_lock lock(opening);
    if (!try_open()) raise_refused(bytes_, api_, api_.error(nullptr));
    return info;
  }

  void restart() {
    api_.close(std::exchange(file_, nullptr));
    open();
    next_ = 0;
  }

  // The position from which decoding gives `frame` the values that it has in the whole file.
  int64_t exact_position(int64_t frame) const {
    // An MP3 frame may use bits of earlier frames, the bit reservoir: of 22 at the lowest bit
    // rates.
    constexpr int64_t kMp3Frames = 32, kMp3FrameLength = 1152;
    if (encoding_ >= sndfile::kEncodingMpeg1 && encoding_ <= sndfile::kEncodingMpeg3)
      return std::max<int64_t>(frame - kMp3Frames * kMp3FrameLength, 0);
    if (encoding_ == sndfile::kEncodingVorbis) {
      // libsndfile 1.2.2 counts the frames of the last page as if it were full.
      const int64_t last_page = frames_of_last_ogg_page(bytes_);
      if (last_page < 0) return 0;
      return std::clamp<int64_t>(info_.frames - last_page, 0, frame);
    }
    return frame;
  }

  void skip(int64_t frames) {
    std::array<float, kBlock> block;
    const int64_t step = kBlock / info_.channels;
    for (int64_t i = 0; i < frames; i += step) read(block.data(), std::min(step, frames - i));
  }

  void examine(const sndfile::Info& info) {
    const char* name = format_of(bytes_);
    info_ = {.frames = info.frames,
             .channels = info.channels,
             .rate = info.samplerate,
             .format = name == nullptr ? "audio" : name};
    TORCHDALI_CHECK_KIND(kData,
                         info.channels > 0 && info.channels <= kMaxChannels && info.samplerate > 0,
                         "the ", info_.format, " file is broken: it claims ", info.channels,
                         " channels at ", info.samplerate, " Hz");
    encoding_ = info.format & sndfile::kEncodingMask;
    has_floats_ = encoding_ == sndfile::kEncodingFloat || encoding_ == sndfile::kEncodingDouble ||
                  encoding_ == sndfile::kEncodingVorbis || encoding_ == sndfile::kEncodingOpus ||
                  (encoding_ >= sndfile::kEncodingMpeg1 && encoding_ <= sndfile::kEncodingMpeg3);
    // A length that is unusual for so few bytes counts only if its end is there, before memory
    // is taken for it.
    constexpr int64_t kUsual = 128;  // frames per byte
    if (info_.frames < 0 || info_.frames / kUsual > memory_.size()) {
      const int64_t last = info_.frames - 1;
      float frame[kMaxChannels];
      const bool good = last >= 0 && api_.seek(file_, last, SEEK_SET) == last &&
                        api_.readf_float(file_, frame, 1) == 1 &&
                        api_.seek(file_, 0, SEEK_SET) == 0;
      TORCHDALI_CHECK_KIND(kData, good, "the ", info_.format,
                           " file is broken or truncated: its header claims ", info_.frames,
                           " frames, more than its ", memory_.size(), " bytes have");
    }
  }

  void check(int64_t frames, int64_t read) {
    TORCHDALI_CHECK_KIND(kData, read == frames, "the ", info_.format,
                         " file is broken or truncated: it claims ", info_.frames,
                         " frames, but decoding ends after ", next_ + std::max<int64_t>(read, 0));
    next_ += frames;
  }

  template <class T>
  void read_floats(T* out, int64_t frames) {
    alignas(64) std::array<float, kBlock> block;
    const int64_t step = kBlock / info_.channels;
    for (int64_t i = 0; i < frames; i += step) {
      const int64_t count = std::min(step, frames - i);
      read(block.data(), count);
      kernels::from_floats(block.data(), out + i * info_.channels, count * info_.channels);
    }
  }

  static constexpr int64_t kBlock = 4096;  // values

  const sndfile::Api& api_;
  const Bytes bytes_;
  Memory memory_;
  sndfile::File* file_ = nullptr;
  int encoding_ = 0;
  bool has_floats_ = false;
  int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<AudioReader> open_with_sndfile(Bytes bytes) {
  std::string why;
  const sndfile::Api* api = sndfile::find_library(why);
  if (api != nullptr) return std::make_unique<SndfileReader>(bytes, *api);
  const char* name = format_of(bytes);
  if (name == nullptr) name = unsupported_format(bytes);
  TORCHDALI_CHECK_KIND(kData, name != nullptr, "not audio: no known format (", bytes.size(),
                       " bytes)");
  raise(ErrorKind::kUnsupported, name, name == "WAV"sv ? " files of this encoding" : " files",
        " are decoded by libsndfile, which was not found: ", why, to_fix(kInstall));
}

}  // namespace torchdali::io
