// SPDX-License-Identifier: Apache-2.0
// Indices of videos as they are stored, and what packets say: round trips, every kind of damage,
// and the starts of each codec, which are those of the specifications that bitstream.h names.
// sources: csrc/io/video/index.cpp csrc/io/video/bitstream.cpp csrc/io/content_hash.cpp
// sanitizers: address
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "expect.h"
#include "io/content_hash.h"
#include "io/video/bitstream.h"
#include "io/video/index.h"

namespace torchdali::io::video {
namespace {

constexpr int64_t kFileSize = 1000;
const std::string kVersion = "1000 17.5";  // NOLINT(cert-err58-cpp)

using Bytes = std::vector<uint8_t>;

Index example(bool direct) {
  libav::Facts facts;
  std::strcpy(facts.codec, "h264");
  std::strcpy(facts.pixel_format, "yuv420p");
  facts.width = 64;
  facts.height = 48;
  facts.rotation = 270;
  facts.reorder = 2;
  facts.time_base = {1, 12800};
  facts.average_rate = {25, 1};
  facts.start = std::numeric_limits<int64_t>::min();
  facts.duration = std::numeric_limits<int64_t>::max();
  const Bytes extradata = {1, 2, 3};
  facts.extradata = extradata.data();
  facts.extradata_size = 3;
  Index index;
  index.facts = StreamFacts(facts);
  index.direct = direct;
  index.packets = {
      {.pts = 0, .offset = 40, .size = 300, .needed = 300, .check = 7, .key = true, .start = true},
      {.pts = 1536, .offset = 340, .size = 1, .check = 0xffffffff},
      {.pts = 512, .offset = 999, .size = 1, .needed = 1, .check = 0},
      {.pts = -512, .offset = 0, .size = 40, .needed = 17, .check = 3, .bad = true},
  };
  if (direct)
    for (IndexedPacket& packet : index.packets) packet.check = 0;  // not stored
  index.frames = {3, 0, 2, 1};
  return index;
}

Bytes stored(const Index& index) {
  const std::string text = serialize(index, kVersion);
  return {text.begin(), text.end()};
}

bool parses(const Bytes& text, const std::string& version = kVersion, int64_t size = kFileSize) {
  try {
    (void)parse_index(text, version, size);
    return true;
  } catch (const Error& e) {
    EXPECT(e.kind() == ErrorKind::kData);
    return false;
  }
}

// Gives what follows the header the right hash.
Bytes with_hash(Bytes text) {
  const uint64_t hash = content_hash(std::span<const uint8_t>(text).subspan(16));
  std::memcpy(text.data() + 8, &hash, sizeof hash);
  return text;
}

void stored_indices_are_the_same() {
  for (const bool direct : {true, false}) {
    const Index index = example(direct);
    const Index found = parse_index(stored(index), kVersion, kFileSize);
    EXPECT(found.frames == index.frames && found.direct == direct);
    EXPECT(found.packets.size() == index.packets.size());
    for (size_t i = 0; i < found.packets.size(); ++i) {
      const IndexedPacket &a = found.packets[i], &b = index.packets[i];
      EXPECT(a.pts == b.pts && a.offset == b.offset && a.size == b.size && a.check == b.check);
      EXPECT(a.key == b.key && a.start == b.start && a.bad == b.bad && a.needed == b.needed);
    }
    const libav::Facts &a = *found.facts, &b = *index.facts;
    EXPECT(std::string(a.codec) == b.codec && std::string(a.pixel_format) == b.pixel_format);
    EXPECT(a.width == 64 && a.height == 48 && a.rotation == 270 && a.reorder == 2);
    EXPECT(a.time_base.den == 12800 && a.average_rate.num == 25);
    EXPECT(a.start == b.start && a.duration == b.duration);
    EXPECT(found.facts.extradata() == index.facts.extradata());
  }
}

void damaged_indices_are_errors() {
  for (const bool direct : {true, false}) {
    const Bytes text = stored(example(direct));
    EXPECT(parses(text));
    EXPECT(!parses(text, "1000 17.6"));
    for (size_t size = 0; size < text.size(); ++size) {
      const Bytes cut(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT(!parses(cut));
      if (size >= 16) EXPECT(!parses(with_hash(cut)));
    }
    for (size_t i = 0; i < text.size(); ++i) {
      Bytes other = text;
      other[i] ^= static_cast<uint8_t>(1 << i % 8);
      EXPECT(!parses(other));
      if (i >= 16) (void)parses(with_hash(other));  // another index, or an error
    }
    Bytes longer = text;
    longer.push_back(0);
    EXPECT(!parses(with_hash(longer)));
  }
}

// Calls change(index) and returns whether the result parses.
template <class Change>
bool parses_after(const Change& change, bool direct = true) {
  Index index = example(direct);
  change(index);
  return parses(stored(index));
}

void indices_that_do_not_fit_are_errors() {
  EXPECT(!parses(stored(example(true)), kVersion, 999));  // packet 2 ends at 1000
  EXPECT(parses(stored(example(false)), kVersion, 999));  // where it was found
  EXPECT(!parses(stored(example(false)), kVersion, 998));
  EXPECT(!parses_after([](Index& i) { i.packets[0].size = 0; }));
  EXPECT(!parses_after([](Index& i) { i.packets[0].size = 961; }));
  EXPECT(parses_after([](Index& i) { i.packets[0].size = 960; }));
  EXPECT(parses_after([](Index& i) { i.packets[0].needed = 400; }));  // no more than the size
  EXPECT(!parses_after([](Index& i) { i.packets[1].offset = -1; }));
  EXPECT(parses_after([](Index& i) { i.packets[1].offset = -1; }, false));
  EXPECT(!parses_after([](Index& i) { i.packets[1].offset = -2; }, false));
  EXPECT(!parses_after([](Index& i) { i.frames = {0, 0}; }));                    // twice
  EXPECT(!parses_after([](Index& i) { i.frames = {0, 4}; }));                    // no such packet
  EXPECT(!parses_after([](Index& i) { std::swap(i.frames[0], i.frames[1]); }));  // times descend
  EXPECT(!parses_after([](Index& i) { i.frames.assign(5, 0); }));
  EXPECT(!parses_after([](Index& i) { i.facts.mutable_facts().width = 0; }));
  EXPECT(!parses_after([](Index& i) { i.facts.mutable_facts().height = (1 << 16) + 1; }));
  EXPECT(!parses_after([](Index& i) { i.facts.mutable_facts().rotation = 45; }));
  EXPECT(!parses_after([](Index& i) { i.facts.mutable_facts().time_base.den = 0; }));
  EXPECT(!parses_after([](Index& i) { i.facts.mutable_facts().reorder = -1; }));
  EXPECT(!parses_after([](Index& i) { i.facts.mutable_extradata().resize((1 << 24) + 1); }));
  // Extreme times have differences that wrap.
  EXPECT(parses_after([](Index& i) {
    i.packets[3].pts = std::numeric_limits<int64_t>::min();
    i.packets[1].pts = std::numeric_limits<int64_t>::max();
  }));
}

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
  stored_indices_are_the_same();
  damaged_indices_are_errors();
  indices_that_do_not_fit_are_errors();
  starts_of_h264();
  starts_of_hevc();
  pictures_of_vp8_and_vp9();
  bytes_of_av1_that_others_need();
  pictures_of_h264_that_others_need();
}
