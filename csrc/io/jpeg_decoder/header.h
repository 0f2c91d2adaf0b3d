// SPDX-License-Identifier: Apache-2.0
// The segments of a JPEG file (ITU-T T.81, annex B) before and between its scans, for the files
// that the built-in decoder reads: 8-bit Huffman, gray, YCbCr or RGB; sequential or progressive.
#pragma once

#include <array>
#include <cstdint>

#include "io/image.h"

namespace torchdali::io::jpeg {

struct Component {
  uint8_t id = 0;
  uint8_t h = 1, v = 1;               // sampling factors
  uint8_t quant = 0, dc = 0, ac = 0;  // numbers of its tables
};

// What the current scan contains: coefficients [first, last], in zigzag order, of some components,
// down to bit `low`; bits from `high` on are known; none if it is 0.
struct Scan {
  int components = 0;
  std::array<uint8_t, 3> component = {};  // numbers of them, ascending
  int first = 0, last = 63, high = 0, low = 0;
};

struct Header {
  int width = 0, height = 0;
  int components = 0;
  std::array<Component, 3> component;
  int max_h = 1, max_v = 1;
  bool rgb = false;          // no color transform
  int restart_interval = 0;  // MCUs; 0: none
  // In natural order. Kept modulo 2^16, as libjpeg-turbo multiplies with them.
  std::array<std::array<int16_t, 64>, 4> quant;
  std::array<bool, 4> has_quant = {};
  // Counts and symbols of DHT segments; empty if there was none.
  std::array<Bytes, 4> dc, ac;
  bool progressive = false;
  bool several_scans = false;  // progressive, or sequential with components apart
  Scan scan_kind;
  Bytes scan;  // entropy-coded bytes, and all that follows
  // Markers for the color space; -1: the file does not have Adobe's.
  bool jfif = false;
  int adobe = -1;
};

inline int divide_up(int a, int b) { return (a + b - 1) / b; }

// Reads up to the first scan. Returns false if the file is of another kind or anything in it is
// unusual: libjpeg-turbo then decides. Never raises.
bool read_header(Bytes bytes, Header& header);

// Reads what follows one of several scans.
enum class Next { kScan, kEnd, kOdd };
Next read_next(Bytes bytes, Header& header);

}  // namespace torchdali::io::jpeg
