// SPDX-License-Identifier: Apache-2.0
// Sources: ITU-T T.800 (JPEG 2000 part 1), annex A (markers SOC and SIZ) and annex I (boxes of
// JP2).
#include "io/formats/jpeg2000_header.h"

#include <algorithm>
#include <cstring>

#include "io/bytes.h"

namespace torchdali::io {
namespace {

using Colors = Jpeg2000Header::Colors;

// A depth as boxes and markers store it.
int bits_of(uint8_t stored) { return (stored & 0x7F) + 1; }

void read_size_marker(Bytes codestream, Jpeg2000Header& h) {
  constexpr uint16_t kStart = 0xFF4F, kSize = 0xFF51;
  constexpr int kMostComponents = 16384;
  ByteReader reader(codestream, Endian::kBig);
  const bool in_order = reader.u16() == kStart && reader.u16() == kSize;
  TORCHDALI_CHECK_KIND(kData, in_order,
                       "the JPEG 2000 file is broken: its codestream does not begin with SOC, SIZ");
  reader.skip(4);                             // length, capabilities
  constexpr int64_t kMostExtent = INT32_MAX;  // of OpenJPEG; larger images have too many pixels
  const int64_t right = reader.u32(), bottom = reader.u32();
  h.x = reader.u32();
  h.y = reader.u32();
  const int64_t tile_width = reader.u32(), tile_height = reader.u32();
  const int64_t tile_x = reader.u32(), tile_y = reader.u32();
  h.channels = reader.u16();
  TORCHDALI_CHECK_KIND(kData,
                       right > h.x && bottom > h.y && right <= kMostExtent &&
                           bottom <= kMostExtent && tile_width > 0 && tile_height > 0 &&
                           tile_x <= h.x && tile_y <= h.y && h.channels >= 1 &&
                           h.channels <= kMostComponents,
                       "the JPEG 2000 file is broken: its SIZ marker makes no sense");
  h.width = right - h.x;
  h.height = bottom - h.y;
  const auto across = static_cast<uint64_t>((right - tile_x + tile_width - 1) / tile_width);
  const auto down = static_cast<uint64_t>((bottom - tile_y + tile_height - 1) / tile_height);
  h.tiles = across * down;
  h.bits = 1;
  bool first = true;
  for (int i = 0; i < h.channels; ++i) {
    h.bits = std::max(h.bits, bits_of(reader.u8()));
    const int x_step = reader.u8(), y_step = reader.u8();
    TORCHDALI_CHECK_KIND(kData, x_step > 0 && y_step > 0,
                         "the JPEG 2000 file is broken: component ", i, " has no pixels");
    h.largest_step = std::max({h.largest_step, x_step, y_step});
    // Only chroma is subsampled alone.
    if (i == 0) first = x_step == 1 && y_step == 1;
    else if (i == 1 && first && h.channels == 3 && (x_step > 1 || y_step > 1))
      h.colors = Colors::kYcc;
  }
}

void read_color_box(ByteReader box, Jpeg2000Header& h) {
  constexpr uint8_t kEnumerated = 1;
  const uint8_t method = box.u8();
  if (method != kEnumerated || h.colors != Colors::kUnknown) return;
  box.skip(2);  // precedence, approximation
  switch (box.u32()) {
    case 12: h.colors = Colors::kCmyk; return;
    case 16: h.colors = Colors::kRgb; return;
    case 17: h.colors = Colors::kGray; return;
    case 18: h.colors = Colors::kYcc; return;
    default: return;
  }
}

// Visits the boxes between `begin` and `end`; `visit` returns whether to go on.
template <class Visit>
void for_each_box(Bytes bytes, Visit&& visit) {
  constexpr size_t kHeader = 8;
  ByteReader reader(bytes, Endian::kBig);
  while (reader.left() >= kHeader) {
    uint64_t size = reader.u32(), header = kHeader;
    const Bytes name = reader.take(4);
    if (size == 1) {
      size = reader.u64();
      header += 8;
    }
    // 0: to the end of the file. A box that is longer than the file is cut with it.
    size_t length = reader.left();
    if (size != 0) {
      TORCHDALI_CHECK_KIND(kData, size >= header, "the JPEG 2000 file is broken: a box of ", size,
                           " bytes");
      length = std::min<uint64_t>(size - header, length);
    }
    if (!visit(name, reader.take(length))) return;
  }
}

bool is_named(Bytes name, const char* expected) {
  return std::memcmp(name.data(), expected, 4) == 0;
}

}  // namespace

Jpeg2000Header read_jpeg2000_header(Bytes bytes) {
  Jpeg2000Header h;
  h.boxes = bytes[0] == 0;
  if (!h.boxes) {
    read_size_marker(bytes, h);
    return h;
  }
  Bytes codestream;
  Jpeg2000Header described;  // by the boxes
  for_each_box(bytes, [&](Bytes name, Bytes box) {
    if (is_named(name, "jp2h")) {
      for_each_box(box, [&described](Bytes part_name, Bytes part) {
        ByteReader reader(part, Endian::kBig);
        if (is_named(part_name, "colr")) {
          read_color_box(reader, described);
        } else if (is_named(part_name, "pclr")) {
          described.palette = true;
          reader.skip(2);
          const int columns = reader.u8();
          described.bits = 1;
          for (int i = 0; i < columns; ++i)
            described.bits = std::max(described.bits, bits_of(reader.u8()));
        } else if (is_named(part_name, "cmap")) {
          described.channels = static_cast<int>(part.size() / 4);
        }
        return true;
      });
    } else if (is_named(name, "jp2c")) {
      codestream = box;
      return false;
    }
    return true;
  });
  TORCHDALI_CHECK_KIND(kData, !codestream.empty(),
                       "the JPEG 2000 file is broken or truncated: it has no codestream");
  read_size_marker(codestream, h);
  if (described.palette && described.channels > 0) {
    h.palette = true;
    h.channels = described.channels;
    h.bits = described.bits;
  }
  if (described.colors != Colors::kUnknown) h.colors = described.colors;
  return h;
}

}  // namespace torchdali::io
