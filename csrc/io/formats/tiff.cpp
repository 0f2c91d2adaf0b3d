// SPDX-License-Identifier: Apache-2.0
// TIFF and BigTIFF: the first image of the file. libtiff decompresses; palettes, inks and depths
// from 1 to 16 bits are handled here. What is neither gray, RGB, a palette nor CMYK is converted to
// 8-bit RGB by libtiff. The header is read here, so that peeking needs no library.
#include <algorithm>
#include <cstring>

#include "io/formats/formats.h"
#include "io/formats/inks.h"
#include "io/formats/tiff_blocks.h"

namespace torchdali::io {
namespace {

using Tiff = TiffHeader;

int stored_channels(const Tiff& h) {
  const bool kept = !h.is_converted() && h.photometric != Tiff::kPalette;
  return kept ? static_cast<int>(h.samples) : 3;
}

// The samples of a pixel, with and without alpha.
struct SampleCounts {
  uint32_t least, most;
};
SampleCounts sample_counts(const Tiff& h) {
  switch (h.photometric) {
    case Tiff::kWhiteIsZero:
    case Tiff::kBlackIsZero: return {1, 2};
    case Tiff::kRgb: return {3, 4};
    case Tiff::kPalette: return {1, 1};
    case Tiff::kSeparated: return {4, 4};
    case Tiff::kYcbcr: return {3, h.is_converted() ? 4u : 3u};
    default: return {1, 4};
  }
}

void check_supported(const Tiff& h) {
  const auto [least, most] = sample_counts(h);
  TORCHDALI_CHECK_KIND(kData, h.samples >= least && h.bits >= 1,
                       "the TIFF file is broken: pixels of ", h.samples, " samples of ", h.bits,
                       " bits with photometric interpretation ", h.photometric);
  TORCHDALI_CHECK_KIND(kUnsupported, h.samples <= most, "TIFF files with ", h.samples,
                       " samples per pixel and photometric interpretation ", h.photometric,
                       " are not supported", to_fix("convert the file, or leave it out"));
  if (h.is_converted()) return;  // libtiff checks the rest
  const bool integers = h.sample_format == Tiff::kUnsigned || h.sample_format == Tiff::kVoid;
  const bool indices = h.photometric == Tiff::kPalette;
  const uint32_t most_bits = indices ? 8 : 16;
  TORCHDALI_CHECK_KIND(kUnsupported, integers && h.bits <= most_bits, "TIFF files with ",
                       h.sample_format == Tiff::kSigned  ? "signed"
                       : h.sample_format == Tiff::kFloat ? "floating-point"
                       : integers                        ? "unsigned"
                                                         : "complex",
                       indices ? " indices of " : " samples of ", h.bits,
                       " bits are not supported, only unsigned ones of up to ", most_bits, " bits",
                       to_fix("convert the file, or leave it out"));
}

// The largest number of bytes that a byte of the file stands for; 0 if there is no limit.
uint64_t best_compression(uint32_t compression) {
  switch (compression) {
    case Tiff::kNone: return 1;
    case Tiff::kPackBits: return 64;  // 128 times the same byte, in two
    case Tiff::kLzw: return 4096;     // codes have at least 9 bits; the table has 4096 strings
    case Tiff::kDeflate:
    case Tiff::kOldDeflate: return 1032;  // as for PNG
    default: return 0;
  }
}

}  // namespace

ImageInfo peek_tiff(Bytes bytes) {
  const Tiff h = read_tiff_header(bytes);
  check_supported(h);
  ImageInfo info{.format = ImageFormat::kTiff,
                 .height = h.height,
                 .width = h.width,
                 .channels = stored_channels(h),
                 .bit_depth = h.is_converted() ? 8 : static_cast<int>(h.bits),
                 .orientation = static_cast<int>(h.orientation),
                 .palette = h.photometric == Tiff::kPalette,
                 .cmyk = h.photometric == Tiff::kSeparated};
  info.alpha = info.channels == 2 || (info.channels == 4 && !info.cmyk);
  uint64_t most = UINT64_MAX;
  if (const uint64_t ratio = best_compression(h.compression)) {
    // With subsampled chroma, a pixel has little more than one sample.
    const uint64_t bits = uint64_t{h.bits} * (h.is_converted() ? 1 : h.samples);
    most = bytes.size() * ratio * 8 / bits;
  }
  check_size(info, bytes, most);
  return info;
}

#ifdef TORCHDALI_HAVE_TIFF
namespace {

// Copies `count` samples of a packed row, from sample `first` on, to every `step`th place. Samples
// of other sizes than T's are extended to its full range, unless they are indices.
template <class T>
void unpack(const uint8_t* row, int64_t first, int64_t count, uint32_t bits, bool indices,
            int64_t step, T* out) {
  if (bits == 8 * sizeof(T)) {
    const uint8_t* from = row + first * static_cast<int64_t>(sizeof(T));
    if (step == 1) {
      std::memcpy(out, from, static_cast<size_t>(count) * sizeof(T));
    } else {
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(out + i * step, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    }
    return;
  }
  constexpr uint32_t kFull = std::is_same_v<T, uint8_t> ? 255 : 65535;
  const uint32_t peak = (1u << bits) - 1;
  uint64_t at = static_cast<uint64_t>(first) * bits;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t value = 0;
    for (uint32_t left = bits; left > 0;) {  // most significant bit first
      const uint32_t offset = at % 8, take = std::min(left, 8 - offset);
      const uint32_t part = row[at / 8] >> (8 - offset - take) & ((1u << take) - 1);
      value = value << take | part;
      at += take;
      left -= take;
    }
    out[i * step] = static_cast<T>(indices ? value : (value * kFull + peak / 2) / peak);
  }
}

// What becomes of the samples of a pixel.
enum class Paint : int8_t { kKept, kInverted, kPalette, kInks, kNarrowed };

template <class T>
class TiffPainter {
 public:
  TiffPainter(TiffBlocks& blocks, const Tiff& header, int channels, PixelTarget& target)
      : width_(target.region().width), channels_(channels) {
    const bool color = header.photometric == Tiff::kRgb || header.photometric == Tiff::kYcbcr;
    if (header.photometric == Tiff::kPalette) {
      paint_ = Paint::kPalette;
      blocks.read_palette(palette_);
    } else if (header.photometric == Tiff::kWhiteIsZero) {
      paint_ = Paint::kInverted;
    } else if (header.photometric == Tiff::kSeparated && target.type() != ImageType::kAnyData) {
      paint_ = Paint::kInks;
    } else if (sizeof(T) == 2 && color && target.dtype() == DType::kUInt8) {
      paint_ = Paint::kNarrowed;
    }
    const bool inks = header.photometric == Tiff::kSeparated;
    target.open({.model = channels == 1            ? PixelModel::kGray
                          : channels == 2          ? PixelModel::kGrayAlpha
                          : paint_ == Paint::kInks ? PixelModel::kRGB
                          : channels == 3          ? PixelModel::kRGB
                          : inks                   ? PixelModel::kCMYK
                                                   : PixelModel::kRGBA,
                 .wide = sizeof(T) == 2 && paint_ != Paint::kNarrowed});
    if (paint_ == Paint::kPalette || paint_ == Paint::kInks)
      painted_ = allocate(target, width_ * 3);
  }

  static T* allocate(PixelTarget& target, int64_t samples) {
    return static_cast<T*>(target.scratch().allocate(static_cast<size_t>(samples) * sizeof(T)));
  }

  bool keeps() const { return paint_ == Paint::kKept; }

  // The pixels to write for a row of samples, which is changed.
  const void* operator()(T* row) {
    constexpr uint32_t kFull = std::is_same_v<T, uint8_t> ? 255 : 65535;
    switch (paint_) {
      case Paint::kKept: return row;
      case Paint::kInverted:
        for (int64_t i = 0; i < width_; ++i)
          row[i * channels_] = static_cast<T>(kFull - row[i * channels_]);
        return row;
      case Paint::kPalette:
        for (int64_t i = 0; i < width_; ++i)
          for (int c = 0; c < 3; ++c) painted_[3 * i + c] = palette_[row[i] & 255][c];
        return painted_;
      case Paint::kInks: mix_inks(row, width_, painted_); return painted_;
      case Paint::kNarrowed: break;
    }
    // DALI rounds colors and truncates gray, so gray is left to PixelTarget.
    auto* bytes = reinterpret_cast<uint8_t*>(row);
    for (int64_t i = 0; i < width_ * channels_; ++i)
      bytes[i] = static_cast<uint8_t>((row[i] + 128u) / 257u);
    return bytes;
  }

 private:
  int64_t width_;
  int channels_;
  Paint paint_ = Paint::kKept;
  uint8_t palette_[256][3] = {};
  T* painted_ = nullptr;
};

template <class T>
void decode_tiff_as(TiffBlocks& blocks, const Tiff& header, int channels, PixelTarget& target) {
  const Region& region = target.region();
  const BlockGrid& grid = blocks.grid();
  TiffPainter<T> painter(blocks, header, channels, target);
  const bool indices = header.photometric == Tiff::kPalette;
  const int64_t first_column = region.x / grid.width;
  const int64_t last_column = (region.x + region.width - 1) / grid.width;
  const int64_t columns = last_column - first_column + 1;
  const int64_t planes = grid.planes;
  const int64_t row_bytes = static_cast<int64_t>(grid.row_bytes());
  const int64_t block_bytes = static_cast<int64_t>(grid.bytes());
  auto* data = static_cast<uint8_t*>(
      target.scratch().allocate(static_cast<size_t>(block_bytes * columns * planes)));
  const int64_t stored = grid.samples * planes;  // of a pixel: one if it is an index
  T* samples = TiffPainter<T>::allocate(target, region.width * stored);
  const bool as_stored =
      painter.keeps() && columns == 1 && planes == 1 && grid.bits == 8 * sizeof(T);
  const int64_t bottom = region.y + region.height;
  for (int64_t row = region.y / grid.height; row * grid.height < bottom; ++row) {
    const int64_t top = row * grid.height;
    const int64_t end = std::min(top + grid.height, bottom);
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t i = 0; i < columns; ++i)
        blocks.read(row, first_column + i, static_cast<int>(plane), end - top,
                    data + (plane * columns + i) * block_bytes);
    for (int64_t y = std::max(top, region.y); y < end; ++y) {
      const uint8_t* line = data + (y - top) * row_bytes;
      if (as_stored) {
        const int64_t x = region.x - first_column * grid.width;
        target.write(y - region.y, line + x * channels * static_cast<int64_t>(sizeof(T)));
        continue;
      }
      for (int64_t plane = 0; plane < planes; ++plane) {
        for (int64_t i = 0; i < columns; ++i) {
          const int64_t left = (first_column + i) * grid.width;
          const int64_t begin = std::max(left, region.x);
          const int64_t count = std::min(left + grid.width, region.x + region.width) - begin;
          unpack(line + (plane * columns + i) * block_bytes, (begin - left) * grid.samples,
                 count * grid.samples, grid.bits, indices, planes,
                 samples + (begin - region.x) * stored + plane);
        }
      }
      target.write(y - region.y, painter(samples));
    }
  }
}

}  // namespace

void decode_tiff(Bytes bytes, const ImageInfo& info, PixelTarget& target) {
  const Tiff header = read_tiff_header(bytes);
  TiffBlocks blocks(bytes, header, target.scratch());
  if (blocks.grid().bits <= 8) decode_tiff_as<uint8_t>(blocks, header, info.channels, target);
  else decode_tiff_as<uint16_t>(blocks, header, info.channels, target);
}

#else

void decode_tiff(Bytes, const ImageInfo&, PixelTarget&) {
  raise_missing("TIFF", "libtiff (4.5 or newer)", "libtiff-dev");
}

#endif

}  // namespace torchdali::io
