// SPDX-License-Identifier: Apache-2.0
// Sources: TIFF 6.0 (Adobe, 1992), section 2; the BigTIFF design of libtiff's web pages.
#include "io/formats/tiff_header.h"

#include <algorithm>

#include "io/bytes.h"
#include "io/formats/formats.h"

namespace torchdali::io {
namespace {

enum Tag : uint16_t {
  kWidth = 256,
  kHeight = 257,
  kBitsPerSample = 258,
  kCompressionTag = 259,
  kPhotometricTag = 262,
  kOrientation = 274,
  kSamplesPerPixel = 277,
  kPlanarConfiguration = 284,
  kSampleFormatTag = 339,
};

size_t size_of(uint16_t type) {
  switch (type) {
    case 1: return 1;
    case 3: return 2;
    case 4: return 4;
    case 16: return 8;
    default: return 0;  // not an unsigned integer
  }
}

uint64_t read_integer(ByteReader& reader, size_t size) {
  switch (size) {
    case 1: return reader.u8();
    case 2: return reader.u16();
    case 4: return reader.u32();
    default: return reader.u64();
  }
}

// Whether the values of a tag for each sample are equal is checked for this many samples.
constexpr uint64_t kMostSamples = 64;

// The value of a tag, which must be the same for all samples.
uint64_t value_of(ByteReader reader, uint64_t count, size_t size, uint16_t tag) {
  const uint64_t first = read_integer(reader, size);
  for (uint64_t i = 1; i < std::min(count, kMostSamples); ++i)
    TORCHDALI_CHECK_KIND(kUnsupported, read_integer(reader, size) == first,
                         "TIFF files whose samples differ in their size or type are not supported "
                         "(tag ",
                         tag, ")");
  return first;
}

// Where the value of a tag is stored; null if it is not one of those above.
uint64_t* place_of(uint16_t tag, uint64_t* values) {
  constexpr uint16_t kTags[] = {
      kWidth,           kHeight,         kBitsPerSample,       kCompressionTag, kOrientation,
      kSamplesPerPixel, kPhotometricTag, kPlanarConfiguration, kSampleFormatTag};
  const auto* at = std::find(std::begin(kTags), std::end(kTags), tag);
  return at == std::end(kTags) ? nullptr : values + (at - std::begin(kTags));
}

}  // namespace

TiffHeader read_tiff_header(Bytes bytes) {
  constexpr uint16_t kBig = 43;
  constexpr uint64_t kAbsent = UINT64_MAX, kMaxValue = UINT32_MAX;
  const Endian endian = bytes[0] == 'I' ? Endian::kLittle : Endian::kBig;
  ByteReader reader(bytes, endian);
  reader.skip(2);
  const bool big = reader.u16() == kBig;
  if (big) reader.skip(4);  // sizes of offsets, always 8
  const uint64_t directory = big ? reader.u64() : reader.u32();
  reader.seek(directory);
  const uint64_t entries = big ? reader.u64() : reader.u16();
  const size_t entry_bytes = big ? 20 : 12, inline_bytes = big ? 8 : 4;
  TORCHDALI_CHECK_KIND(kData, entries > 0 && entries <= reader.left() / entry_bytes,
                       "the TIFF file is broken or truncated: its directory at byte ", directory,
                       " claims ", entries, " entries, ", reader.left(), " bytes are left");
  uint64_t values[9];
  std::fill(std::begin(values), std::end(values), kAbsent);
  for (uint64_t i = 0; i < entries; ++i) {
    ByteReader entry(reader.take(entry_bytes), endian);
    const uint16_t tag = entry.u16();
    const size_t size = size_of(entry.u16());
    const uint64_t count = big ? entry.u64() : entry.u32();
    uint64_t* value = place_of(tag, values);
    if (value == nullptr || size == 0 || count == 0 || *value != kAbsent) continue;
    ByteReader at = entry;
    if (count > inline_bytes / size) {
      at = ByteReader(bytes, endian);
      at.seek(big ? entry.u64() : entry.u32());
    }
    *value = value_of(at, count, size, tag);
    TORCHDALI_CHECK_KIND(kData, *value <= kMaxValue, "the TIFF file is broken: the value of tag ",
                         tag, " is ", *value);
  }
  const auto value = [&values](uint16_t tag, uint32_t otherwise) {
    const uint64_t found = *place_of(tag, values);
    return found == kAbsent ? otherwise : static_cast<uint32_t>(found);
  };
  TiffHeader h;
  h.height = value(kHeight, 0);
  h.width = value(kWidth, 0);
  h.bits = value(kBitsPerSample, 1);
  h.samples = value(kSamplesPerPixel, 1);
  h.compression = value(kCompressionTag, TiffHeader::kNone);
  // Required, but some writers leave it out.
  h.photometric =
      value(kPhotometricTag, h.samples >= 3 ? TiffHeader::kRgb : TiffHeader::kBlackIsZero);
  h.planar = value(kPlanarConfiguration, TiffHeader::kContiguous);
  h.sample_format = value(kSampleFormatTag, TiffHeader::kUnsigned);
  const uint32_t orientation = value(kOrientation, 1);
  h.orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
  return h;
}

}  // namespace torchdali::io
