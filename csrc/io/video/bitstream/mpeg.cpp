// SPDX-License-Identifier: Apache-2.0
#include "io/video/bitstream/mpeg.h"

#include <bit>
#include <optional>

#include "io/video/bitstream/units.h"

namespace torchdali::io::video {
namespace {

constexpr int kStartCodes = 0;  // units begin with them

// Whether an extension says that a picture is a frame and not a field.
bool is_frame_extension(Bytes unit) {
  constexpr uint32_t kPictureCoding = 8, kFrame = 3;
  BitReader bits(unit.subspan(1));
  const bool coding = bits.bits(4) == kPictureCoding;
  bits.bits(16), bits.bits(2);  // f_code, intra_dc_precision
  return coding && bits.bits(2) == kFrame;
}

// Whether a video object layer has rectangular frames, which are not interlaced.
bool is_progressive_layer(Bytes unit) {
  constexpr uint32_t kOtherRatio = 15, kRectangle = 0;
  BitReader bits(unit.subspan(1));
  bits.bits(1), bits.bits(8);           // random_accessible_vol, type
  if (bits.bits(1) == 1) bits.bits(7);  // version, priority
  if (bits.bits(4) == kOtherRatio) bits.bits(16);
  if (bits.bits(1) == 1) {                                               // vol_control_parameters
    bits.bits(3);                                                        // chroma_format, low_delay
    if (bits.bits(1) == 1) bits.bits(32), bits.bits(32), bits.bits(15);  // vbv_parameters
  }
  if (bits.bits(2) != kRectangle) return false;
  bits.bits(1);
  const uint32_t resolution = bits.bits(16);
  bits.bits(1);
  // fixed_vop_time_increment has as many bits as numbers below the resolution.
  if (bits.bits(1) == 1) bits.bits(resolution < 2 ? 1 : std::bit_width(resolution - 1));
  bits.bits(1), bits.bits(13), bits.bits(1), bits.bits(13), bits.bits(1);  // width, height
  const bool interlaced = bits.bits(1) == 1;
  return !interlaced && !bits.ended();
}

// Whether all layers that begin in the bytes are progressive; nothing if none begins.
std::optional<bool> has_progressive_layers(Bytes bytes) {
  std::optional<bool> progressive;
  for_each_unit(bytes, kStartCodes, [&](Bytes unit) {
    constexpr int kFirstLayer = 0x20, kLastLayer = 0x2f;
    if (unit[0] >= kFirstLayer && unit[0] <= kLastLayer)
      progressive = progressive.value_or(true) && is_progressive_layer(unit);
    return true;
  });
  return progressive;
}

}  // namespace

bool is_unreferenced_mpeg2(Bytes packet) {
  int pictures = 0;
  bool others = false;
  for_each_unit(packet, kStartCodes, [&](Bytes unit) {
    constexpr int kPicture = 0, kLastSlice = 0xaf, kUserData = 0xb2, kExtension = 0xb5;
    constexpr uint32_t kB = 3;
    const int code = unit[0];
    if (code == kPicture) {
      BitReader bits(unit.subspan(1));
      bits.bits(10);  // temporal_reference
      ++pictures;
      others = others || bits.bits(3) != kB;
    } else if (code == kExtension) {
      others = others || !is_frame_extension(unit);
    } else {
      others = others || (code > kLastSlice && code != kUserData);
    }
    return !others;
  });
  return pictures == 1 && !others;
}

bool is_unreferenced_mpeg4(const StreamFacts& facts, Bytes packet) {
  if (!has_progressive_layers(facts.extradata()).value_or(false)) return false;
  int pictures = 0;
  bool others = false;
  for_each_unit(packet, kStartCodes, [&](Bytes unit) {
    constexpr int kPicture = 0xb6;
    constexpr uint32_t kB = 2;
    ++pictures;
    others = others || unit[0] != kPicture || BitReader(unit.subspan(1)).bits(2) != kB;
    return !others;
  });
  return pictures == 1 && !others;
}

bool is_interlaced_mpeg4(Bytes packet) { return !has_progressive_layers(packet).value_or(true); }

}  // namespace torchdali::io::video
