// SPDX-License-Identifier: Apache-2.0
#include "io/video/bitstream/nal_units.h"

#include <algorithm>
#include <array>

#include "io/video/bitstream/units.h"

namespace torchdali::io::video {
namespace {

// Bytes of the length before each NAL unit; 0 if units begin with start codes.
int length_bytes(const StreamFacts& facts, bool hevc) {
  const auto& extradata = facts.extradata();
  const size_t at = hevc ? 21 : 4;
  if (extradata.size() < (hevc ? 23U : 7U) || extradata[0] != 1) return 0;
  return (extradata[at] & 3) + 1;
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

// nuh_layer_id: 0 of the pictures that are decoded.
int view_of_hevc(Bytes unit) { return unit.size() > 1 ? (unit[0] & 1) << 5 | unit[1] >> 3 : 0; }

}  // namespace

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

bool is_unreferenced_hevc(const StreamFacts& facts, Bytes packet) {
  bool slices = false, others = false;
  for_each_unit(packet, length_bytes(facts, true), [&](Bytes unit) {
    constexpr int kReference = 1, kReserved = 16;  // even types below 16: no reference of the layer
    constexpr int kDelimiter = 35, kFiller = 38, kPrefixSei = 39, kSuffixSei = 40;
    const int type = unit[0] >> 1 & 63;
    if (type < kReserved && (type & kReference) == 0 && view_of_hevc(unit) == 0) slices = true;
    else if (type != kDelimiter && type != kFiller && type != kPrefixSei && type != kSuffixSei)
      others = true;
    return !others;
  });
  return slices && !others;
}

uint8_t layer_of_hevc(const StreamFacts& facts, Bytes packet) {
  int highest = 0;
  for_each_unit(packet, length_bytes(facts, true), [&](Bytes unit) {
    constexpr int kParameters = 32;  // from there on, units have no pictures
    const int type = unit[0] >> 1 & 63;
    if (type < kParameters && unit.size() > 1) highest = std::max(highest, (unit[1] & 7) - 1);
    return true;
  });
  return static_cast<uint8_t>(highest);
}

}  // namespace torchdali::io::video
