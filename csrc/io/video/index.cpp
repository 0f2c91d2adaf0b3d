// SPDX-License-Identifier: Apache-2.0
// Index as bytes: "TDVI", version, hash of the rest; numbers are varints of differences, since most
// packets follow one another.
#include "io/video/index.h"

#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "io/bytes.h"
#include "io/content_hash.h"

namespace torchdali::io::video {
namespace {

constexpr std::array<char, 4> kMagic = {'T', 'D', 'V', 'I'};
constexpr size_t kHeaderBytes = 4 + sizeof(uint32_t) + sizeof(uint64_t);
constexpr size_t kMaxExtradata = 1 << 24;
constexpr int64_t kMaxPacket = 1 << 30;
// Beside the size of a packet.
constexpr int kFlagBits = 4;
constexpr uint64_t kKey = 1, kStart = 2, kBad = 4, kPartly = 8;

class Writer {
 public:
  void number(uint64_t value) {
    while (value >= 128) {
      text_ += static_cast<char>(value | 128);
      value >>= 7;
    }
    text_ += static_cast<char>(value);
  }
  void signed_number(int64_t value) {
    number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void bytes(const void* data, size_t size) {
    number(size);
    text_.append(static_cast<const char*>(data), size);
  }
  void text(std::string_view value) { bytes(value.data(), value.size()); }
  const std::string& result() const { return text_; }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = bytes_.u8();
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    raise(ErrorKind::kData, "a number of an index is too long");
  }
  int64_t signed_number() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  std::span<const uint8_t> bytes(size_t most) {
    const uint64_t size = number();
    TORCHDALI_CHECK_KIND(kData, size <= most && size <= left(), "an index is damaged");
    return bytes_.take(size);
  }
  size_t left() const { return bytes_.left(); }

 private:
  ByteReader bytes_;
};

// Differences wrap, so that any two numbers have one.
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

void put(Writer& to, int64_t value) { to.signed_number(value); }
void put(Writer& to, int32_t value) { to.signed_number(value); }
void put(Writer& to, bool value) { to.number(value ? 1 : 0); }
void put(Writer& to, const libav::Ratio& value) {
  put(to, value.num);
  put(to, value.den);
}
template <size_t n>
void put(Writer& to, const char (&value)[n]) {
  to.text(value);
}

void get(Reader& from, int64_t& value) { value = from.signed_number(); }
void get(Reader& from, int32_t& value) {
  const int64_t wide = from.signed_number();
  value = static_cast<int32_t>(wide);
  TORCHDALI_CHECK_KIND(kData, value == wide, "an index has a number out of range");
}
void get(Reader& from, bool& value) { value = from.number() != 0; }
void get(Reader& from, libav::Ratio& value) {
  get(from, value.num);
  get(from, value.den);
}
template <size_t n>
void get(Reader& from, char (&value)[n]) {
  const auto text = from.bytes(n - 1);
  if (!text.empty()) std::memcpy(value, text.data(), text.size());
  value[text.size()] = '\0';
}

// Calls use(member) for all of them but the extradata.
template <class F, class Use>
void for_each_member(F& facts, const Use& use) {
  use(facts.codec), use(facts.container), use(facts.pixel_format);
  use(facts.tag), use(facts.profile), use(facts.level), use(facts.bits_per_sample);
  use(facts.reorder), use(facts.width), use(facts.height), use(facts.rotation);
  use(facts.range), use(facts.primaries), use(facts.transfer), use(facts.matrix);
  use(facts.field_order), use(facts.time_base), use(facts.average_rate);
  use(facts.start), use(facts.duration), use(facts.frames), use(facts.intra_only);
}

void check_facts(const libav::Facts& facts) {
  constexpr int kMost = 1 << 16;
  TORCHDALI_CHECK_KIND(kData,
                       facts.width > 0 && facts.width <= kMost && facts.height > 0 &&
                           facts.height <= kMost && facts.time_base.num > 0 &&
                           facts.time_base.den > 0 && facts.reorder >= 0 && facts.reorder <= 64 &&
                           facts.rotation >= 0 && facts.rotation < 360 && facts.rotation % 90 == 0,
                       "an index is damaged");
}

}  // namespace

uint32_t packet_check(std::span<const uint8_t> bytes) {
  const uint64_t hash = content_hash(bytes);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

std::string serialize(const Index& index, const std::string& version) {
  Writer to;
  to.text(version);
  for_each_member(*index.facts, [&](const auto& member) { put(to, member); });
  to.bytes(index.facts.extradata().data(), index.facts.extradata().size());
  put(to, index.direct);
  to.number(index.packets.size());
  IndexedPacket last{.pts = 0, .offset = 0};
  for (const IndexedPacket& packet : index.packets) {
    const bool partly = packet.needed < packet.size;
    to.number(static_cast<uint64_t>(packet.size) << kFlagBits | (packet.key ? kKey : 0) |
              (packet.start ? kStart : 0) | (packet.bad ? kBad : 0) | (partly ? kPartly : 0));
    if (partly) to.number(packet.needed);
    to.signed_number(minus(packet.pts, last.pts));
    to.signed_number(minus(packet.offset, last.offset + (index.direct ? last.size : 0)));
    if (!index.direct) to.number(packet.check);
    last = packet;
  }
  to.number(index.frames.size());
  uint32_t before = 0;
  for (const uint32_t frame : index.frames) {
    to.signed_number(static_cast<int64_t>(frame) - before);
    before = frame;
  }
  const uint64_t hash = content_hash(to.result());
  std::string text(kMagic.data(), kMagic.size());
  text.append(reinterpret_cast<const char*>(&kIndexVersion), sizeof kIndexVersion);
  text.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  return text + to.result();
}

Index parse_index(std::span<const uint8_t> text, const std::string& version, int64_t file_size) {
  const auto check = [](bool right) { TORCHDALI_CHECK_KIND(kData, right, "an index is damaged"); };
  uint32_t format = 0;
  uint64_t hash = 0;
  check(text.size() >= kHeaderBytes && std::memcmp(text.data(), kMagic.data(), 4) == 0);
  std::memcpy(&format, text.data() + 4, sizeof format);
  std::memcpy(&hash, text.data() + 8, sizeof hash);
  const auto rest = text.subspan(kHeaderBytes);
  check(format == kIndexVersion && content_hash(rest) == hash);
  Reader from(rest);
  const auto found = from.bytes(1 << 12);
  check(std::string_view(reinterpret_cast<const char*>(found.data()), found.size()) == version);

  Index index;
  for_each_member(index.facts.mutable_facts(), [&](auto& member) { get(from, member); });
  check_facts(*index.facts);
  const auto extradata = from.bytes(kMaxExtradata);
  index.facts.mutable_extradata().assign(extradata.begin(), extradata.end());
  get(from, index.direct);
  const uint64_t packets = from.number();
  check(packets <= from.left());  // each takes a byte at least
  index.packets.reserve(packets);
  IndexedPacket last{.pts = 0, .offset = 0};
  for (uint64_t i = 0; i < packets; ++i) {
    const uint64_t first = from.number(), size = first >> kFlagBits;
    check(size > 0 && size <= kMaxPacket);
    const uint64_t needed = (first & kPartly) == 0 ? size : from.number();
    check(needed <= size);
    IndexedPacket packet{.size = static_cast<uint32_t>(size),
                         .needed = static_cast<uint32_t>(needed),
                         .key = (first & kKey) != 0,
                         .start = (first & kStart) != 0,
                         .bad = (first & kBad) != 0};
    packet.pts = plus(last.pts, from.signed_number());
    packet.offset = plus(last.offset + (index.direct ? last.size : 0), from.signed_number());
    if (index.direct) check(packet.offset >= 0 && packet.offset <= file_size - packet.size);
    else {
      check(packet.offset >= -1 && packet.offset <= file_size);
      packet.check = static_cast<uint32_t>(from.number());
    }
    index.packets.push_back(packet);
    last = packet;
  }
  const uint64_t frames = from.number();
  check(frames <= packets && frames <= from.left());
  index.frames.reserve(frames);
  std::vector<bool> seen(packets);
  int64_t before = 0;
  int64_t time = std::numeric_limits<int64_t>::min();
  for (uint64_t i = 0; i < frames; ++i) {
    before = plus(before, from.signed_number());
    check(before >= 0 && before < static_cast<int64_t>(packets));
    const auto packet = static_cast<size_t>(before);
    check(!seen[packet] && index.packets[packet].pts >= time);
    seen[packet] = true;
    time = index.packets[packet].pts;
    index.frames.push_back(static_cast<uint32_t>(packet));
  }
  check(from.left() == 0);
  return index;
}

}  // namespace torchdali::io::video
