// SPDX-License-Identifier: Apache-2.0
// What packets of videos say: the starts of each codec, and the bytes that other pictures need,
// which are those of the specifications that the headers of bitstream/ name.
// sources: csrc/io/video/index.cpp csrc/io/content_hash.cpp csrc/io/video/bitstream/av1.cpp
// sources: csrc/io/video/bitstream/mpeg.cpp csrc/io/video/bitstream/nal_units.cpp
// sources: csrc/io/video/bitstream/packet_facts.cpp
// sanitizers: address
#include <cstring>
#include <string>
#include <vector>

#include "expect.h"
#include "io/video/bitstream/packet_facts.h"
#include "io/video/index.h"

namespace torchdali::io::video {
namespace {

using Bytes = std::vector<uint8_t>;

PacketFacts look(const char* codec, const Bytes& packet, bool key = true,
                 const Bytes& extradata = {}) {
  StreamFacts facts;
  std::strcpy(facts.mutable_facts().codec, codec);
  facts.mutable_extradata() = extradata;
  return look_at(facts, packet, key);
}

// Units after start codes.
Bytes units(const std::vector<Bytes>& all) {
  Bytes out;
  for (const Bytes& unit : all) {
    out.insert(out.end(), {0, 0, 1});
    out.insert(out.end(), unit.begin(), unit.end());
  }
  return out;
}

void starts_of_h264() {
  const Bytes idr = {0x65, 0x88}, slice = {0x41, 0x9a}, delimiter = {9, 0xf0};
  const Bytes at_once = {6, 6, 1, 0xc0};  // a recovery point after 0 frames
  const Bytes later = {6, 6, 1, 0x40};    // after 1
  const Bytes other_first = {6, 5, 2, 1, 2, 6, 1, 0x80};
  EXPECT(look("h264", units({delimiter, idr})).start == Start::kClosed);
  EXPECT(look("h264", units({slice})).start == Start::kNone);
  EXPECT(look("h264", units({slice, idr})).start == Start::kNone);  // up to the first slice
  EXPECT(look("h264", units({at_once, slice})).start == Start::kOpen);
  EXPECT(look("h264", units({other_first, slice})).start == Start::kOpen);
  EXPECT(look("h264", units({later, slice})).start == Start::kNone);
  EXPECT(look("h264", units({idr}), false).start == Start::kNone);
  for (const int bytes : {1, 2, 4}) {
    Bytes extradata(7), packet(static_cast<size_t>(bytes));
    extradata[0] = 1;
    extradata[4] = static_cast<uint8_t>(bytes - 1);
    packet.back() = 2;
    packet.insert(packet.end(), idr.begin(), idr.end());
    EXPECT(look("h264", packet, true, extradata).start == Start::kClosed);
    packet[static_cast<size_t>(bytes) - 1] = 255;  // longer than the packet
    EXPECT(look("h264", packet, true, extradata).start == Start::kClosed);
    packet.resize(static_cast<size_t>(bytes));
    EXPECT(look("h264", packet, true, extradata).start == Start::kNone);
  }
}

void starts_of_hevc() {
  const auto start = [](int type) {
    return look("hevc", units({{0x40, 1}, {static_cast<uint8_t>(type << 1), 1}})).start;
  };
  for (const int type : {0, 1, 9}) EXPECT(start(type) == Start::kNone);
  for (const int type : {16, 17, 18}) EXPECT(start(type) == Start::kBroken);
  for (const int type : {19, 20}) EXPECT(start(type) == Start::kClosed);
  EXPECT(start(21) == Start::kOpen);
}

bool is_unneeded(const char* codec, const Bytes& packet, const Bytes& extradata = {}) {
  return look(codec, packet, false, extradata).needed == 0;
}

void layers_of_hevc() {
  const Bytes delimiter = {35 << 1, 1}, sei = {39 << 1, 1}, parameters = {34 << 1, 1};
  const Bytes trail_n = {0, 1}, trail_r = {1 << 1, 1}, rasl_n = {8 << 1, 2}, view = {0, 1 << 3 | 1};
  EXPECT(is_unneeded("hevc", units({delimiter, sei, trail_n})));
  EXPECT(is_unneeded("hevc", units({rasl_n})));
  EXPECT(!is_unneeded("hevc", units({trail_r})));
  EXPECT(!is_unneeded("hevc", units({parameters, trail_n})));
  EXPECT(!is_unneeded("hevc", units({trail_n, view})));
  EXPECT(!is_unneeded("hevc", units({delimiter})));
  EXPECT(look("hevc", units({trail_n})).layer == 0);
  EXPECT(look("hevc", units({delimiter, rasl_n})).layer == 1);
}

void unneeded_pictures_of_mpeg2() {
  const Bytes b = {0, 0, 3 << 3}, p = {0, 0, 2 << 3}, slice = {1, 0x12}, sequence = {0xb3, 1};
  const Bytes frame = {0xb5, 0x81, 0x11, 0x13}, field = {0xb5, 0x81, 0x11, 0x12};
  const Bytes matrix = {0xb5, 0x31, 0x11, 0x13};
  EXPECT(is_unneeded("mpeg1video", units({b, slice})));
  EXPECT(is_unneeded("mpeg2video", units({b, frame, slice, {0xaf, 1}})));
  EXPECT(!is_unneeded("mpeg2video", units({p, frame, slice})));
  EXPECT(!is_unneeded("mpeg2video", units({b, field, slice})));
  EXPECT(!is_unneeded("mpeg2video", units({b, frame, matrix, slice})));  // lasts
  EXPECT(!is_unneeded("mpeg2video", units({sequence, b, frame, slice})));
  EXPECT(!is_unneeded("mpeg2video", units({b, slice, b, slice})));
  EXPECT(!is_unneeded("mpeg2video", units({slice})));
}

void pictures_of_vp8_and_vp9() {
  EXPECT(look("vp8", {0x10}).pictures == 1 && look("vp8", {0x00}).pictures == 0);
  const Bytes shown = {0x82}, hidden = {0x80};  // show_frame is bit 1 for profile 0
  EXPECT(look("vp9", shown).pictures == 1 && look("vp9", hidden).pictures == 0);
  EXPECT(look("vp9", {0x88}).pictures == 1);  // show_existing_frame
  // Superframes: two frames of 1 byte, whose sizes have 1 byte each.
  EXPECT(look("vp9", {0x80, 0x82, 0xc1, 1, 1, 0xc1}).pictures == 1);
  EXPECT(look("vp9", {0x82, 0x82, 0xc1, 1, 1, 0xc1}).pictures == 2);
  EXPECT(look("vp9", {0x82, 0x82, 0xc1, 1, 9, 0xc1}).pictures == -1);  // too large
  EXPECT(look("vp9", {0xc1}).pictures >= 0);                           // no room for an index
  EXPECT(look("vp9", {}).pictures == 0);
}

// Bits as they are written, with zeros up to a whole byte.
Bytes bits(const std::string& text) {
  Bytes out;
  size_t count = 0;
  for (const char c : text) {
    if (c == ' ') continue;
    if (count++ % 8 == 0) out.push_back(0);
    if (c == '1') out.back() |= static_cast<uint8_t>(0x80 >> (count - 1) % 8);
  }
  return out;
}
Bytes join(const std::vector<Bytes>& all) {
  Bytes out;
  for (const Bytes& one : all) out.insert(out.end(), one.begin(), one.end());
  return out;
}
// A layer of MPEG-4 part 2, of 96 x 64, with or without what precedes its shape, and interlaced or
// not.
Bytes mpeg4_layer(bool longer, bool interlaced) {
  const std::string buffers = std::string(79, '1');
  const std::string size = "1 0000001100000 1 0000001000000 1";
  const std::string begin = longer ? "0 00000001 1 0001000 1111 0000000100000001 1 011 1" + buffers
                                   : "0 00000001 0 0001 0";
  // A rectangle; 25 in a second, each of which has the same time.
  const std::string rate = "00 1 0000000000011001 1 1 00001";
  const Bytes code = {0x20};
  return join({code, bits(begin + rate + size + (interlaced ? "1" : "0") + "1111111111")});
}

void unneeded_pictures_of_mpeg4() {
  const Bytes b = {0xb6, 2 << 6}, p = {0xb6, 1 << 6}, group = {0xb3, 1};
  for (const bool longer : {false, true}) {
    const Bytes plain = units({{0xb0, 1}, mpeg4_layer(longer, false)});
    const Bytes interlaced = units({mpeg4_layer(longer, true)});
    EXPECT(is_unneeded("mpeg4", units({b}), plain));
    EXPECT(!is_unneeded("mpeg4", units({b}), interlaced));
    EXPECT(!look("mpeg4", plain, true, plain).changes);
    EXPECT(look("mpeg4", interlaced, true, plain).changes);
    EXPECT(!is_unneeded("mpeg4", units({p}), plain));
    EXPECT(!is_unneeded("mpeg4", units({p, b}), plain));  // both in one packet
    EXPECT(!is_unneeded("mpeg4", units({group, b}), plain));
    EXPECT(!is_unneeded("mpeg4", {}, plain));
  }
  EXPECT(!is_unneeded("mpeg4", units({b})));                         // no layer is known
  EXPECT(!is_unneeded("mpeg4", units({b}), units({{0x20, 0, 0}})));  // cut
}

// A unit of AV1 with its size.
Bytes av1_unit(int type, const Bytes& contents) {
  return join(
      {{static_cast<uint8_t>(type << 3 | 2), static_cast<uint8_t>(contents.size())}, contents});
}

// The header of a sequence; `ids`: whether frames have numbers, of 3 bits.
Bytes av1_sequence(bool ids, const std::string& points = "00000 000000000000") {
  const std::string numbers = ids ? "1 0000 000" : "0";
  // Profile and kind; operating points; level; size; numbers; tools; order hints of 7 bits, and
  // tools for screens that each frame chooses.
  return bits("000 0 0 0 0" + points + "00000 0000 0000 1 1" + numbers +
              "0000000 1 00 1 1 110 0000000000000");
}
// A frame; `head` is from show_existing_frame to force_integer_mv.
Bytes av1_frame(const std::string& head, const std::string& stored, const std::string& id = "") {
  return av1_unit(6, bits(head + id + "0 0000011 010" + stored + "1111000011110000"));
}

void bytes_of_av1_that_others_need() {
  constexpr auto kNone = "00000000", kOne = "00010000";
  const std::string shown = "0 01 1 0 0 0", hidden = "0 01 0 1 0 0 0";
  const Bytes header = av1_sequence(false);
  const Bytes configuration = join({{0x81, 0, 0, 0}, av1_unit(1, header)});
  const auto needed = [&](const Bytes& packet, const Bytes& extradata) {
    return look("av1", packet, false, extradata).needed;
  };
  const Bytes leaf = av1_frame(shown, kNone), stored = av1_frame(shown, kOne);
  const Bytes first = av1_frame(hidden, kOne), delimiter = {0x12, 0}, metadata = {0x2a, 1, 9};
  for (const Bytes& extradata : {configuration, av1_unit(1, header)}) {
    EXPECT(needed(leaf, extradata) == 0);
    EXPECT(needed(stored, extradata) == stored.size());
    EXPECT(needed(join({delimiter, metadata, leaf}), extradata) == 0);
    EXPECT(needed(join({first, leaf}), extradata) == first.size());
    EXPECT(needed(first, extradata) == first.size());
  }
  // Tools for screens, which take one more bit, and headers apart from their tiles.
  EXPECT(needed(av1_frame("0 01 1 0 0 1 0", kNone), configuration) == 0);
  EXPECT(needed(av1_frame("0 01 1 0 0 1 0", "00000001"), configuration) > 0);
  Bytes apart = leaf;
  apart[0] = 3 << 3 | 2;
  EXPECT(needed(join({apart, {0x22, 1, 7}}), configuration) == 0);
  EXPECT(needed(join({{0x22, 1, 7}, apart}), configuration) > 0);
  // The first bits of a number look like those of `stored`.
  const Bytes with_ids = av1_unit(1, av1_sequence(true));
  EXPECT(needed(av1_frame(shown, kNone, "111"), with_ids) == 0);
  EXPECT(needed(av1_frame(shown, "10000000", "000"), with_ids) > 0);
  // Pictures that others are shown from or with; two of them; other units; damage.
  const Bytes existing = av1_unit(3, bits("1 000 0000"));
  EXPECT(needed(existing, configuration) == existing.size());
  EXPECT(needed(join({leaf, leaf}), configuration) > leaf.size());
  EXPECT(needed(join({leaf, stored}), configuration) > leaf.size());
  EXPECT(needed(join({av1_unit(1, header), leaf}), configuration) > leaf.size());
  EXPECT(needed(join({leaf, {7 << 3 | 2, 0}}), configuration) > leaf.size());
  EXPECT(needed(av1_frame("0 00 1 0 0", kNone), configuration) > 0);  // a key frame
  EXPECT(needed({0x32, 9, 0x12}, configuration) == 3);                // longer than the packet
  EXPECT(needed(av1_unit(6, {0x10}), configuration) == 3);            // cut
  EXPECT(needed({0x36, 0, 1, 0x10}, configuration) == 4);             // of a layer
  // Without the sequence header, or with layers, nothing is known.
  EXPECT(needed(leaf, {}) == leaf.size());
  EXPECT(needed(leaf, av1_unit(1, {0})) == leaf.size());
  EXPECT(needed(leaf, av1_unit(1, av1_sequence(false, "00000 000000000001"))) == leaf.size());
  // A sequence header by which frame headers are read otherwise is a change; one with other tools
  // is none, as encoders write them.
  Bytes tools = header;
  tools[5] ^= 0x40;
  EXPECT(tools != header);
  EXPECT(!look("av1", join({av1_unit(1, tools), leaf}), true, configuration).changes);
  EXPECT(!look("av1", join({av1_unit(1, header), leaf}), true, configuration).changes);
  EXPECT(look("av1", join({av1_unit(1, av1_sequence(true)), leaf}), true, configuration).changes);
}

void pictures_of_h264_that_others_need() {
  const Bytes leaf = {0x01, 0x9a}, reference = {0x41, 0x9a}, parameters = {0x67, 1}, sei = {6, 5};
  const auto needed = [](const Bytes& packet) { return look("h264", packet, false).needed; };
  EXPECT(needed(units({leaf})) == 0 && needed(units({{9, 0xf0}, sei, leaf, leaf})) == 0);
  for (const Bytes& other : {reference, parameters})
    for (const Bytes& packet : {units({leaf, other}), units({other, leaf}), units({other})})
      EXPECT(needed(packet) == packet.size());
  EXPECT(needed(units({sei})) > 0);
}

}  // namespace
}  // namespace torchdali::io::video

int main() {
  using namespace torchdali::io::video;  // NOLINT: a program of its own
  starts_of_h264();
  starts_of_hevc();
  layers_of_hevc();
  unneeded_pictures_of_mpeg2();
  unneeded_pictures_of_mpeg4();
  pictures_of_vp8_and_vp9();
  bytes_of_av1_that_others_need();
  pictures_of_h264_that_others_need();
}
