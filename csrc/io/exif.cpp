// SPDX-License-Identifier: Apache-2.0
// Source: CIPA DC-008 (EXIF 2.32), 4.5 and 4.6.4: a TIFF header, then entries of 12 bytes.
#include "io/exif.h"

#include <algorithm>

#include "io/bytes.h"

namespace torchdali::io {

std::optional<int> exif_orientation(std::span<const uint8_t> tiff) {
  constexpr uint16_t kOrientationTag = 0x0112, kShort = 3, kLong = 4;
  constexpr size_t kEntryBytes = 12;
  constexpr uint8_t kPrefix[] = {'E', 'x', 'i', 'f', 0, 0};
  if (tiff.size() >= sizeof(kPrefix) &&
      std::equal(std::begin(kPrefix), std::end(kPrefix), tiff.begin()))
    tiff = tiff.subspan(sizeof(kPrefix));
  if (tiff.size() < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M'))
    return std::nullopt;
  const Endian endian = tiff[0] == 'I' ? Endian::kLittle : Endian::kBig;
  ByteReader reader(tiff, endian);
  reader.skip(4);
  const uint32_t directory = reader.u32();
  if (directory > tiff.size() - 2) return std::nullopt;
  reader.seek(directory);
  for (int entries = reader.u16(); entries > 0 && reader.left() >= kEntryBytes; --entries) {
    ByteReader entry(reader.take(kEntryBytes), endian);
    if (entry.u16() != kOrientationTag) continue;
    const uint16_t type = entry.u16();
    entry.skip(4);  // count
    const uint32_t value = type == kShort ? entry.u16() : type == kLong ? entry.u32() : 0;
    if (value < 1 || value > 8) return std::nullopt;
    return static_cast<int>(value);
  }
  return std::nullopt;
}

}  // namespace torchdali::io
