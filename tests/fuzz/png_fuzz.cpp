// SPDX-License-Identifier: Apache-2.0
// One input of a fuzzer, through our PNG decoder. The first byte says what the others are:
// - a file, whose checksums are made right: whatever it is, decoding returns, and a region has the
//   pixels of the whole image;
// - deflate data, after a few bytes with a format: what we decompress is what zlib does, and the
//   pixels of the file that is made of it are libpng's.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp csrc/core/cpu_features.cpp
// libs: libpng zlib
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "../cpp/exact_scratch.h"
#include "../cpp/png_files.h"
#include "core/cpu_features.h"
#include "core/error.h"
#include "io/formats/png_library.h"
#include "io/image.h"
#include "io/png_decoder/decoder.h"
#include "kernels/png/inflate.h"

namespace torchdali::io {
namespace {

// Larger pictures only make the fuzzer slow.
constexpr int64_t kMaxPixels = int64_t{1} << 14;

struct Picture {
  bool taken = false;
  std::vector<uint8_t> pixels;
};

Picture decode(Bytes bytes, const ImageInfo& info, const Region& region, bool by_library = false) {
  constexpr PixelModel kModels[] = {PixelModel::kGray, PixelModel::kGrayAlpha, PixelModel::kRGB,
                                    PixelModel::kRGBA};
  Picture result;
  const int64_t row_bytes = region.width * info.channels;
  result.pixels.resize(static_cast<size_t>(region.height * row_bytes));
  ExactScratch scratch;
  PixelTarget target(info,
                     {.type = ImageType::kAnyData, .adjust_orientation = false, .region = region},
                     result.pixels.data(), row_bytes, scratch);
  target.open({.model = kModels[info.channels - 1], .wide = info.bit_depth == 16});
  if (!by_library) {
    result.taken = png::decode(bytes, info, target);
    return result;
  }
  try {
    decode_png_with_library(bytes, info, target);
    result.taken = true;
  } catch (const Error&) {
    result.taken = false;
  }
  return result;
}

std::optional<ImageInfo> peek(Bytes bytes) {
  try {
    const ImageInfo info = peek_image(bytes);
    if (info.format == ImageFormat::kPng && info.height * info.width <= kMaxPixels) return info;
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// `n`, the size of the input, chooses what varies besides, so that an input does the same every
// time.
Region part_of(const ImageInfo& info, int64_t n) {
  Region part{.y = n % info.height, .x = n / 7 % info.width};
  part.height = 1 + n / 3 % (info.height - part.y);
  part.width = n % 5 == 0 ? info.width - part.x : 1 + n / 5 % (info.width - part.x);
  return part;
}

void check_part(Bytes bytes, const ImageInfo& info, int64_t n, const Picture& whole) {
  const Region part = part_of(info, n);
  const Picture cut = decode(bytes, info, part);
  if (!whole.taken) return;  // a region may end before what is broken
  EXPECT(cut.taken);
  const int64_t row = part.width * info.channels;
  for (int64_t y = 0; y < part.height; ++y) {
    const int64_t from = ((part.y + y) * info.width + part.x) * info.channels;
    EXPECT(std::memcmp(cut.pixels.data() + y * row, whole.pixels.data() + from,
                       static_cast<size_t>(row)) == 0);
  }
}

void run_file(Bytes input, int64_t n) {
  File file(input.begin(), input.end());
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t size = size_t{file[at]} << 24 | size_t{file[at + 1]} << 16 |
                        size_t{file[at + 2]} << 8 | file[at + 3];
    if (size > file.size() - at - 12) break;
    File crc;
    put_u32(crc,
            static_cast<uint32_t>(::crc32(0, file.data() + at + 4, static_cast<uInt>(size + 4))));
    std::copy(crc.begin(), crc.end(), file.begin() + static_cast<std::ptrdiff_t>(at + 8 + size));
    at += size + 12;
  }
  const auto info = peek(file);
  if (!info) return;
  check_part(file, *info, n, decode(file, *info, {0, 0, info->height, info->width}));
}

// What zlib makes of raw deflate data, with its last answer; at most `most` bytes.
struct Zlib {
  std::vector<uint8_t> out;
  int answer = Z_OK;
  size_t used = 0;
};
Zlib by_zlib(Bytes data, size_t most) {
  Zlib result;
  result.out.resize(most);
  z_stream stream = {};
  EXPECT(inflateInit2(&stream, -15) == Z_OK);
  stream.next_in = const_cast<Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = result.out.data();
  stream.avail_out = static_cast<uInt>(most);
  result.answer = inflate(&stream, Z_SYNC_FLUSH);
  result.used = stream.total_in;
  result.out.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

void check_inflate(Bytes data, size_t size, bool partial) {
  // Memory of the exact size, so that reading or writing beyond the slack is seen.
  std::vector<uint8_t> in(data.begin(), data.end()), out(size + kernels::kInflateOutputSlack);
  in.resize(data.size() + kernels::kInflateInputSlack, 0xEE);
  const auto tables = std::make_unique<kernels::InflateTables>();
  const kernels::Inflated result =
      kernels::inflate_to({in.data(), data.size()}, {out.data(), size}, partial, *tables);
  if (!result.good) return;
  const Zlib expected = by_zlib(data, size + (partial ? 0 : 1));
  EXPECT(expected.out.size() == size);
  EXPECT(size == 0 || std::memcmp(out.data(), expected.out.data(), size) == 0);
  if (result.ended && !partial) {
    EXPECT(expected.answer == Z_STREAM_END);
    EXPECT(expected.used == result.used);
  }
}

void run_data(Bytes input, int64_t n) {
  constexpr size_t kFormat = 4;
  if (input.size() < kFormat) return;
  constexpr int kTypes[] = {2, 0, 3, 4, 6, 0, 0, 3, 3, 2, 6, 4, 0, 3, 2, 6};
  constexpr int kDepths[] = {8, 8, 8, 8, 8, 1, 2, 4, 1, 16, 16, 16, 16, 2, 8, 8};
  PngEncoding e{.width = 1 + input[0] % 64, .height = 1 + input[1] % 64};
  e.type = kTypes[input[2] % 16];
  e.depth = kDepths[input[2] % 16];
  const Bytes data = input.subspan(kFormat);
  const size_t size = (1 + png_row_size(e)) * static_cast<size_t>(e.height);
  check_inflate(data, size, false);
  check_inflate(data, size / 2, true);

  PngParts parts;
  put_u32(parts.header, static_cast<uint32_t>(e.width));
  put_u32(parts.header, static_cast<uint32_t>(e.height));
  for (const int value : {e.depth, e.type, 0, 0, 0})
    parts.header.push_back(static_cast<uint8_t>(value));
  parts.type = static_cast<uint8_t>(e.type);
  parts.chunk_size = 1 + input[3] * 8;
  const size_t colors = 1 + size_t{input[3]} % (size_t{1} << std::min(e.depth, 8));
  parts.palette.resize(3 * colors, 0x5A);
  const Zlib rows = by_zlib(data, size);
  // The header of a full window.
  parts.data = {0x78, 0x01};
  parts.data.insert(parts.data.end(), data.begin(), data.end());
  put_u32(parts.data,
          static_cast<uint32_t>(::adler32(1, rows.out.data(), static_cast<uInt>(rows.out.size()))));
  const File file = assemble(parts);
  const auto info = peek(file);
  if (!info) return;
  const Region all{0, 0, info->height, info->width};
  const Picture whole = decode(file, *info, all);
  if (whole.taken) {
    const Picture expected = decode(file, *info, all, true);
    EXPECT(expected.taken);
    EXPECT(expected.pixels == whole.pixels);
  }
  check_part(file, *info, n, whole);
}

}  // namespace
}  // namespace torchdali::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchdali;  // NOLINT
  if (size == 0) return 0;
  const auto n = static_cast<int64_t>(size);
  set_active_isa(static_cast<Isa>(n % kNumIsas));
  if (data[0] % 2 == 0) io::run_file({data + 1, size - 1}, n);
  else io::run_data({data + 1, size - 1}, n);
  return 0;
}
