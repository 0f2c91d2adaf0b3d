// SPDX-License-Identifier: Apache-2.0
// Sequential JPEG files by libjpeg's encoder, over everything that it can vary.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>

namespace torchdali::io {

using File = std::vector<uint8_t>;
using Random = std::mt19937;

inline int64_t below(Random& random, int64_t n) {
  return static_cast<int64_t>(random()) % (n < 1 ? 1 : n);
}

struct Encoding {
  int width = 1, height = 1, components = 3;
  int h[3] = {1, 1, 1}, v[3] = {1, 1, 1};
  int quality = 90, restart = 0, content = 0;
  bool rgb = false, optimize = false, wide_quant = false;
};

inline File encode(const Encoding& e, Random& random) {
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
  c.in_color_space = e.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&c);
  if (e.rgb && e.components == 3) jpeg_set_colorspace(&c, JCS_RGB);
  jpeg_set_quality(&c, e.quality, e.wide_quant ? FALSE : TRUE);
  for (int i = 0; i < e.components; ++i) {
    c.comp_info[i].h_samp_factor = e.h[i];
    c.comp_info[i].v_samp_factor = e.v[i];
  }
  c.restart_interval = static_cast<unsigned>(e.restart);
  c.optimize_coding = e.optimize;
  jpeg_start_compress(&c, TRUE);
  std::vector<uint8_t> row(static_cast<size_t>(e.width * e.components));
  for (int y = 0; y < e.height; ++y) {
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t x = i / static_cast<size_t>(e.components);
      const auto ramp = i * 3 + static_cast<size_t>(y) * 5;
      switch (e.content) {
        case 0: row[i] = static_cast<uint8_t>(random()); break;
        case 1: row[i] = static_cast<uint8_t>(ramp / 4 ^ (random() & 15)); break;
        case 2:
          row[i] = static_cast<uint8_t>(((x / 5 + static_cast<size_t>(y) / 3) & 1) * 255);
          break;
        case 3: row[i] = static_cast<uint8_t>(ramp / 8); break;
        default: row[i] = static_cast<uint8_t>(random() % 64 ? 77 : random()); break;
      }
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&c, rows, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  File bytes(out, out + size);
  std::free(out);  // NOLINT: allocated by libjpeg
  return bytes;
}

inline constexpr int kSamplings[][6] = {// h and v of three components
                                        {1, 1, 1, 1, 1, 1}, {2, 1, 1, 1, 1, 1}, {2, 2, 1, 1, 1, 1},
                                        {1, 2, 1, 1, 1, 1}, {4, 1, 1, 1, 1, 1}, {2, 2, 2, 1, 2, 1},
                                        {2, 2, 1, 2, 1, 2}, {4, 2, 1, 1, 1, 1}, {1, 4, 1, 1, 1, 1},
                                        {2, 2, 2, 2, 1, 1}, {1, 1, 2, 2, 1, 1}, {2, 2, 1, 1, 2, 1},
                                        {2, 1, 1, 1, 2, 1}, {1, 1, 1, 2, 1, 1}, {4, 1, 2, 1, 1, 1}};

inline Encoding random_encoding(Random& random) {
  Encoding e;
  const bool small = random() % 2;
  e.width = 1 + static_cast<int>(below(random, small ? 20 : 120));
  e.height = 1 + static_cast<int>(below(random, small ? 20 : 120));
  e.components = random() % 8 ? 3 : 1;
  // The usual ones more often.
  const auto& s = kSamplings[random() % 2 ? random() % 5 : random() % std::size(kSamplings)];
  for (int i = 0; i < e.components; ++i) e.h[i] = s[2 * i], e.v[i] = s[2 * i + 1];
  constexpr int kQualities[] = {1, 10, 50, 75, 90, 95, 100};
  e.quality = kQualities[random() % std::size(kQualities)];
  constexpr int kRestarts[] = {0, 0, 0, 1, 2, 7, 31};
  e.restart = kRestarts[random() % std::size(kRestarts)];
  e.content = static_cast<int>(random() % 5);
  e.rgb = random() % 10 == 0;
  e.optimize = random() % 3 == 0;
  e.wide_quant = random() % 4 == 0;
  return e;
}

inline std::string describe(const Encoding& e) {
  return std::to_string(e.width) + "x" + std::to_string(e.height) + " c" +
         std::to_string(e.components) + " " + std::to_string(e.h[0]) + std::to_string(e.v[0]) +
         " " + std::to_string(e.h[1]) + std::to_string(e.v[1]) + " " + std::to_string(e.h[2]) +
         std::to_string(e.v[2]) + " q" + std::to_string(e.quality) + " restart " +
         std::to_string(e.restart) + " content " + std::to_string(e.content) +
         (e.rgb ? " rgb" : "") + (e.optimize ? " optimized" : "") +
         (e.wide_quant ? " 16-bit quant" : "");
}

}  // namespace torchdali::io
