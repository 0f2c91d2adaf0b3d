// SPDX-License-Identifier: Apache-2.0
#include "io/formats/tiff_blocks.h"

#ifdef TORCHDALI_HAVE_TIFF

#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/error.h"

namespace torchdali::io {

// libtiff's callbacks. It reads the header by on_read(), and the rest where it lies, by on_map().
struct TiffBlocks::Client {
  static tmsize_t on_read(thandle_t handle, void* out, tmsize_t size) {
    Input& input = *static_cast<Input*>(handle);
    const size_t count = std::min(static_cast<size_t>(size), input.bytes.size() - input.position);
    std::memcpy(out, input.bytes.data() + input.position, count);
    input.position += count;
    return static_cast<tmsize_t>(count);
  }
  static tmsize_t on_write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t on_seek(thandle_t handle, toff_t offset, int origin) {
    Input& input = *static_cast<Input*>(handle);
    const toff_t base = origin == SEEK_CUR   ? input.position
                        : origin == SEEK_END ? input.bytes.size()
                                             : 0;
    input.position = std::min<toff_t>(base + offset, input.bytes.size());
    return input.position;
  }
  static int on_close(thandle_t) { return 0; }
  static toff_t on_size(thandle_t handle) { return static_cast<Input*>(handle)->bytes.size(); }
  static int on_map(thandle_t handle, void** base, toff_t* size) {
    const Bytes bytes = static_cast<Input*>(handle)->bytes;
    *base = const_cast<uint8_t*>(bytes.data());  // libtiff does not write to it
    *size = bytes.size();
    return 1;
  }
  static void on_unmap(thandle_t, void*, toff_t) {}
  // The first message is the cause of the others.
  static int on_error(TIFF*, void* data, const char*, const char* format, va_list arguments) {
    Input& input = *static_cast<Input*>(data);
    if (input.message[0] == 0)
      std::vsnprintf(input.message, sizeof(input.message), format, arguments);
    return 1;
  }
  static int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }
};

TiffBlocks::TiffBlocks(Bytes bytes, const TiffHeader& header, ScratchMemory& scratch)
    : input_{.bytes = bytes}, header_(header), scratch_(scratch) {
  // The limit of one allocation: tables that grow with the image or the file, and buffers of codecs
  // for a block.
  constexpr tmsize_t kBuffers = tmsize_t{64} << 20, kBytesPerPixel = 16;
  constexpr tmsize_t kManyPixels = tmsize_t{1} << 40;
  const auto pixels = std::min(static_cast<tmsize_t>(header.height * header.width), kManyPixels);
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  TORCHDALI_CHECK_KIND(kRuntime, options, "libtiff is out of memory");
  TIFFOpenOptionsSetMaxSingleMemAlloc(
      options.get(), kBuffers + static_cast<tmsize_t>(bytes.size()) + pixels * kBytesPerPixel);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), Client::on_error, &input_);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), Client::on_warning, nullptr);
  tiff_ = TIFFClientOpenExt("image", "r", &input_, Client::on_read, Client::on_write,
                            Client::on_seek, Client::on_close, Client::on_size, Client::on_map,
                            Client::on_unmap, options.get());
  if (tiff_ == nullptr) raise_error();
  try {
    check_header();
    // PixelTarget applies the orientation.
    TIFFSetField(tiff_, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    if (!header.is_converted() && header.photometric == TiffHeader::kYcbcr)
      TIFFSetField(tiff_, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    find_grid();
  } catch (...) {
    TIFFClose(tiff_);
    throw;
  }
}

TiffBlocks::~TiffBlocks() { TIFFClose(tiff_); }

void TiffBlocks::raise_error() const {
  const std::string_view text = input_.message;  // libtiff has no codes for errors
  const auto says = [text](std::string_view part) { return text.find(part) != text.npos; };
  if (says("ut of memory") || says("No space"))
    raise(ErrorKind::kRuntime, "libtiff has no memory for the image: ", text);
  if (says("not configured") || says("not supported") || says("not implemented") ||
      says("can not handle"))
    raise(ErrorKind::kUnsupported, "libtiff does not support this TIFF file: ", text,
          to_fix("convert the file, or leave it out"));
  raise(ErrorKind::kData,
        "the TIFF file is broken or truncated: ", text.empty() ? "libtiff cannot read it" : text);
}

void TiffBlocks::check(bool good) {
  if (!good) raise_error();
  input_.message[0] = 0;  // of a problem that libtiff went on after
}

// libtiff repairs some headers. What it makes of them may be larger than what was checked.
void TiffBlocks::check_header() {
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff_, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff_, TIFFTAG_IMAGELENGTH, &height);
  const auto has = [this](uint32_t tag, uint32_t expected) {
    uint16_t value = 0;
    return TIFFGetFieldDefaulted(tiff_, tag, &value) == 1 && value == expected;
  };
  const bool same =
      width == header_.width && height == header_.height &&
      has(TIFFTAG_BITSPERSAMPLE, header_.bits) && has(TIFFTAG_SAMPLESPERPIXEL, header_.samples) &&
      has(TIFFTAG_PLANARCONFIG, header_.planar) && has(TIFFTAG_COMPRESSION, header_.compression);
  TORCHDALI_CHECK_KIND(kData, same, "the TIFF file is broken: its header contradicts itself. ",
                       input_.message);
  check(true);
}

void TiffBlocks::find_grid() {
  grid_.tiled = TIFFIsTiled(tiff_) != 0;
  uint32_t width = static_cast<uint32_t>(header_.width), height = 0;
  if (grid_.tiled) {
    TIFFGetField(tiff_, TIFFTAG_TILEWIDTH, &width);
    TIFFGetField(tiff_, TIFFTAG_TILELENGTH, &height);
  } else {
    TIFFGetFieldDefaulted(tiff_, TIFFTAG_ROWSPERSTRIP, &height);
    height = static_cast<uint32_t>(std::min<int64_t>(height, header_.height));
  }
  grid_.width = width;
  grid_.height = height;
  // A row of blocks is read at once. Tiles are padded, so it may be larger than a small image.
  constexpr int64_t kPaddedPixels = int64_t{1} << 24;
  const int64_t most = 2 * header_.height * header_.width + kPaddedPixels;
  TORCHDALI_CHECK_KIND(kData,
                       height > 0 && width > 0 && height <= most / (header_.width + int64_t{width}),
                       "the TIFF file is broken: its blocks have ", height, " x ", width,
                       " pixels, the image ", header_.height, " x ", header_.width);
  if (header_.is_converted()) {
    grid_.samples = 3;
    return;
  }
  const bool separate = header_.planar == TiffHeader::kSeparate && header_.samples > 1;
  grid_.planes = separate ? static_cast<int>(header_.samples) : 1;
  grid_.samples = separate ? 1 : header_.samples;
  grid_.bits = header_.bits;
  const auto row_bytes =
      static_cast<size_t>(grid_.tiled ? TIFFTileRowSize(tiff_) : TIFFScanlineSize(tiff_));
  TORCHDALI_CHECK_KIND(kUnsupported, row_bytes == grid_.row_bytes(), "TIFF files with rows of ",
                       row_bytes, " bytes for ", grid_.width, " pixels of ", grid_.samples,
                       " samples are not supported");
}

void TiffBlocks::read(int64_t row, int64_t column, int plane, int64_t rows, uint8_t* out) {
  if (header_.is_converted()) return read_converted(row, column, rows, out);
  const auto y = static_cast<uint32_t>(row * grid_.height);
  const auto x = static_cast<uint32_t>(column * grid_.width);
  const auto sample = static_cast<uint16_t>(plane);
  auto size = static_cast<tmsize_t>(grid_.bytes());
  tmsize_t got;
  if (grid_.tiled) {
    got = TIFFReadEncodedTile(tiff_, TIFFComputeTile(tiff_, x, y, 0, sample), out, size);
  } else {
    size = static_cast<tmsize_t>(grid_.row_bytes()) * rows;
    got = TIFFReadEncodedStrip(tiff_, TIFFComputeStrip(tiff_, y, sample), out, size);
  }
  check(got == size);
}

// libtiff writes words of red, green, blue and alpha, the last row first.
void TiffBlocks::read_converted(int64_t row, int64_t column, int64_t rows, uint8_t* out) {
  const auto y = static_cast<uint32_t>(row * grid_.height);
  const auto x = static_cast<uint32_t>(column * grid_.width);
  if (words_ == nullptr) {
    const auto pixels = static_cast<size_t>(grid_.height * grid_.width);
    words_ = static_cast<uint32_t*>(scratch_.allocate(pixels * sizeof(uint32_t)));
  }
  check(1 == (grid_.tiled ? TIFFReadRGBATileExt(tiff_, x, y, words_, 1)
                          : TIFFReadRGBAStripExt(tiff_, y, words_, 1)));
  const int64_t height = grid_.tiled ? grid_.height : std::min(grid_.height, header_.height - y);
  for (int64_t i = 0; i < rows; ++i) {
    const uint32_t* from = words_ + (height - 1 - i) * grid_.width;
    for (int64_t k = 0; k < grid_.width; ++k, out += 3) {
      out[0] = static_cast<uint8_t>(TIFFGetR(from[k]));
      out[1] = static_cast<uint8_t>(TIFFGetG(from[k]));
      out[2] = static_cast<uint8_t>(TIFFGetB(from[k]));
    }
  }
}

void TiffBlocks::read_palette(uint8_t (*colors)[3]) {
  uint16_t* maps[3];
  check(TIFFGetField(tiff_, TIFFTAG_COLORMAP, &maps[0], &maps[1], &maps[2]) == 1);
  const int count = 1 << header_.bits;
  bool wide = false;  // some writers store 8 bits
  for (const uint16_t* map : maps)
    wide |= std::any_of(map, map + count, [](uint16_t v) { return v > 255; });
  for (int i = 0; i < count; ++i)
    for (int c = 0; c < 3; ++c)
      colors[i][c] = static_cast<uint8_t>(wide ? maps[c][i] >> 8 : maps[c][i]);
}

}  // namespace torchdali::io

#endif
