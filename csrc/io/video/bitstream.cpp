// SPDX-License-Identifier: Apache-2.0
#include "io/video/bitstream.h"

#include <algorithm>
#include <array>

namespace torchdali::io::video {
namespace {

using Bytes = std::span<const uint8_t>;

class BitReader {
 public:
  explicit BitReader(Bytes bytes) : bytes_(bytes) {}
  // 0 after the end.
  uint32_t bits(int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i, ++position_)
      value =
          value << 1 |
          (position_ / 8 < bytes_.size() ? bytes_[position_ / 8] >> (7 - position_ % 8) & 1U : 0U);
    return value;
  }
  // Exp-Golomb.
  uint32_t unsigned_number() {
    int zeros = 0;
    while (zeros < 31 && position_ / 8 < bytes_.size() && bits(1) == 0) ++zeros;
    return zeros == 0 ? 0 : (1U << zeros) - 1 + bits(zeros);
  }

 private:
  Bytes bytes_;
  size_t position_ = 0;
};

// Bytes of the length before each NAL unit; 0 if units begin with start codes.
int length_bytes(const StreamFacts& facts, bool hevc) {
  const auto& extradata = facts.extradata();
  const size_t at = hevc ? 21 : 4;
  if (extradata.size() < (hevc ? 23U : 7U) || extradata[0] != 1) return 0;
  return (extradata[at] & 3) + 1;
}

// Calls use(unit) for each NAL unit until it returns false.
template <class Use>
void for_each_unit(Bytes packet, int length, const Use& use) {
  if (length > 0) {
    while (packet.size() > static_cast<size_t>(length)) {
      uint64_t size = 0;
      for (int i = 0; i < length; ++i) size = size << 8 | packet[static_cast<size_t>(i)];
      packet = packet.subspan(static_cast<size_t>(length));
      size = std::min<uint64_t>(size, packet.size());
      if (size > 0 && !use(packet.first(size))) return;
      packet = packet.subspan(size);
    }
    return;
  }
  const auto next = [&](size_t from) {
    for (; from + 3 <= packet.size(); ++from)
      if (packet[from] == 0 && packet[from + 1] == 0 && packet[from + 2] == 1) return from;
    return packet.size();
  };
  for (size_t at = next(0); at < packet.size();) {
    const size_t begin = std::min(at + 3, packet.size()), end = next(begin);
    if (end > begin && !use(packet.subspan(begin, end - begin))) return;
    at = end;
  }
}

// Whether a SEI unit of H.264 has a recovery point at this very picture.
bool recovers_at_once(Bytes unit) {
  // Without emulation prevention; what is looked for is short.
  std::array<uint8_t, 256> plain{};
  size_t count = 0;
  for (size_t i = 1; i < unit.size() && count < plain.size(); ++i) {
    const bool escape = i >= 3 && unit[i] == 3 && unit[i - 1] == 0 && unit[i - 2] == 0;
    if (!escape) plain[count++] = unit[i];
  }
  Bytes left(plain.data(), count);
  const auto number = [&] {
    size_t value = 0;
    while (!left.empty() && left[0] == 255) {
      value += 255;
      left = left.subspan(1);
    }
    if (!left.empty()) {
      value += left[0];
      left = left.subspan(1);
    }
    return value;
  };
  constexpr size_t kRecoveryPoint = 6;
  while (left.size() > 2) {
    const size_t type = number(), size = number();
    if (type == kRecoveryPoint) return BitReader(left).unsigned_number() == 0;
    if (size > left.size()) return false;
    left = left.subspan(size);
  }
  return false;
}

Start start_of_h264(const StreamFacts& facts, Bytes packet) {
  Start start = Start::kNone;
  for_each_unit(packet, length_bytes(facts, false), [&](Bytes unit) {
    const int type = unit[0] & 31;
    if (type == 5) start = Start::kClosed;
    else if (type == 6 && recovers_at_once(unit)) start = Start::kOpen;
    return type == 0 || type > 5;  // up to the first slice
  });
  return start;
}

Start start_of_hevc(const StreamFacts& facts, Bytes packet) {
  Start start = Start::kNone;
  for_each_unit(packet, length_bytes(facts, true), [&](Bytes unit) {
    const int type = unit[0] >> 1 & 63;
    if (type >= 32) return true;
    if (type >= 16 && type <= 18) start = Start::kBroken;
    else if (type == 19 || type == 20) start = Start::kClosed;
    else if (type == 21) start = Start::kOpen;
    return false;
  });
  return start;
}

bool shows_vp9(Bytes frame) {
  BitReader bits(frame);
  bits.bits(2);
  const uint32_t low = bits.bits(1), profile = bits.bits(1) << 1 | low;
  if (profile == 3) bits.bits(1);
  if (bits.bits(1) == 1) return true;  // show_existing_frame
  bits.bits(1);
  return bits.bits(1) == 1;
}

int pictures_of_vp9(Bytes packet) {
  const int marker = packet.back();
  const size_t frames = static_cast<size_t>(marker & 7) + 1, bytes = (marker >> 3 & 3) + 1U;
  const size_t index = 2 + bytes * frames;
  if ((marker & 0xe0) != 0xc0 || packet.size() < index || packet[packet.size() - index] != marker)
    return shows_vp9(packet) ? 1 : 0;
  Bytes sizes = packet.last(index).subspan(1);
  Bytes left = packet.first(packet.size() - index);
  int shown = 0;
  for (size_t i = 0; i < frames; ++i) {
    size_t size = 0;
    for (size_t b = bytes; b-- > 0;) size = size << 8 | sizes[i * bytes + b];
    if (size > left.size()) return -1;
    if (size > 0 && shows_vp9(left.first(size))) ++shown;
    left = left.subspan(size);
  }
  return shown;
}

}  // namespace

bool is_known(const StreamFacts& facts) {
  constexpr std::array kNames = {"h264", "hevc",       "vp8",        "vp9",
                                 "av1",  "mpeg1video", "mpeg2video", "prores"};
  const std::string_view codec = facts->codec;
  return facts->intra_only ||
         std::any_of(kNames.begin(), kNames.end(), [&](const char* name) { return codec == name; });
}

PacketFacts look_at(const StreamFacts& facts, std::span<const uint8_t> packet, bool key) {
  const std::string_view codec = facts->codec;
  if (packet.empty()) return {.pictures = 0};
  const Start closed = key ? Start::kClosed : Start::kNone;
  if (facts->intra_only) return {.start = Start::kClosed};
  if (codec == "h264") return {.start = key ? start_of_h264(facts, packet) : Start::kNone};
  if (codec == "hevc") return {.start = key ? start_of_hevc(facts, packet) : Start::kNone};
  if (codec == "vp8") return {.start = closed, .pictures = (packet[0] >> 4) & 1};
  if (codec == "vp9") return {.start = closed, .pictures = pictures_of_vp9(packet)};
  if (codec == "av1") return {.start = closed};
  // Pictures that follow a key frame may be shown before it.
  constexpr std::array kOpen = {"mpeg1video", "mpeg2video", "mpeg4",     "h263",
                                "flv1",       "msmpeg4v2",  "msmpeg4v3", "theora"};
  for (const char* name : kOpen)
    if (codec == name) return {.start = key ? Start::kOpen : Start::kNone};
  return {};
}

}  // namespace torchdali::io::video
