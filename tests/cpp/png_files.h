// SPDX-License-Identifier: Apache-2.0
// PNG files of every kind that is not interlaced, with any filters, compression and chunks: more
// than libpng writes. They are made from parts, so that the parts can be damaged.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "expect.h"

namespace torchdali::io {

using File = std::vector<uint8_t>;
using Random = std::mt19937_64;

inline int64_t below(Random& random, int64_t limit) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

struct PngEncoding {
  int width = 1, height = 1, type = 2, depth = 8;
  int filter = 5;   // of all rows; 5: any
  int content = 0;  // 0: noise, 1: few values, 2: smooth, 3: repeats
  int level = 6, strategy = Z_DEFAULT_STRATEGY, window_bits = 15;
  int chunk_size = 8192;
  bool extras = false;  // chunks besides the necessary ones
  int stored = 0;       // bytes at the end that are not compressed
};

struct PngParts {
  File header, palette, data;  // the data is compressed
  int chunk_size = 8192;
  bool extras = false;
  uint8_t type = 2;
};

inline void put_u32(File& file, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<uint8_t>(value >> shift));
}

inline void put_chunk(File& file, const char* name, const uint8_t* data, size_t size) {
  put_u32(file, static_cast<uint32_t>(size));
  const size_t begin = file.size();
  file.insert(file.end(), name, name + 4);
  file.insert(file.end(), data, data + size);
  put_u32(file,
          static_cast<uint32_t>(::crc32(0, file.data() + begin, static_cast<uInt>(size + 4))));
}
inline void put_chunk(File& file, const char* name, const File& data) {
  put_chunk(file, name, data.data(), data.size());
}

inline int png_samples(int type) { return type == 2 ? 3 : type == 4 ? 2 : type == 6 ? 4 : 1; }
inline size_t png_row_size(const PngEncoding& e) {
  return (static_cast<size_t>(e.width * png_samples(e.type) * e.depth) + 7) / 8;
}

// Rows with random filters; which pixels they stand for does not matter.
inline File filtered_rows(const PngEncoding& e, Random& random) {
  File rows;
  const size_t size = png_row_size(e);
  for (int y = 0; y < e.height; ++y) {
    rows.push_back(static_cast<uint8_t>(e.filter < 5 ? e.filter : below(random, 5)));
    for (size_t i = 0; i < size; ++i) {
      uint8_t value = 0;
      switch (e.content) {
        case 0: value = static_cast<uint8_t>(random()); break;
        case 1: value = static_cast<uint8_t>(below(random, 4) * 85); break;
        case 2: value = static_cast<uint8_t>(below(random, 5) - 2); break;
        default: value = static_cast<uint8_t>(i % 7 * 31 + static_cast<size_t>(y) / 5);
      }
      rows.push_back(value);
    }
  }
  return rows;
}

inline File compress(const File& rows, const PngEncoding& e) {
  z_stream stream = {};
  EXPECT(deflateInit2(&stream, e.level, Z_DEFLATED, e.window_bits, 8, e.strategy) == Z_OK);
  File out(deflateBound(&stream, static_cast<uLong>(rows.size())) + 128);
  stream.next_in = const_cast<Bytef*>(rows.data());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  if (const auto stored = static_cast<size_t>(e.stored); stored > 0 && stored < rows.size()) {
    stream.avail_in = static_cast<uInt>(rows.size() - stored);
    EXPECT(deflate(&stream, Z_FULL_FLUSH) == Z_OK);
    EXPECT(deflateParams(&stream, 0, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  stream.avail_in = static_cast<uInt>(rows.size() - stream.total_in);
  EXPECT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline PngParts make_parts(const PngEncoding& e, Random& random) {
  PngParts parts;
  put_u32(parts.header, static_cast<uint32_t>(e.width));
  put_u32(parts.header, static_cast<uint32_t>(e.height));
  for (const int value : {e.depth, e.type, 0, 0, 0})
    parts.header.push_back(static_cast<uint8_t>(value));
  if (e.type == 3) {
    parts.palette.resize(static_cast<size_t>(3 * (1 + below(random, int64_t{1} << e.depth))));
    for (uint8_t& value : parts.palette) value = static_cast<uint8_t>(random());
  }
  parts.data = compress(filtered_rows(e, random), e);
  parts.chunk_size = e.chunk_size;
  parts.extras = e.extras;
  parts.type = static_cast<uint8_t>(e.type);
  return parts;
}

inline File assemble(const PngParts& parts) {
  File file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  put_chunk(file, "IHDR", parts.header);
  if (parts.extras) put_chunk(file, "gAMA", {0, 0, 0xB1, 0x8F});
  if (parts.type == 3) put_chunk(file, "PLTE", parts.palette);
  if (parts.extras && parts.type == 3) put_chunk(file, "tRNS", {7});
  if (parts.extras && parts.type == 2) put_chunk(file, "tRNS", {0, 1, 0, 2, 0, 3});
  if (parts.extras && parts.type == 0) put_chunk(file, "tRNS", {0, 1});
  for (size_t at = 0; at < parts.data.size(); at += static_cast<size_t>(parts.chunk_size))
    put_chunk(file, "IDAT", parts.data.data() + at,
              std::min(static_cast<size_t>(parts.chunk_size), parts.data.size() - at));
  if (parts.extras) put_chunk(file, "tEXt", {'a', 0, 'b'});
  put_chunk(file, "IEND", {});
  return file;
}

inline PngEncoding random_png(Random& random) {
  struct Kind {
    int type, depth;
  };
  constexpr Kind kKinds[] = {{0, 1},  {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8},  {2, 16},
                             {3, 1},  {3, 2}, {3, 4}, {3, 8}, {4, 8},  {4, 16}, {6, 8},
                             {6, 16}, {2, 8}, {6, 8}, {2, 8}, {0, 8},  {3, 8}};
  constexpr int kStrategies[] = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
  const Kind kind = kKinds[random() % std::size(kKinds)];
  PngEncoding e{.type = kind.type, .depth = kind.depth};
  const int64_t most = random() % 8 ? 60 : 500;
  e.width = static_cast<int>(1 + below(random, most));
  e.height = static_cast<int>(1 + below(random, 40));
  e.filter = static_cast<int>(random() % 2 ? 5 : below(random, 5));
  e.content = static_cast<int>(below(random, 4));
  e.level = static_cast<int>(below(random, 10));
  e.strategy = kStrategies[random() % std::size(kStrategies)];
  e.window_bits = static_cast<int>(random() % 4 ? 15 : 9 + below(random, 7));
  e.chunk_size = static_cast<int>(random() % 2 ? 8192 : 1 + below(random, 300));
  e.extras = random() % 4 == 0;
  e.stored = static_cast<int>(random() % 4 ? 0 : below(random, 3000));
  return e;
}

inline std::string describe(const PngEncoding& e) {
  std::string text = "PNG";
  for (const int value : {e.width, e.height, e.type, e.depth, e.filter, e.content, e.level,
                          e.strategy, e.window_bits, e.chunk_size, int{e.extras}, e.stored})
    text += ' ' + std::to_string(value);
  return text;
}

}  // namespace torchdali::io
