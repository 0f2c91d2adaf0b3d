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
  // Whether bits after the end were read.
  bool ended() const { return position_ > 8 * bytes_.size(); }

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

// Whether a picture of H.264 is neither referred to nor accompanied by anything that lasts.
bool is_unreferenced_h264(const StreamFacts& facts, Bytes packet) {
  constexpr int kProgressive = 1;
  if (facts->field_order > kProgressive) return false;  // a packet may be one of two fields
  bool slices = false, others = false;
  for_each_unit(packet, length_bytes(facts, false), [&](Bytes unit) {
    constexpr int kSei = 6, kDelimiter = 9, kFiller = 12;
    const int type = unit[0] & 31, references = unit[0] >> 5 & 3;
    if (type == 1 && references == 0) slices = true;
    else if (type != kSei && type != kDelimiter && type != kFiller) others = true;
    return !others;
  });
  return slices && !others;
}

// Units of AV1 ("OBU").
enum Av1Unit : int {
  kSequenceHeader = 1,
  kDelimiter = 2,
  kFrameHeader = 3,
  kTileGroup = 4,
  kMetadata = 5,
  kFrame = 6,
  kPadding = 15
};

// Calls use(type, unit, begin) for each unit, which begins there with its header; false if the
// bytes are no units, or if there are layers.
template <class Use>
bool for_each_av1_unit(Bytes packet, const Use& use) {
  size_t at = 0;
  while (at < packet.size()) {
    const size_t begin = at;
    const int header = packet[at++];
    constexpr int kForbidden = 0x80, kExtension = 4, kHasSize = 2;
    if ((header & kForbidden) != 0 || (header & kExtension) != 0) return false;
    uint64_t size = packet.size() - at;
    if ((header & kHasSize) != 0) {
      size = 0;
      for (int shift = 0;; shift += 7) {
        if (shift > 28 || at == packet.size()) return false;
        const int byte = packet[at++];
        size |= static_cast<uint64_t>(byte & 127) << shift;
        if (byte < 128) break;
      }
    }
    if (size > packet.size() - at) return false;
    use(header >> 3 & 15, packet.subspan(at, size), begin);
    at += size;
  }
  return true;
}

// The unit in the extradata: after 4 bytes of "av1C", or by itself.
Bytes sequence_header_of(const StreamFacts& facts) {
  Bytes extradata(facts.extradata()), found;
  constexpr int kMarker = 0x81;
  if (extradata.size() >= 4 && extradata[0] == kMarker) extradata = extradata.subspan(4);
  const bool whole = for_each_av1_unit(extradata, [&](int type, Bytes unit, size_t) {
    if (type == kSequenceHeader) found = unit;
  });
  return whole ? found : Bytes();
}

// What frame headers depend on.
struct Av1Sequence {
  bool known = false;  // false, too, of streams with layers or a model of the decoder's buffers
  uint32_t screen_tools = 0, integer_motion = 0;  // 2: each frame says it
  int order_bits = 0, id_bits = 0;
  bool operator==(const Av1Sequence&) const = default;
};

Av1Sequence read_sequence(Bytes unit) {
  constexpr uint32_t kEachFrame = 2;
  Av1Sequence sequence;
  BitReader bits(unit);
  bits.bits(4);                            // profile, still_picture
  if (bits.bits(1) == 1) return sequence;  // reduced_still_picture_header
  if (bits.bits(1) == 1) {                 // timing_info
    bits.bits(32), bits.bits(32);
    if (bits.bits(1) == 1) bits.unsigned_number();
    if (bits.bits(1) == 1) return sequence;  // decoder_model_info
  }
  const bool delays = bits.bits(1) == 1;
  if (bits.bits(5) != 0 || bits.bits(12) != 0) return sequence;  // operating points
  constexpr uint32_t kLevelsWithoutTier = 7;
  if (bits.bits(5) > kLevelsWithoutTier) bits.bits(1);
  if (delays && bits.bits(1) == 1) bits.bits(4);
  const int width = static_cast<int>(bits.bits(4)) + 1, height = static_cast<int>(bits.bits(4)) + 1;
  bits.bits(width), bits.bits(height);
  if (bits.bits(1) == 1) {  // numbers of frames
    const uint32_t delta = bits.bits(4), additional = bits.bits(3);
    sequence.id_bits = static_cast<int>(delta + additional + 3);
  }
  bits.bits(7);  // tools
  const bool order = bits.bits(1) == 1;
  if (order) bits.bits(2);
  sequence.screen_tools = bits.bits(1) == 1 ? kEachFrame : bits.bits(1);
  sequence.integer_motion = kEachFrame;
  if (sequence.screen_tools > 0 && bits.bits(1) == 0) sequence.integer_motion = bits.bits(1);
  if (order) sequence.order_bits = static_cast<int>(bits.bits(3)) + 1;
  sequence.known = !bits.ended();
  return sequence;
}

struct Av1Frame {
  bool shown = false;
  bool stored = true;  // for other frames
};

Av1Frame read_frame(const Av1Sequence& sequence, Bytes unit) {
  constexpr uint32_t kKey = 0, kIntra = 2, kSwitch = 3, kEachFrame = 2;
  BitReader bits(unit);
  if (bits.bits(1) == 1) return {.shown = true};  // show_existing_frame, which may store it
  const uint32_t type = bits.bits(2);
  const bool shown = bits.bits(1) == 1, intra = type == kKey || type == kIntra;
  if (type == kSwitch || (type == kKey && shown)) return {.shown = shown};
  if (!shown) bits.bits(1);  // showable_frame
  const bool resilient = bits.bits(1) == 1;
  bits.bits(1);  // disable_cdf_update
  const uint32_t screen_tools =
      sequence.screen_tools == kEachFrame ? bits.bits(1) : sequence.screen_tools;
  if (screen_tools == 1 && sequence.integer_motion == kEachFrame) bits.bits(1);
  bits.bits(sequence.id_bits);
  bits.bits(1);  // frame_size_override
  bits.bits(sequence.order_bits);
  if (!intra && !resilient) bits.bits(3);  // primary_ref_frame
  const bool stored = bits.bits(8) != 0;
  return {.shown = shown, .stored = stored || bits.ended()};
}

// As PacketFacts::needed. Nothing of a frame outlives it unless it is stored (AV1, 7.20).
size_t needed_of_av1(const StreamFacts& facts, Bytes packet) {
  const Bytes header = sequence_header_of(facts);
  const Av1Sequence sequence = read_sequence(header);
  if (!sequence.known) return packet.size();
  int frames = 0;
  Av1Frame last;
  size_t place = 0;  // of the last frame
  bool plain = true;
  const bool whole = for_each_av1_unit(packet, [&](int type, Bytes unit, size_t begin) {
    if (type == kFrame || type == kFrameHeader) {
      plain = plain && !last.shown;  // a picture that comes before others is the one of the packet
      last = read_frame(sequence, unit);
      place = frames++ == 0 ? 0 : begin;
    } else if (type == kSequenceHeader) {
      plain = false;
    } else {
      plain = plain && (type == kDelimiter || type == kMetadata || type == kPadding ||
                        (type == kTileGroup && frames > 0));
    }
  });
  return whole && plain && last.shown && !last.stored ? place : packet.size();
}

// Whether frame headers mean something else from a packet on than with the extradata.
bool changes_av1(const StreamFacts& facts, Bytes packet) {
  const Av1Sequence sequence = read_sequence(sequence_header_of(facts));
  bool changes = false;
  const bool whole = for_each_av1_unit(packet, [&](int type, Bytes unit, size_t) {
    changes = changes || (type == kSequenceHeader && read_sequence(unit) != sequence);
  });
  return changes || !whole;
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
  if (codec == "h264")
    return {.start = key ? start_of_h264(facts, packet) : Start::kNone,
            .needed = is_unreferenced_h264(facts, packet) ? 0 : packet.size()};
  if (codec == "hevc") return {.start = key ? start_of_hevc(facts, packet) : Start::kNone};
  if (codec == "vp8") return {.start = closed, .pictures = (packet[0] >> 4) & 1};
  if (codec == "vp9") return {.start = closed, .pictures = pictures_of_vp9(packet)};
  if (codec == "av1")
    return {.start = closed,
            .needed = needed_of_av1(facts, packet),
            .changes = changes_av1(facts, packet)};
  // Pictures that follow a key frame may be shown before it.
  constexpr std::array kOpen = {"mpeg1video", "mpeg2video", "mpeg4",     "h263",
                                "flv1",       "msmpeg4v2",  "msmpeg4v3", "theora"};
  for (const char* name : kOpen)
    if (codec == name) return {.start = key ? Start::kOpen : Start::kNone};
  return {};
}

}  // namespace torchdali::io::video
