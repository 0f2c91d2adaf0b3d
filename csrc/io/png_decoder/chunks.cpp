// SPDX-License-Identifier: Apache-2.0
#include "io/png_decoder/chunks.h"

#include <algorithm>
#include <cstring>

#include "io/bytes.h"
#include "kernels/png/checksums.h"

namespace torchdali::io::png {
namespace {

constexpr size_t kSignatureSize = 8, kHeaderSize = 8, kCrcSize = 4;

struct Chunk {
  Bytes name, data;
  bool is(const char* other) const { return std::memcmp(name.data(), other, 4) == 0; }
  // ISO/IEC 15948, 5.4: a lower-case first letter.
  bool is_ancillary() const { return (name[0] & 0x20) != 0; }
};

uint32_t big_endian(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 24 | static_cast<uint32_t>(p[1]) << 16 |
         static_cast<uint32_t>(p[2]) << 8 | static_cast<uint32_t>(p[3]);
}

bool is_letter(uint8_t c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// Removes a chunk from the beginning of `left`; nothing if it is incomplete or its checksum wrong.
std::optional<Chunk> next_chunk(Bytes& left) {
  if (left.size() < kHeaderSize + kCrcSize) return std::nullopt;
  const size_t size = big_endian(left.data());
  if (size > left.size() - kHeaderSize - kCrcSize) return std::nullopt;
  const Chunk chunk{left.subspan(4, 4), left.subspan(kHeaderSize, size)};
  if (!std::all_of(chunk.name.begin(), chunk.name.end(), is_letter)) return std::nullopt;
  const uint32_t crc = kernels::crc32(left.subspan(4, 4 + size));
  if (crc != big_endian(left.data() + kHeaderSize + size)) return std::nullopt;
  left = left.subspan(kHeaderSize + size + kCrcSize);
  return chunk;
}

bool read_header(Bytes data, Chunks& chunks) {
  if (data.size() != 13) return false;
  chunks.width = big_endian(data.data());
  chunks.height = big_endian(data.data() + 4);
  chunks.depth = data[8];
  const uint8_t type = data[9];
  const bool is_default = data[10] == 0 && data[11] == 0 && data[12] == 0;  // not interlaced
  const bool is_small = chunks.depth == 1 || chunks.depth == 2 || chunks.depth == 4;
  if (!is_default || !(is_small || chunks.depth == 8 || chunks.depth == 16)) return false;
  chunks.type = static_cast<ColorType>(type);
  switch (chunks.type) {
    case ColorType::kGray: return true;
    case ColorType::kPalette: return chunks.depth <= 8;
    case ColorType::kRgb:
    case ColorType::kGrayAlpha:
    case ColorType::kRgba: return !is_small;
  }
  return false;
}

// libpng refuses larger chunks (PNG_USER_CHUNK_MALLOC_MAX), except those of pixels that need them.
constexpr size_t kMostBytes = 8'000'000;

bool read_palette(Bytes data, Chunks& chunks) {
  const bool is_gray = chunks.type == ColorType::kGray || chunks.type == ColorType::kGrayAlpha;
  const size_t most = chunks.type == ColorType::kPalette ? size_t{1} << chunks.depth : 256;
  if (is_gray || data.empty() || data.size() % 3 != 0 || data.size() / 3 > most) return false;
  chunks.palette = data;
  return true;
}

// Transparency changes no pixel that is returned, but libpng reads it.
bool is_usual_transparency(Bytes data, const Chunks& chunks) {
  switch (chunks.type) {
    case ColorType::kPalette: return !data.empty() && data.size() <= chunks.palette.size() / 3;
    case ColorType::kGray: return data.size() == 2;
    case ColorType::kRgb: return data.size() == 6;
    default: return false;
  }
}

}  // namespace

int samples_of(ColorType type) {
  switch (type) {
    case ColorType::kRgb: return 3;
    case ColorType::kGrayAlpha: return 2;
    case ColorType::kRgba: return 4;
    default: return 1;
  }
}

size_t row_size(const Chunks& chunks) {
  const size_t bits =
      static_cast<size_t>(samples_of(chunks.type)) * static_cast<size_t>(chunks.depth);
  return (static_cast<size_t>(chunks.width) * bits + 7) / 8;
}

size_t unpacked_size(const Chunks& chunks) {
  return static_cast<size_t>(chunks.height) * (1 + row_size(chunks));
}

std::optional<Chunks> read_chunks(Bytes file) {
  Chunks chunks;
  Bytes left = file.subspan(std::min(kSignatureSize, file.size()));
  const auto header = next_chunk(left);
  if (!header || !header->is("IHDR") || !read_header(header->data, chunks)) return std::nullopt;
  const uint8_t* image_begin = nullptr;
  const uint8_t* image_end = nullptr;
  for (bool in_image = false, transparency = false;;) {
    const uint8_t* const begin = left.data();
    const auto chunk = next_chunk(left);
    if (!chunk) return std::nullopt;
    const bool is_image = chunk->is("IDAT");
    if (chunk->data.size() > kMostBytes &&
        !(is_image && chunk->data.size() <= unpacked_size(chunks)))
      return std::nullopt;
    if (is_image) {
      if (image_begin && !in_image) return std::nullopt;
      if (!image_begin) image_begin = begin;
      image_end = left.data();
      chunks.data_size += chunk->data.size();
    } else if (chunk->is("PLTE")) {
      if (image_begin || transparency || !chunks.palette.empty() ||
          !read_palette(chunk->data, chunks))
        return std::nullopt;
    } else if (chunk->is("tRNS")) {
      if (image_begin || transparency || !is_usual_transparency(chunk->data, chunks))
        return std::nullopt;
      transparency = true;
    } else if (chunk->is("IEND")) {
      if (!image_begin || !chunk->data.empty()) return std::nullopt;
      break;
    } else if (!chunk->is_ancillary()) {
      return std::nullopt;
    }
    in_image = is_image;
  }
  if (chunks.type == ColorType::kPalette && chunks.palette.empty()) return std::nullopt;
  chunks.image = {image_begin, image_end};
  return chunks;
}

void join_data(const Chunks& chunks, uint8_t* to) {
  for (Bytes left = chunks.image; !left.empty();) {
    const size_t size = big_endian(left.data());
    std::memcpy(to, left.data() + kHeaderSize, size);
    to += size;
    left = left.subspan(kHeaderSize + size + kCrcSize);
  }
}

}  // namespace torchdali::io::png
