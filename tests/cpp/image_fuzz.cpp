// SPDX-License-Identifier: Apache-2.0
// Broken image files end in an error or in pixels, never in a crash, a leak or a huge allocation:
// small files of every format, cut at every length, then with bytes flipped, overwritten, moved,
// repeated and removed. Deterministic. An argument sets the number of mutations of each file.
// sources: csrc/io/*.cpp csrc/io/formats/*.cpp csrc/io/jpeg_decoder/**/*.cpp csrc/kernels/jpeg/*.cpp
// sources: csrc/core/cpu_features.cpp
// sources: csrc/io/png_decoder/*.cpp csrc/kernels/png/*.cpp
// libs: libjpeg libpng libtiff-4 libwebp libopenjp2
// optional: libavif libjxl
// sanitizers: address
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>
// png.h needs <cstdio> before it.
#include <png.h>

#include "exact_scratch.h"
#include "expect.h"
#include "io/image.h"
#include "jpeg_files.h"
#include "library_files.h"

namespace torchdali::io {
namespace {

int64_t decoded = 0, refused = 0;

// Whatever the bytes, this returns.
void run(const File& file, std::mt19937& random) {
  constexpr int64_t kMaxPixels = int64_t{1} << 22;
  // A copy of the exact size on the heap, so that reading past it is seen.
  const std::vector<uint8_t> bytes(file.begin(), file.end());
  try {
    const ImageInfo info = peek_image(bytes);
    EXPECT(info.height > 0 && info.width > 0 && info.channels >= 1 && info.channels <= 4);
    EXPECT(info.orientation >= 1 && info.orientation <= 8);
    DecodeOptions options{.type = static_cast<ImageType>(random() % 5)};
    if (can_scale(info) && random() % 3 == 0) options.scale = 1 << random() % 4;
    constexpr DType kTypes[] = {DType::kUInt8, DType::kInt16, DType::kFloat};
    options.dtype = kTypes[random() % 3];
    const ImageShape shape = decoded_shape(scaled_info(info, options.scale), options.type, true);
    if (shape.height * shape.width > kMaxPixels) return;  // plausible, but slow to test
    Region r{0, 0, shape.height, shape.width};
    if (random() % 2) {
      r.height = 1 + static_cast<int64_t>(random()) % shape.height;
      r.width = 1 + static_cast<int64_t>(random()) % shape.width;
      r.y = static_cast<int64_t>(random()) % (shape.height - r.height + 1);
      r.x = static_cast<int64_t>(random()) % (shape.width - r.width + 1);
      options.region = r;
    }
    const int64_t row = r.width * shape.channels * itemsize(options.dtype);
    std::vector<uint8_t> out(static_cast<size_t>(r.height * row));
    ExactScratch scratch;
    decode_image(bytes, info, options, out.data(), row, scratch);
    ++decoded;
  } catch (const Error& e) {
    EXPECT(e.kind() == ErrorKind::kData || e.kind() == ErrorKind::kUnsupported);
    EXPECT(!e.message().empty());
    ++refused;
  }
}

void mutate(File& file, std::mt19937& random) {
  constexpr uint8_t kNasty[] = {0x00, 0xFF, 0x7F, 0x80, 0x01, 0xD9, 0xDA, 0xC0, 0x40};
  for (unsigned i = 0, n = 1 + random() % 4; i < n && !file.empty(); ++i) {
    const size_t at = random() % file.size();
    const size_t length = std::min<size_t>(1 + random() % 16, file.size() - at);
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    switch (random() % 6) {
      case 0: file[at] ^= static_cast<uint8_t>(1u << random() % 8); break;
      case 1: file[at] = kNasty[random() % sizeof(kNasty)]; break;
      case 2: std::fill(begin, end, kNasty[random() % sizeof(kNasty)]); break;
      case 3: file.erase(begin, end); break;
      case 4: {
        const File part(begin, end);
        file.insert(file.begin() + static_cast<std::ptrdiff_t>(random() % file.size()),
                    part.begin(), part.end());
        break;
      }
      default: file[random() % std::min<size_t>(file.size(), 64)] = static_cast<uint8_t>(random());
    }
  }
}

// Chunks' checksums are made right again, so that mutations reach beyond them.
void mend_png(File& file) {
  const auto u32 = [&](size_t at) {
    return static_cast<size_t>(file[at]) << 24 | static_cast<size_t>(file[at + 1]) << 16 |
           static_cast<size_t>(file[at + 2]) << 8 | file[at + 3];
  };
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t length = u32(at);
    if (length > file.size() - at - 12) return;
    uint32_t crc = 0xFFFFFFFF;  // ISO/IEC 15948, annex D
    for (size_t i = at + 4; i < at + 8 + length; ++i) {
      crc ^= file[i];
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    crc = ~crc;
    for (int i = 0; i < 4; ++i)
      file[at + 8 + length + static_cast<size_t>(i)] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    at += 12 + length;
  }
}

uint8_t pattern(int x, int y, int c) { return static_cast<uint8_t>(x * 11 + y * 7 + c * 50); }

File make_jpeg(int components, bool progressive, int sampling, int restart_rows) {
  std::mt19937 random(3);
  Encoding e{.width = 37, .height = 29, .components = components, .quality = 75, .content = 5};
  e.h[0] = e.v[0] = sampling;
  e.restart_rows = restart_rows;
  e.progressive = progressive;
  e.orientation = 6;
  return encode(e, random);
}

File make_png(int depth, int type, bool interlaced) {
  constexpr int kWidth = 23, kHeight = 19;
  File file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp p, png_bytep data, size_t size) {
        auto* out = static_cast<File*>(png_get_io_ptr(p));
        out->insert(out->end(), data, data + size);
      },
      nullptr);
  png_set_IHDR(png, info, kWidth, kHeight, depth, type,
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (type == PNG_COLOR_TYPE_PALETTE) {
    png_color palette[16];
    for (int i = 0; i < 16; ++i)
      palette[i] = {pattern(i, 0, 0), pattern(0, i, 1), pattern(i, i, 2)};
    png_byte alpha[3] = {0, 128, 255};
    png_set_PLTE(png, info, palette, std::min(16, 1 << depth));
    png_set_tRNS(png, info, alpha, std::min(3, 1 << depth), nullptr);
  }
  png_write_info(png, info);
  File row(static_cast<size_t>(kWidth) * 8);
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < kHeight; ++y) {
      for (size_t i = 0; i < row.size(); ++i) row[i] = pattern(static_cast<int>(i), y, 0) & 15;
      png_write_row(png, row.data());
    }
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

void put(File& file, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    file.push_back(static_cast<uint8_t>(i < 8 ? value >> (8 * i) : 0));
}

File make_bmp(int bits, uint32_t compression, int height) {
  constexpr int kWidth = 13;
  const int colors = bits <= 8 ? 1 << bits : 0;
  File file = {'B', 'M'};
  const uint32_t masks = compression == 3 ? 12 : 0;
  const uint32_t data = 14 + 40 + masks + 4 * static_cast<uint32_t>(colors);
  put(file, 0, 8);
  put(file, data, 4);
  put(file, 40, 4);
  put(file, kWidth, 4);
  put(file, static_cast<uint32_t>(height), 4);
  put(file, 1, 2);
  put(file, static_cast<uint32_t>(bits), 2);
  put(file, compression, 4);
  put(file, 0, 20);
  if (masks) put(file, 0xF800, 4), put(file, 0x07E0, 4), put(file, 0x001F, 4);
  for (int i = 0; i < colors; ++i) put(file, static_cast<uint32_t>(i) * 0x030507, 4);
  for (int y = 0; y < std::abs(height); ++y) {
    if (compression == 1 || compression == 2) {
      put(file, 0x0204, 2), put(file, 0x0500, 2), put(file, 0x04030201, 4), put(file, 0x0005, 2);
      put(file, 0x0200, 2), put(file, 0x0001, 2), put(file, 0x0703, 2), put(file, 0, 2);
    } else {
      for (int i = 0; i < (kWidth * bits + 31) / 32 * 4; ++i) file.push_back(pattern(i, y, 0));
    }
  }
  if (compression == 1 || compression == 2) put(file, 0x0100, 2);
  return file;
}

File make_pnm(char kind, const char* max) {
  std::string text = std::string("P") + kind + " # comment\n9 7\n" + max;
  if (*max) text += '\n';
  const bool wide = std::strlen(max) > 3;
  const int channels = kind == '3' || kind == '6' ? 3 : 1;
  for (int y = 0; y < 7; ++y) {
    if (kind == '4') {
      text += std::string("\x5A\x80", 2);
      continue;
    }
    for (int i = 0; i < 9 * channels; ++i) {
      if (kind == '1') text += y % 2 ? "1 " : "0";
      else if (kind <= '3') text += std::to_string(pattern(i, y, 0)) + ' ';
      else text.append(wide ? 2 : 1, static_cast<char>(pattern(i, y, 0)));
    }
  }
  return {text.begin(), text.end()};
}

[[maybe_unused]] File read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  const File file((std::istreambuf_iterator<char>(in)), {});
  EXPECT(!file.empty());
  return file;
}

std::vector<File> seeds() {
  std::vector<File> files;
  for (bool progressive : {false, true}) {
    for (int components : {1, 3, 4}) files.push_back(make_jpeg(components, progressive, 1, 0));
    files.push_back(make_jpeg(3, progressive, 2, 1));
  }
  for (bool interlaced : {false, true}) {
    for (int depth : {1, 4, 8, 16})
      files.push_back(make_png(depth, PNG_COLOR_TYPE_GRAY, interlaced));
    for (int depth : {2, 8}) files.push_back(make_png(depth, PNG_COLOR_TYPE_PALETTE, interlaced));
    files.push_back(make_png(8, PNG_COLOR_TYPE_RGB, interlaced));
    files.push_back(make_png(16, PNG_COLOR_TYPE_RGB_ALPHA, interlaced));
    files.push_back(make_png(8, PNG_COLOR_TYPE_GRAY_ALPHA, interlaced));
  }
  for (int bits : {1, 4, 8, 16, 24, 32}) files.push_back(make_bmp(bits, 0, bits == 8 ? -5 : 5));
  files.push_back(make_bmp(8, 1, 5));
  files.push_back(make_bmp(4, 2, 5));
  files.push_back(make_bmp(16, 3, 5));
  for (char kind = '1'; kind <= '6'; ++kind) {
    const bool bitmap = kind == '1' || kind == '4';
    files.push_back(make_pnm(kind, bitmap ? "" : "255"));
    if (!bitmap) files.push_back(make_pnm(kind, "4000"));
  }
  for (File& file : library_files()) files.push_back(std::move(file));
#ifdef TORCHDALI_HAVE_AVIF
  files.push_back(read_file("tests/data/images/rgba8.avif"));
#endif
#ifdef TORCHDALI_HAVE_JXL
  files.push_back(read_file("tests/data/images/rgb8_turned.jxl"));
  files.push_back(read_file("tests/data/images/rgba8.jxl"));
#endif
  return files;
}

// Headers that claim 60,000 x 60,000 pixels are refused before anything is allocated for them.
void huge_claims() {
  std::mt19937 random(1);
  constexpr uint8_t kHigh = 60000 >> 8, kLow = 60000 & 255;
  File jpeg = make_jpeg(3, false, 1, 0);
  for (size_t i = 0; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] != 0xFF || jpeg[i + 1] != 0xC0) continue;
    jpeg[i + 5] = jpeg[i + 7] = kHigh;
    jpeg[i + 6] = jpeg[i + 8] = kLow;
    break;
  }
  File png = make_png(8, PNG_COLOR_TYPE_RGB, false);
  png[18] = png[22] = kHigh;
  png[19] = png[23] = kLow;
  mend_png(png);
  File bmp = make_bmp(24, 0, 5), runs = make_bmp(8, 1, 5);
  for (File* f : {&bmp, &runs}) {
    (*f)[18] = (*f)[22] = kLow;
    (*f)[19] = (*f)[23] = kHigh;
  }
  const std::string text = "P6 60000 60000 255\n" + std::string(1000, 'x');
  for (const File& file : {jpeg, png, bmp, runs, File(text.begin(), text.end())})
    EXPECT_THROW(Error, peek_image(file), EXPECT(e.kind() == ErrorKind::kData));
  run(jpeg, random);
}

}  // namespace
}  // namespace torchdali::io

int main(int argc, char** argv) {
  using namespace torchdali::io;  // NOLINT: a program of its own
  const int mutations = argc > 1 ? std::atoi(argv[1]) : 3000;
  std::mt19937 random(11);
  huge_claims();
  for (const File& seed : seeds()) {
    const int64_t before = refused;
    for (int i = 0; i < 8; ++i) run(seed, random);
    EXPECT(refused == before);
    for (size_t size = 0; size < seed.size(); size += 1 + seed.size() / 400)
      run(File(seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(size)), random);
    for (int i = 0; i < mutations; ++i) {
      File file = seed;
      mutate(file, random);
      if (file.size() > 8 && file[0] == 0x89 && random() % 4) mend_png(file);
      run(file, random);
    }
  }
  std::printf("%lld decoded, %lld refused\n", static_cast<long long>(decoded),
              static_cast<long long>(refused));
  return 0;
}
