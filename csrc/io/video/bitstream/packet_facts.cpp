// SPDX-License-Identifier: Apache-2.0
#include "io/video/bitstream/packet_facts.h"

#include <algorithm>
#include <array>

#include "io/video/bitstream/av1.h"
#include "io/video/bitstream/bit_reader.h"
#include "io/video/bitstream/mpeg.h"
#include "io/video/bitstream/nal_units.h"

namespace torchdali::io::video {
namespace {

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
  if (codec == "h264")
    return {.start = key ? start_of_h264(facts, packet) : Start::kNone,
            .needed = is_unreferenced_h264(facts, packet) ? 0 : packet.size()};
  if (codec == "hevc")
    return {.start = key ? start_of_hevc(facts, packet) : Start::kNone,
            .needed = is_unreferenced_hevc(facts, packet) ? 0 : packet.size(),
            .layer = layer_of_hevc(facts, packet)};
  if (codec == "vp8") return {.start = closed, .pictures = (packet[0] >> 4) & 1};
  if (codec == "vp9") return {.start = closed, .pictures = pictures_of_vp9(packet)};
  if (codec == "av1")
    return {.start = closed,
            .needed = needed_of_av1(facts, packet),
            .changes = changes_av1(facts, packet)};
  // Pictures that follow a key frame may be shown before it.
  const Start open = key ? Start::kOpen : Start::kNone;
  if (codec == "mpeg1video" || codec == "mpeg2video")
    return {.start = open, .needed = is_unreferenced_mpeg2(packet) ? 0 : packet.size()};
  if (codec == "mpeg4")
    return {.start = open,
            .needed = is_unreferenced_mpeg4(facts, packet) ? 0 : packet.size(),
            .changes = is_interlaced_mpeg4(packet)};
  constexpr std::array kOpen = {"h263", "flv1", "msmpeg4v2", "msmpeg4v3", "theora"};
  for (const char* name : kOpen)
    if (codec == name) return {.start = open};
  return {};
}

}  // namespace torchdali::io::video
