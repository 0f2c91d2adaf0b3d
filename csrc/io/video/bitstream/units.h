// SPDX-License-Identifier: Apache-2.0
// The units that packets of H.264, HEVC and MPEG-1 to 4 consist of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "io/video/bitstream/bit_reader.h"

namespace torchdali::io::video {

// Calls use(unit) for each unit until it returns false. `length`: bytes of the length before each
// unit; 0 if units begin with start codes.
template <class Use>
void for_each_unit(Bytes packet, int length, const Use& use) {
  if (length > 0) {
    while (packet.size() > static_cast<size_t>(length)) {
      uint64_t size = 0;
      for (int i = 0; i < length; ++i) size = size << 8 | packet[static_cast<size_t>(i)];
      packet = packet.subspan(static_cast<size_t>(length));
      size = std::min<uint64_t>(size, packet.size());
      if (size > 0 && !use(packet.first(size))) return;
      packet = packet.subspan(size);
    }
    return;
  }
  const auto next = [&](size_t from) {
    for (; from + 3 <= packet.size(); ++from)
      if (packet[from] == 0 && packet[from + 1] == 0 && packet[from + 2] == 1) return from;
    return packet.size();
  };
  for (size_t at = next(0); at < packet.size();) {
    const size_t begin = std::min(at + 3, packet.size()), end = next(begin);
    if (end > begin && !use(packet.subspan(begin, end - begin))) return;
    at = end;
  }
}

}  // namespace torchdali::io::video
