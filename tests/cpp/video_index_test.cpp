// SPDX-License-Identifier: Apache-2.0
// Indices of videos as they are stored: round trips, and every kind of damage.
// sources: csrc/io/video/index.cpp csrc/io/content_hash.cpp
// sanitizers: address
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "expect.h"
#include "io/content_hash.h"
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

}  // namespace
}  // namespace torchdali::io::video

int main() {
  using namespace torchdali::io::video;  // NOLINT: a program of its own
  stored_indices_are_the_same();
  damaged_indices_are_errors();
  indices_that_do_not_fit_are_errors();
}
