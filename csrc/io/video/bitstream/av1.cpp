// SPDX-License-Identifier: Apache-2.0
#include "io/video/bitstream/av1.h"

namespace torchdali::io::video {
namespace {

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

}  // namespace

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

bool changes_av1(const StreamFacts& facts, Bytes packet) {
  const Av1Sequence sequence = read_sequence(sequence_header_of(facts));
  bool changes = false;
  const bool whole = for_each_av1_unit(packet, [&](int type, Bytes unit, size_t) {
    changes = changes || (type == kSequenceHeader && read_sequence(unit) != sequence);
  });
  return changes || !whole;
}

}  // namespace torchdali::io::video
