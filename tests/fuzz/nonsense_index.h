// SPDX-License-Identifier: Apache-2.0
// An index of JPEG files whose points are an input's own bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "io/jpeg_decoder/index/index.h"

namespace torchdali::io {

// Points for `bytes` and a zero after them, which goes to `other`: other bytes, with the same
// meaning, since threads of a process share the index. Null where there are no points. With the
// size of a scan, points are within it and ascend, so that they are not refused for that.
inline std::shared_ptr<jpeg::Index> index_of_nonsense(Bytes bytes, std::vector<uint8_t>& other,
                                                      size_t scan = 0) {
  constexpr int64_t kRoom = int64_t{1} << 24;
  std::vector<jpeg::SeekPoint> points(bytes.size() / sizeof(jpeg::SeekPoint));
  if (points.empty()) return nullptr;
  std::memcpy(points.data(), bytes.data(), points.size() * sizeof(jpeg::SeekPoint));
  // Most positions would lie outside.
  for (jpeg::SeekPoint& p : points) p.position[1] &= static_cast<uint16_t>(bytes.size() >> 13);
  if (scan > 0) {
    for (jpeg::SeekPoint& p : points) {
      const uint64_t bits = p.bits() % (8 * uint64_t{scan} + 1);
      p.position = {static_cast<uint16_t>(bits), static_cast<uint16_t>(bits >> 16)};
    }
    std::ranges::sort(points, {}, &jpeg::SeekPoint::bits);
  }
  other.assign(bytes.begin(), bytes.end());
  other.push_back(0);
  auto index = jpeg::Index::open("memory", kRoom);
  index->store(jpeg::Index::key(other), {.points = points, .known = points.size()});
  return index;
}

}  // namespace torchdali::io
