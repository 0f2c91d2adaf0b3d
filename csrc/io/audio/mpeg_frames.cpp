// SPDX-License-Identifier: Apache-2.0
#include "io/audio/mpeg_frames.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace torchdali::io {
namespace {

using Bytes = std::span<const uint8_t>;
using namespace std::string_view_literals;

constexpr size_t kHeader = 4;
constexpr int kMpeg1 = 3, kMpeg25 = 0, kMono = 3;

struct FrameHeader {
  int version = 0, rate_index = 0, mode = 0;
  size_t bytes = 0;  // of the frame; 0: no header of layer III
  bool like(const FrameHeader& other) const {
    return version == other.version && rate_index == other.rate_index;
  }
  size_t side_bytes() const {
    if (version == kMpeg1) return mode == kMono ? 17 : 32;
    return mode == kMono ? 9 : 17;
  }
};

FrameHeader header_at(Bytes bytes, size_t at) {
  constexpr std::array<int, 16> kRates1 = {0,   32,  40,  48,  56,  64,  80,  96,
                                           112, 128, 160, 192, 224, 256, 320, 0};
  constexpr std::array<int, 16> kRates2 = {0,  8,  16, 24,  32,  40,  48,  56,
                                           64, 80, 96, 112, 128, 144, 160, 0};
  constexpr std::array<int, 4> kHertz = {44100, 48000, 32000, 0};
  if (at > bytes.size() || bytes.size() - at < kHeader) return {};
  const uint8_t* b = bytes.data() + at;
  constexpr int kLayer3 = 1, kReserved = 1;
  FrameHeader h{.version = b[1] >> 3 & 3, .rate_index = b[2] >> 2 & 3, .mode = b[3] >> 6};
  if (b[0] != 0xff || b[1] >> 5 != 7 || (b[1] >> 1 & 3) != kLayer3 || h.version == kReserved)
    return {};
  const int kbits = (h.version == kMpeg1 ? kRates1 : kRates2)[b[2] >> 4];
  int hertz = kHertz[static_cast<size_t>(h.rate_index)];
  if (kbits == 0 || hertz == 0) return {};
  if (h.version != kMpeg1) hertz /= h.version == kMpeg25 ? 4 : 2;
  const int samples_8 = h.version == kMpeg1 ? 144 : 72;
  h.bytes = static_cast<size_t>(samples_8 * 1000 * kbits / hertz + (b[2] >> 1 & 1));
  return h;
}

bool has(Bytes bytes, size_t at, std::string_view text) {
  return at <= bytes.size() && bytes.size() - at >= text.size() &&
         std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

size_t skip_tags(Bytes bytes) {
  size_t at = 0;
  while (has(bytes, at, "ID3"sv) && bytes.size() - at >= 10) {
    const uint8_t* b = bytes.data() + at;
    at += 10 + ((b[5] & 0x10) != 0 ? 10U : 0U);  // with a footer
    at += size_t{b[6] & 0x7fU} << 21 | size_t{b[7] & 0x7fU} << 14 | size_t{b[8] & 0x7fU} << 7 |
          (b[9] & 0x7fU);
    if (at > bytes.size()) return bytes.size();
  }
  return at;
}

enum class Tag { kNone, kLength, kNoLength };

// What a frame says about the file, if it is one that does. Only the length of "Xing" and "Info"
// is known to the library.
Tag tag_of(Bytes bytes, size_t at, const FrameHeader& h) {
  constexpr size_t kVbri = 32, kCrc = 2;
  for (const size_t crc : {size_t{0}, kCrc}) {
    const size_t tag = at + kHeader + h.side_bytes() + crc;
    if (!has(bytes, tag, "Xing"sv) && !has(bytes, tag, "Info"sv)) continue;
    constexpr uint8_t kHasFrames = 1;
    const bool known = bytes.size() - tag >= 12 && (bytes[tag + 7] & kHasFrames) != 0 &&
                       !has(bytes, tag + 8, "\0\0\0\0"sv);
    return known ? Tag::kLength : Tag::kNoLength;
  }
  return has(bytes, at + kHeader + kVbri, "VBRI"sv) ? Tag::kNoLength : Tag::kNone;
}

// A frame with "Xing", as LAME makes them, and a silent one. Decoders cut off as many samples as
// LAME says that it put before the sound, and 529, which is their own delay. So these are chosen
// such that nothing but the silent frame is cut off.
std::vector<uint8_t> make_first(const uint8_t* like, uint32_t frames) {
  const bool mpeg1 = (like[1] >> 3 & 3) == kMpeg1;
  const int rate = mpeg1 ? 5 : 8;  // 64 kbit/s: long enough for each frequency
  const std::array<uint8_t, kHeader> header = {0xff, static_cast<uint8_t>(like[1] | 1),
                                               static_cast<uint8_t>(rate << 4 | (like[2] & 0x0c)),
                                               like[3]};
  const FrameHeader h = header_at(header, 0);
  std::vector<uint8_t> first(2 * h.bytes);
  std::ranges::copy(header, first.begin());
  std::ranges::copy(header, first.begin() + static_cast<std::ptrdiff_t>(h.bytes));
  uint8_t* tag = first.data() + kHeader + h.side_bytes();
  std::memcpy(tag, "Xing\0\0\0\1", 8);
  for (int i = 0; i < 4; ++i) tag[8 + i] = static_cast<uint8_t>((frames + 1) >> (24 - 8 * i));
  constexpr uint32_t kDelay = 529;
  const uint32_t before = (mpeg1 ? 1152 : 576) - kDelay, after = kDelay;  // 12 bits each
  uint8_t* lame = tag + 12;
  std::memcpy(lame, "LAME", 4);
  for (int i = 0; i < 3; ++i)
    lame[21 + i] = static_cast<uint8_t>((before << 12 | after) >> (16 - 8 * i));
  return first;
}

}  // namespace

std::optional<CountedMp3> count_mp3_frames(Bytes bytes) {
  size_t at = skip_tags(bytes);
  const size_t header = at;
  const FrameHeader like = header_at(bytes, at);
  if (like.bytes == 0) return std::nullopt;
  const Tag tag = tag_of(bytes, at, like);
  if (tag == Tag::kLength) return std::nullopt;
  if (tag == Tag::kNoLength) at += like.bytes;
  const size_t begin = at;
  uint32_t frames = 0;
  while (at < bytes.size()) {
    const FrameHeader h = header_at(bytes, at);
    if (h.bytes > 0 && h.like(like)) {
      if (h.bytes > bytes.size() - at) break;
      ++frames;
      at += h.bytes;
      continue;
    }
    // Something else is between frames: on with the next two that follow one another.
    for (++at; at < bytes.size(); ++at) {
      const FrameHeader next = header_at(bytes, at);
      if (next.bytes > 0 && next.like(like) && header_at(bytes, at + next.bytes).like(next)) break;
    }
  }
  if (frames == 0) return std::nullopt;
  return CountedMp3{.first = make_first(bytes.data() + header, frames),
                    .rest = bytes.subspan(begin)};
}

}  // namespace torchdali::io
