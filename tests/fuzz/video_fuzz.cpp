// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, as an index of a video or as a packet; the first byte says which. An index
// gets the header with the right hash, which a fuzzer cannot guess. What is parsed lies within the
// file, and can be stored and parsed again. Packets of H.264 and H.265 say the same in both of
// their forms, with start codes and with lengths.
// sources: csrc/io/video/index.cpp csrc/io/content_hash.cpp csrc/io/video/bitstream/av1.cpp
// sources: csrc/io/video/bitstream/mpeg.cpp csrc/io/video/bitstream/nal_units.cpp
// sources: csrc/io/video/bitstream/packet_facts.cpp
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../cpp/expect.h"
#include "core/error.h"
#include "io/content_hash.h"
#include "io/video/bitstream/packet_facts.h"
#include "io/video/index.h"

namespace torchdali::io::video {
namespace {

using Input = std::span<const uint8_t>;
constexpr std::string_view kVersion = "v";

std::vector<uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

void check_index(Input text, int64_t file_size) {
  const Index index = parse_index(text, std::string(kVersion), file_size);
  EXPECT(index.facts->width > 0 && index.facts->height > 0);
  for (const IndexedPacket& packet : index.packets) {
    EXPECT(packet.size > 0 && packet.needed <= packet.size && packet.offset <= file_size);
    if (index.direct) EXPECT(packet.offset >= 0 && packet.offset + packet.size <= file_size);
  }
  std::vector<bool> seen(index.packets.size());
  for (size_t i = 0; i < index.frames.size(); ++i) {
    const size_t packet = index.frames[i];
    EXPECT(packet < seen.size() && !seen[packet]);
    seen[packet] = true;
    if (i > 0) EXPECT(index.packets[index.frames[i - 1]].pts <= index.packets[packet].pts);
  }
  const std::string stored = serialize(index, std::string(kVersion));
  const Index again = parse_index(bytes_of(stored), std::string(kVersion), file_size);
  EXPECT(serialize(again, std::string(kVersion)) == stored);
  EXPECT(again.frames == index.frames && again.packets.size() == index.packets.size());
}

// An index without its header; the first two bytes are the size of the file.
void run_index(Input input) {
  if (input.size() < 2) return;
  const int64_t file_size = input[0] << 8 | input[1];
  std::string rest(1, static_cast<char>(kVersion.size()));
  rest += kVersion;
  rest.append(reinterpret_cast<const char*>(input.data()) + 2, input.size() - 2);
  const uint64_t hash = content_hash(rest);
  std::string text = "TDVI";
  text.append(reinterpret_cast<const char*>(&kIndexVersion), sizeof kIndexVersion);
  text.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  check_index(bytes_of(text + rest), file_size);
}

void run_damaged_index(Input input) { check_index(input, 1 << 16); }

StreamFacts facts_of(const char* codec, Input extradata, bool intra_only) {
  StreamFacts facts;
  std::strncpy(facts.mutable_facts().codec, codec, sizeof facts->codec - 1);
  facts.mutable_facts().intra_only = intra_only;
  facts.mutable_extradata().assign(extradata.begin(), extradata.end());
  return facts;
}

PacketFacts look(const StreamFacts& facts, Input packet, bool key) {
  const std::vector<uint8_t> exact(packet.begin(), packet.end());  // so that reading on is seen
  const PacketFacts found = look_at(facts, exact, key);
  EXPECT(found.pictures >= -1 && found.pictures <= 8);
  if (packet.empty()) return found;
  EXPECT(found.needed <= packet.size() || found.needed == PacketFacts().needed);
  if (!key && !facts->intra_only) EXPECT(found.start == Start::kNone);
  return found;
}

// The same units, each after its length of 4 bytes instead of a start code.
std::vector<uint8_t> with_lengths(Input packet) {
  const std::string_view text(reinterpret_cast<const char*>(packet.data()), packet.size());
  constexpr std::string_view kCode("\0\0\1", 3);
  std::vector<uint8_t> out;
  for (size_t at = text.find(kCode); at != text.npos;) {
    const size_t next = text.find(kCode, at + 3);
    const std::string_view unit = text.substr(at + 3, next == text.npos ? next : next - at - 3);
    for (int shift = 24; shift >= 0; shift -= 8)
      out.push_back(static_cast<uint8_t>(unit.size() >> shift));
    out.insert(out.end(), unit.begin(), unit.end());
    at = next;
  }
  return out;
}

// Bytes: the codec, the size of the extradata, the extradata, the packet.
void run_packet(Input input) {
  constexpr std::array kCodecs = {"h264",  "hevc",       "vp8",   "vp9",   "av1",
                                  "mpeg4", "mpeg2video", "mjpeg", "theora"};
  if (input.size() < 2) return;
  const char* codec = kCodecs[input[0] % kCodecs.size()];
  const size_t size = std::min<size_t>(input[1], input.size() - 2);
  const Input extradata = input.subspan(2, size), packet = input.subspan(2 + size);
  const StreamFacts facts = facts_of(codec, extradata, input[0] % kCodecs.size() == 7);
  (void)is_known(facts);
  (void)look(facts, packet, false);
  (void)look(facts, packet, true);
}

// Bytes: H.264 or H.265, a packet with start codes.
void run_both_forms(Input input) {
  if (input.empty()) return;
  const bool hevc = (input[0] & 1) != 0;
  const char* codec = hevc ? "hevc" : "h264";
  std::vector<uint8_t> configuration(hevc ? 23 : 7);
  configuration[0] = 1;
  configuration[hevc ? 21 : 4] = 3;  // lengths of 4 bytes
  const Input packet = input.subspan(1);
  const std::vector<uint8_t> other = with_lengths(packet);
  if (other.empty()) return;
  const PacketFacts a = look(facts_of(codec, {}, false), packet, true);
  const PacketFacts b = look(facts_of(codec, configuration, false), other, true);
  EXPECT(a.start == b.start && a.pictures == b.pictures && a.layer == b.layer);
  EXPECT((a.needed == 0) == (b.needed == 0));
}

}  // namespace
}  // namespace torchdali::io::video

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchdali::io::video;  // NOLINT: a program of its own
  constexpr std::array kParsers = {run_index, run_damaged_index, run_packet, run_both_forms};
  if (size == 0) return 0;
  try {
    kParsers[*data % kParsers.size()]({data + 1, size - 1});
  } catch (const torchdali::Error& e) {
    EXPECT(!e.message().empty() && e.kind() != torchdali::ErrorKind::kInternal);
  }
  return 0;
}
