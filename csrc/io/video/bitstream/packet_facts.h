// SPDX-License-Identifier: Apache-2.0
// What packets say without being decoded: whether decoding can start at them, whether they show one
// picture, and whether others depend on it. Sources of VP8 and VP9, which packet_facts.cpp reads:
// RFC 6386 (9.1), VP9 bitstream specification (6.1, annex B).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "io/video/index.h"

namespace torchdali::io::video {

enum class Start : uint8_t {
  kNone,    // decoding cannot start here
  kClosed,  // nothing after refers to anything before
  kOpen,    // pictures that follow and are shown before may do so
  kBroken,  // these are not shown, if they are there
};

struct PacketFacts {
  Start start = Start::kNone;
  int pictures = 1;  // shown by the packet; -1 if that is not known
  // How many of its bytes, from the first one on, other pictures than the one it shows depend on,
  // if no packet of the stream is of a higher layer than this one.
  size_t needed = std::numeric_limits<size_t>::max();
  uint8_t layer = 0;
  bool changes = false;  // it changes what `needed` of later packets was found by
};

// Whether look_at() knows the codec, so that frames can be counted without decoding.
bool is_known(const StreamFacts& facts);
// `key`: the container says that decoding can start here.
PacketFacts look_at(const StreamFacts& facts, std::span<const uint8_t> packet, bool key);

}  // namespace torchdali::io::video
