// SPDX-License-Identifier: Apache-2.0
// JPEG files by libjpeg's encoder, over everything that it can vary.
#pragma once

#include <algorithm>
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
  int width = 1, height = 1, components = 3;  // 1 gray, 3 YCbCr or RGB, 4 YCCK
  int h[4] = {1, 1, 1, 1}, v[4] = {1, 1, 1, 1};
  int quality = 90, content = 0;
  int restart = 0, restart_rows = 0;  // MCUs, or rows of them
  bool rgb = false, optimize = false, wide_quant = false;
  bool progressive = false;
  std::vector<jpeg_scan_info> scans = {};  // empty: libjpeg's usual ones
  int kept_scans = 0;                      // keep so many of them; 0: all
  int orientation = 1;                     // EXIF
};

// One sample of the picture.
inline uint8_t sample_of(int content, size_t i, size_t x, size_t y, Random& random) {
  switch (content) {
    case 0: return static_cast<uint8_t>(random());
    case 1: return static_cast<uint8_t>((i * 3 + y * 5) / 4 ^ (random() & 15));
    case 2: return static_cast<uint8_t>(((x / 5 + y / 3) & 1) * 255);
    case 3: return static_cast<uint8_t>((i * 3 + y * 5) / 8);
    case 4: return static_cast<uint8_t>(random() % 64 ? 77 : random());
    // Ramps with noise: neighboring chroma differs everywhere.
    default: return static_cast<uint8_t>((i * 5 + y * 7) ^ (random() & 63));
  }
}

// Ends the file, properly, before scan number `scans`.
inline void cut_scans(File& bytes, int scans) {
  for (size_t i = 2; i + 1 < bytes.size(); ++i) {
    if (bytes[i] != 0xFF || bytes[i + 1] != 0xDA || scans-- > 0) continue;
    bytes.resize(i);
    bytes.insert(bytes.end(), {0xFF, 0xD9});
    return;
  }
}

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
  c.in_color_space = e.components == 1 ? JCS_GRAYSCALE : e.components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&c);
  if (e.components == 4) jpeg_set_colorspace(&c, JCS_YCCK);
  if (e.rgb && e.components == 3) jpeg_set_colorspace(&c, JCS_RGB);
  jpeg_set_quality(&c, e.quality, e.wide_quant ? FALSE : TRUE);
  for (int i = 0; i < e.components; ++i) {
    c.comp_info[i].h_samp_factor = e.h[i];
    c.comp_info[i].v_samp_factor = e.v[i];
  }
  c.restart_interval = static_cast<unsigned>(e.restart);
  c.restart_in_rows = e.restart_rows;
  c.optimize_coding = e.optimize;
  if (e.progressive && e.scans.empty()) {
    jpeg_simple_progression(&c);
  } else if (!e.scans.empty()) {
    c.scan_info = e.scans.data();
    c.num_scans = static_cast<int>(e.scans.size());
  }
  jpeg_start_compress(&c, TRUE);
  if (e.orientation != 1) {
    uint8_t exif[] = {'E',  'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0,
                      0x12, 1,   3,   0,   1, 0, 0,   0,   0,  0, 0, 0, 0, 0, 0, 0};
    exif[24] = static_cast<uint8_t>(e.orientation);
    jpeg_write_marker(&c, JPEG_APP0 + 1, exif, sizeof(exif));
  }
  const auto channels = static_cast<size_t>(e.components);
  File row(static_cast<size_t>(e.width) * channels);
  for (int y = 0; y < e.height; ++y) {
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = sample_of(e.content, i, i / channels, static_cast<size_t>(y), random);
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&c, rows, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  File bytes(out, out + size);
  std::free(out);  // NOLINT: allocated by libjpeg
  if (e.kept_scans) cut_scans(bytes, e.kept_scans);
  return bytes;
}

// Scans that libjpeg's encoder takes and that together hold everything: DC together or apart, AC in
// bands, each with bits that come later, in any order that keeps a scan behind what it refines.
inline std::vector<jpeg_scan_info> random_scans(int components, Random& random) {
  struct Band {
    int component, first, last, low;  // component -1: all
  };
  std::vector<Band> dc, ac;
  const int depth = 1 + static_cast<int>(below(random, 4));
  const auto low = [&] { return static_cast<int>(below(random, depth)); };
  if (random() % 2) {
    dc.push_back({-1, 0, 0, low()});
  } else {
    for (int c = 0; c < components; ++c) dc.push_back({c, 0, 0, low()});
  }
  for (int c = 0; c < components; ++c) {
    for (int k = 1; k < 64;) {
      const int last = std::min<int>(63, k + static_cast<int>(below(random, 90)));
      ac.push_back({c, k, last, low()});
      k = last + 1;
    }
  }
  std::vector<jpeg_scan_info> scans;
  const auto add = [&](const Band& b, int high) {
    jpeg_scan_info s = {.comps_in_scan = b.component < 0 ? components : 1,
                        .component_index = {},
                        .Ss = b.first,
                        .Se = b.last,
                        .Ah = high,
                        .Al = b.low};
    for (int i = 0; i < s.comps_in_scan; ++i)
      s.component_index[i] = b.component < 0 ? i : b.component;
    scans.push_back(s);
  };
  for (const Band& b : dc) add(b, 0);
  dc.insert(dc.end(), ac.begin(), ac.end());
  std::vector<bool> begun(dc.size());
  for (size_t i = 0; i < dc.size() - ac.size(); ++i) begun[i] = true;
  for (size_t left = dc.size(); left > 0;) {
    const auto i = static_cast<size_t>(below(random, static_cast<int64_t>(dc.size())));
    Band& b = dc[i];
    if (b.low < 0) continue;
    if (!begun[i]) {
      begun[i] = true;
      add(b, 0);
    } else if (b.low > 0) {
      const int high = b.low--;
      add(b, high);
    }
    if (b.low == 0) b.low = -1, --left;
  }
  return scans;
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
  e.content = static_cast<int>(random() % 6);
  e.rgb = random() % 10 == 0;
  e.optimize = random() % 3 == 0;
  e.wide_quant = random() % 4 == 0;
  return e;
}

inline void make_progressive(Encoding& e, Random& random) {
  e.progressive = true;
  if (random() % 3) e.scans = random_scans(e.components, random);
}

// Sequential, with components in scans of their own or in pairs.
inline void take_apart(Encoding& e, Random& random) {
  const auto next = [&](int first, int count) {
    e.scans.push_back({.comps_in_scan = count,
                       .component_index = {first, first + 1},
                       .Ss = 0,
                       .Se = 63,
                       .Ah = 0,
                       .Al = 0});
    return first + count;
  };
  for (int c = 0; c < e.components;) c = next(c, c + 1 < e.components && random() % 2 ? 2 : 1);
  if (random() % 2) std::reverse(e.scans.begin(), e.scans.end());
}

// One of the kinds of files, in turns.
inline void choose_scans(Encoding& e, int number, Random& random) {
  if (number % 2) make_progressive(e, random);
  else if (number % 8 == 0) take_apart(e, random);
}

inline std::string describe(const Encoding& e) {
  return std::to_string(e.width) + "x" + std::to_string(e.height) + " c" +
         std::to_string(e.components) + " " + std::to_string(e.h[0]) + std::to_string(e.v[0]) +
         " " + std::to_string(e.h[1]) + std::to_string(e.v[1]) + " " + std::to_string(e.h[2]) +
         std::to_string(e.v[2]) + " q" + std::to_string(e.quality) + " restart " +
         std::to_string(e.restart) + " content " + std::to_string(e.content) +
         (e.rgb ? " rgb" : "") + (e.optimize ? " optimized" : "") +
         (e.wide_quant ? " 16-bit quant" : "") + (e.progressive ? " progressive" : "") + " scans " +
         std::to_string(e.scans.size());
}

}  // namespace torchdali::io
