// SPDX-License-Identifier: Apache-2.0
// Decoding a region of a JPEG gives exactly the pixels of the whole image: every sampling that
// libjpeg can write, many random regions, all orientations.
// sources: csrc/io/*.cpp csrc/io/jpeg_decoder/*.cpp csrc/kernels/jpeg_*.cpp
// sources: csrc/core/cpu_features.cpp
// libs: libjpeg libpng
// sanitizers: address
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>

#include "exact_scratch.h"
#include "io/image.h"
#include "io/jpeg_decoder/choice.h"

using namespace torchdali;      // NOLINT: a program of its own
using namespace torchdali::io;  // NOLINT: as above

namespace {

struct Encoding {
  int width, height, components;
  int h[4], v[4];  // sampling factors
  bool progressive;
  int restart_rows;
  int orientation;
  int scans = 0;  // keep so many of a progressive file; 0: all
};

// Ends the file, properly, before scan number `scans`.
void cut_scans(std::vector<uint8_t>& bytes, int scans) {
  for (size_t i = 2; i + 1 < bytes.size(); ++i) {
    if (bytes[i] != 0xFF || bytes[i + 1] != 0xDA || scans-- > 0) continue;
    bytes.resize(i);
    bytes.insert(bytes.end(), {0xFF, 0xD9});
    return;
  }
}

std::vector<uint8_t> encode(const Encoding& e, std::mt19937& random) {
  jpeg_compress_struct c;
  jpeg_error_mgr errors;
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  unsigned char* out = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's type
  jpeg_mem_dest(&c, &out, &size);
  c.image_width = static_cast<JDIMENSION>(e.width);
  c.image_height = static_cast<JDIMENSION>(e.height);
  c.input_components = e.components;
  c.in_color_space = e.components == 1 ? JCS_GRAYSCALE : e.components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&c);
  if (e.components == 4) jpeg_set_colorspace(&c, JCS_YCCK);
  jpeg_set_quality(&c, 92, TRUE);
  for (int i = 0; i < e.components; ++i) {
    c.comp_info[i].h_samp_factor = e.h[i];
    c.comp_info[i].v_samp_factor = e.v[i];
  }
  if (e.progressive) jpeg_simple_progression(&c);
  c.restart_in_rows = e.restart_rows;
  jpeg_start_compress(&c, TRUE);
  if (e.orientation != 1) {
    uint8_t exif[] = {'E',  'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0,
                      0x12, 1,   3,   0,   1, 0, 0,   0,   0,  0, 0, 0, 0, 0, 0, 0};
    exif[24] = static_cast<uint8_t>(e.orientation);
    jpeg_write_marker(&c, JPEG_APP0 + 1, exif, sizeof(exif));
  }
  std::vector<uint8_t> row(static_cast<size_t>(e.width * e.components));
  for (int y = 0; y < e.height; ++y) {
    // Ramps with noise: neighbouring chroma differs everywhere.
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<uint8_t>((i * 5 + static_cast<size_t>(y) * 7) ^ (random() & 63));
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&c, rows, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  std::vector<uint8_t> bytes(out, out + size);
  if (e.scans) cut_scans(bytes, e.scans);
  std::free(out);  // NOLINT: allocated by libjpeg
  return bytes;
}

struct Pixels {
  std::vector<uint8_t> data;
  int64_t row = 0;
};

Pixels decode(const std::vector<uint8_t>& bytes, const ImageInfo& info, DecodeOptions options) {
  const ImageShape shape = decoded_shape(info, options.type, options.adjust_orientation);
  const Region r = options.region.value_or(Region{0, 0, shape.height, shape.width});
  Pixels p{.data = {}, .row = r.width * shape.channels};
  p.data.resize(static_cast<size_t>(r.height * p.row));
  ExactScratch scratch;
  decode_image(bytes, info, options, p.data.data(), p.row, scratch);
  return p;
}

int64_t compared = 0;

bool check(const Encoding& e, std::mt19937& random, int regions) {
  const std::vector<uint8_t> bytes = encode(e, random);
  const ImageInfo info = peek_image(bytes);
  jpeg::set_active_choice(random() % 2 ? jpeg::Choice::kOwn : jpeg::Choice::kLibjpegTurbo);
  for (ImageType type : {ImageType::kRGB, ImageType::kGray, ImageType::kAnyData}) {
    DecodeOptions options{.type = type};
    const ImageShape shape = decoded_shape(info, type, true);
    const Pixels whole = decode(bytes, info, options);
    for (int i = 0; i < regions; ++i) {
      const auto below = [&](int64_t n) {
        return static_cast<int64_t>(random() % (n < 1 ? 1 : n));
      };
      Region r;
      r.height = 1 + (i % 3 ? below(shape.height) : below(4) % shape.height);
      r.width = 1 + (i % 5 ? below(shape.width) : below(4) % shape.width);
      r.y = below(shape.height - r.height + 1);
      r.x = below(shape.width - r.width + 1);
      if (i % 7 == 0) r.x = 0, r.width = shape.width;
      options.region = r;
      const Pixels part = decode(bytes, info, options);
      ++compared;
      for (int64_t y = 0; y < r.height; ++y) {
        const uint8_t* expected = whole.data.data() + (r.y + y) * whole.row + r.x * shape.channels;
        if (std::memcmp(part.data.data() + y * part.row, expected, static_cast<size_t>(part.row)) ==
            0)
          continue;
        std::printf(
            "region y=%d x=%d h=%d w=%d of a %d x %d image differs in row %d: components %d, "
            "sampling %dx%d %dx%d, progressive %d, restart %d, orientation %d, type %d\n",
            static_cast<int>(r.y), static_cast<int>(r.x), static_cast<int>(r.height),
            static_cast<int>(r.width), e.height, e.width, static_cast<int>(y), e.components, e.h[0],
            e.v[0], e.h[1], e.v[1], e.progressive, e.restart_rows, e.orientation,
            static_cast<int>(type));
        return false;
      }
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int regions = argc > 1 ? std::atoi(argv[1]) : 12;
  std::mt19937 random(7);
  int failures = 0;
  for (int h = 1; h <= 4; ++h) {
    for (int v = 1; v <= 4; ++v) {
      if (h * v > 8) continue;  // an MCU holds at most ten blocks (T.81, B.2.3)
      for (int ch = 1; ch <= h; ++ch) {
        for (int cv = 1; cv <= v; ++cv) {
          if (h * v + 2 * ch * cv > 10 || h % ch || v % cv) continue;
          for (int variant = 0; variant < 4; ++variant) {
            const bool progressive = variant == 1;
            const int restart = variant == 2 ? 1 : 0;
            const int orientation = variant == 3 ? 2 + static_cast<int>(random() % 7) : 1;
            const int width = 1 + static_cast<int>(random() % 150);
            const int height = 1 + static_cast<int>(random() % 150);
            failures += !check({width,
                                height,
                                3,
                                {h, ch, ch, 1},
                                {v, cv, cv, 1},
                                progressive,
                                restart,
                                orientation},
                               random, regions);
          }
        }
      }
    }
  }
  for (int scans = 1; scans <= 8; ++scans)
    failures += !check({77, 61, 3, {2, 1, 1, 1}, {2, 1, 1, 1}, true, 0, 1, scans}, random, regions);
  for (int variant = 0; variant < 3; ++variant) {
    failures += !check({61, 83, 1, {1, 1, 1, 1}, {1, 1, 1, 1}, variant == 1, variant == 2, 1},
                       random, regions);
    failures += !check({61, 83, 4, {2, 1, 1, 2}, {2, 1, 1, 2}, variant == 1, variant == 2, 6},
                       random, regions);
    failures += !check({90, 77, 4, {1, 1, 1, 1}, {1, 1, 1, 1}, variant == 1, variant == 2, 1},
                       random, regions);
  }
  std::printf("%lld regions compared, %d encodings failed\n", static_cast<long long>(compared),
              failures);
  return failures != 0;
}
