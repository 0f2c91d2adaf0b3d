// SPDX-License-Identifier: Apache-2.0
#include "io/formats/png_library.h"

#ifdef TORCHDALI_HAVE_PNG
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#endif

#include "io/formats/formats.h"

namespace torchdali::io {

#ifdef TORCHDALI_HAVE_PNG
namespace {

// libpng leaves by longjmp(), like libjpeg: functions that setjmp() have trivial locals only.
struct Decoder {
  png_structp png;
  png_infop info;
  const uint8_t* next;
  size_t left;
  bool truncated;
  bool out_of_memory;
  char message[256];
};

void on_error(png_structp png, png_const_charp message) {
  auto& d = *static_cast<Decoder*>(png_get_error_ptr(png));
  std::snprintf(d.message, sizeof(d.message), "%s", message);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

// libpng reports a lack of memory as it does a broken file.
png_voidp on_allocate(png_structp png, png_alloc_size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) static_cast<Decoder*>(png_get_mem_ptr(png))->out_of_memory = true;
  return memory;
}

void on_free(png_structp, png_voidp memory) { std::free(memory); }

void on_read(png_structp png, png_bytep out, size_t count) {
  auto& d = *static_cast<Decoder*>(png_get_io_ptr(png));
  if (count > d.left) {
    d.truncated = true;
    png_error(png, "the file ends before the picture does");
  }
  std::memcpy(out, d.next, count);
  d.next += count;
  d.left -= count;
}

// Reads the header and sets up rows of gray, gray and alpha, RGB or RGBA with 8 or 16 bits, the
// latter in this machine's byte order. Transparent colors (tRNS) stay opaque, as in DALI.
bool start(Decoder& d, const ImageInfo& expected, bool* interlaced) {
  if (setjmp(png_jmpbuf(d.png))) return false;
  png_set_read_fn(d.png, &d, on_read);
  png_set_user_limits(d.png, 0x7FFFFFFF, 0x7FFFFFFF);  // peek_png() checked the size
  // No ancillary chunk changes the pixels; libpng would otherwise inflate and store them.
  png_set_keep_unknown_chunks(d.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(d.png, d.info);
  if (png_get_image_width(d.png, d.info) != static_cast<png_uint_32>(expected.width) ||
      png_get_image_height(d.png, d.info) != static_cast<png_uint_32>(expected.height))
    png_error(d.png, "its headers contradict each other");
  const png_byte type = png_get_color_type(d.png, d.info);
  const png_byte depth = png_get_bit_depth(d.png, d.info);
  if (type == PNG_COLOR_TYPE_PALETTE) {
    png_set_palette_to_rgb(d.png);
    png_set_strip_alpha(d.png);
  } else if (type == PNG_COLOR_TYPE_GRAY && depth < 8) {
    png_set_expand_gray_1_2_4_to_8(d.png);
  }
  constexpr uint16_t kOne = 1;
  uint8_t low;
  std::memcpy(&low, &kOne, 1);
  if (depth == 16 && low == 1) png_set_swap(d.png);
  *interlaced = png_set_interlace_handling(d.png) > 1;
  png_read_update_info(d.png, d.info);
  return true;
}

// Reads the next row; skips it if `row` is null.
bool read_row(Decoder& d, uint8_t* row) {
  if (setjmp(png_jmpbuf(d.png))) return false;
  png_read_row(d.png, row, nullptr);
  return true;
}

bool read_image(Decoder& d, uint8_t* pixels, size_t row_bytes, size_t rows) {
  if (setjmp(png_jmpbuf(d.png))) return false;
  const int passes = png_set_interlace_handling(d.png);
  for (int pass = 0; pass < passes; ++pass)
    for (size_t row = 0; row < rows; ++row) png_read_row(d.png, pixels + row * row_bytes, nullptr);
  return true;
}

// Reads what follows the pixels: the checksum of the image data and the end marker.
bool finish(Decoder& d) {
  if (setjmp(png_jmpbuf(d.png))) return false;
  png_read_end(d.png, nullptr);
  return true;
}

}  // namespace

void decode_png_with_library(Bytes bytes, const ImageInfo& info, PixelTarget& target) {
  const Region& region = target.region();
  struct Guard {
    Decoder d = {};
    ~Guard() { png_destroy_read_struct(&d.png, &d.info, nullptr); }
  } guard;
  Decoder& d = guard.d;
  d.next = bytes.data();
  d.left = bytes.size();
  d.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &d, on_error, on_warning, &d, on_allocate,
                                   on_free);
  TORCHDALI_CHECK_KIND(kRuntime, d.png, "libpng could not start: ", d.message);
  d.info = png_create_info_struct(d.png);
  TORCHDALI_CHECK_KIND(kRuntime, d.info, "libpng is out of memory");
  const auto check = [&d](bool good) {
    TORCHDALI_CHECK_KIND(kRuntime, good || !d.out_of_memory,
                         "libpng has no memory for the image: ", d.message);
    TORCHDALI_CHECK_KIND(kData, good, "the PNG file is ", d.truncated ? "truncated" : "broken",
                         ": ", d.message);
  };
  bool interlaced = false;
  check(start(d, info, &interlaced));

  const bool wide = info.bit_depth == 16;
  const int channels = info.channels;
  TORCHDALI_ASSERT(png_get_channels(d.png, d.info) == channels, "");
  const size_t pixel_bytes = static_cast<size_t>(channels) * (wide ? 2 : 1);
  const size_t row_bytes = png_get_rowbytes(d.png, d.info);
  const size_t left = static_cast<size_t>(region.x) * pixel_bytes;
  const int64_t end = region.y + region.height;
  if (interlaced) {
    const auto rows = static_cast<size_t>(info.height);
    auto* pixels = static_cast<uint8_t*>(target.scratch().allocate(row_bytes * rows));
    check(read_image(d, pixels, row_bytes, rows));
    for (int64_t row = 0; row < region.height; ++row)
      target.write(row, pixels + static_cast<size_t>(region.y + row) * row_bytes + left);
  } else {
    auto* buffer = static_cast<uint8_t*>(target.scratch().allocate(row_bytes));
    const bool whole_rows = region.width == info.width;
    for (int64_t y = 0; y < end; ++y) {
      const int64_t row = y - region.y;
      void* direct = row >= 0 && whole_rows ? target.direct(row) : nullptr;
      check(read_row(d, direct ? static_cast<uint8_t*>(direct) : row < 0 ? nullptr : buffer));
      if (row >= 0 && !direct) target.write(row, buffer + left);
    }
  }
  if (end == info.height || interlaced) check(finish(d));
}

#else

void decode_png_with_library(Bytes /*bytes*/, const ImageInfo& /*info*/, PixelTarget& /*target*/) {
  raise_missing("this PNG file", "libpng", "libpng-dev");
}

#endif

}  // namespace torchdali::io
