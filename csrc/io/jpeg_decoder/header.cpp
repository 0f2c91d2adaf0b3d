// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/header.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/jpeg/jpeg_entropy.h"

namespace torchdali::io::jpeg {
namespace {

// libjpeg's JPEG_MAX_DIMENSION.
constexpr int kMaxExtent = 65500;
constexpr uint8_t kMaxSampling = 4, kTables = 4;  // T.81, B.2.2 and B.2.4
constexpr int kMaxLowBit = 13;                    // T.81, table B.3

// The second bytes of markers (T.81, table B.1).
enum Marker : uint8_t {
  kBaselineFrame = 0xC0,
  kSequentialFrame = 0xC1,  // extended
  kProgressiveFrame = 0xC2,
  kHuffmanTables = 0xC4,
  kStartOfImage = 0xD8,
  kEndOfImage = 0xD9,
  kStartOfScan = 0xDA,
  kQuantTables = 0xDB,
  kRestartInterval = 0xDD,
  kApp0 = 0xE0,
  kApp14 = 0xEE,
  kApp15 = 0xEF,
  kComment = 0xFE,
  kFill = 0xFF,  // and the first byte of every marker
};

int u16(Bytes b, size_t at) { return b[at] << 8 | b[at + 1]; }

bool read_quant(Bytes b, Header& h) {
  while (!b.empty()) {
    const int wide = b[0] >> 4, number = b[0] & 15;
    const size_t size = 1 + (wide ? 128 : 64);
    if (wide > 1 || number >= kTables || b.size() < size) return false;
    for (size_t k = 0; k < 64; ++k)
      h.quant[number][kernels::kJpegZigzag[k]] =
          static_cast<int16_t>(wide ? u16(b, 1 + 2 * k) : b[1 + k]);
    h.has_quant[number] = true;
    b = b.subspan(size);
  }
  return true;
}

bool read_huffman(Bytes b, Header& h) {
  constexpr size_t kCounts = 16;
  while (!b.empty()) {
    if (b.size() < 1 + kCounts) return false;
    const int kind = b[0] >> 4, number = b[0] & 15;
    const size_t symbols = std::accumulate(b.begin() + 1, b.begin() + 1 + kCounts, size_t{0});
    if (kind > 1 || number >= kTables || symbols > 256 || b.size() < 1 + kCounts + symbols)
      return false;
    (kind ? h.ac : h.dc)[number] = b.subspan(1, kCounts + symbols);
    b = b.subspan(1 + kCounts + symbols);
  }
  return true;
}

bool read_frame(Bytes b, Header& h) {
  if (h.components || b.size() < 6) return false;
  h.height = u16(b, 1);
  h.width = u16(b, 3);
  h.components = b[5];
  if (b[0] != 8 || h.height < 1 || h.width < 1 || h.height > kMaxExtent || h.width > kMaxExtent)
    return false;
  if ((h.components != 1 && h.components != 3) ||
      b.size() != 6 + 3 * static_cast<size_t>(h.components))
    return false;
  int blocks = 0;
  for (int i = 0; i < h.components; ++i) {
    const Bytes c = b.subspan(6 + 3 * static_cast<size_t>(i), 3);
    Component& to = h.component[i];
    to = {.id = c[0],
          .h = static_cast<uint8_t>(c[1] >> 4),
          .v = static_cast<uint8_t>(c[1] & 15),
          .quant = c[2]};
    if (to.h < 1 || to.h > kMaxSampling || to.v < 1 || to.v > kMaxSampling || to.quant >= kTables)
      return false;
    for (int k = 0; k < i; ++k)
      if (h.component[k].id == to.id) return false;
    // A scan of one component has no MCUs of several blocks (T.81, A.2.2).
    if (h.components == 1) to.h = to.v = 1;
    h.max_h = std::max<int>(h.max_h, to.h);
    h.max_v = std::max<int>(h.max_v, to.v);
    blocks += to.h * to.v;
  }
  if (blocks > kernels::kJpegMaxBlocksPerMcu) return false;
  for (int i = 0; i < h.components; ++i)
    if (h.max_h % h.component[i].h || h.max_v % h.component[i].v) return false;
  return true;
}

bool read_scan(Bytes b, Header& h) {
  Scan& scan = h.scan_kind;
  const size_t n = b.empty() ? 0 : b[0];
  if (n == 0 || n > static_cast<size_t>(h.components) || b.size() != 4 + 2 * n) return false;
  scan.components = static_cast<int>(n);
  scan.first = b[1 + 2 * n];
  scan.last = b[2 + 2 * n];
  scan.high = b[3 + 2 * n] >> 4;
  scan.low = b[3 + 2 * n] & 15;
  const bool dc = scan.first == 0, ac = scan.last > 0;
  // A scan has all coefficients of some components or, in progressive files (T.81, G.1.1.1.1),
  // their DC coefficients or a band of one component; with all bits, or one bit more than is known.
  const bool whole = dc && scan.last == 63;
  const bool part = dc ? !ac : n == 1 && scan.first <= scan.last && scan.last <= 63;
  const bool bits = scan.high ? scan.low == scan.high - 1 : scan.low <= kMaxLowBit;
  if (h.progressive ? !part || !bits : !whole || scan.high || scan.low) return false;
  // In the order of the frame.
  for (size_t i = 0, c = 0; i < n; ++i, ++c) {
    while (c < static_cast<size_t>(h.components) && h.component[c].id != b[1 + 2 * i]) ++c;
    if (c == static_cast<size_t>(h.components)) return false;
    Component& to = h.component[c];
    scan.component[i] = static_cast<uint8_t>(c);
    to.dc = b[2 + 2 * i] >> 4;
    to.ac = b[2 + 2 * i] & 15;
    if (to.dc >= kTables || to.ac >= kTables || !h.has_quant[to.quant]) return false;
    if (dc && !scan.high && h.dc[to.dc].empty()) return false;
    if (ac && h.ac[to.ac].empty()) return false;
  }
  return true;
}

bool starts_with(Bytes b, const char* text, size_t size) {
  return b.size() >= size && std::memcmp(b.data(), text, size) == 0;
}

// The color space of three components, by the rules of libjpeg, which every other program follows.
// JFIF means YCbCr, Adobe's marker can mean either, and otherwise the names of the components
// decide.
bool is_rgb(const Header& h) {
  if (h.components != 3 || h.jfif) return false;
  if (h.adobe >= 0) return h.adobe == 0;
  return h.component[0].id == 'R' && h.component[1].id == 'G' && h.component[2].id == 'B';
}

// Segments from `at` on, up to the entropy-coded bytes of a scan or the end of the image.
Next read_segments(Bytes bytes, size_t at, Header& h) {
  const auto left = [&] { return bytes.size() - at; };
  for (;;) {
    if (left() < 2 || bytes[at] != kFill) return Next::kOdd;
    const uint8_t marker = bytes[at + 1];
    if (marker == kFill) {
      ++at;
      continue;
    }
    if (marker == kEndOfImage) return Next::kEnd;
    if (left() < 4) return Next::kOdd;
    const auto length = static_cast<size_t>(u16(bytes, at + 2));
    if (length < 2 || left() < 2 + length) return Next::kOdd;
    const Bytes segment = bytes.subspan(at + 4, length - 2);
    at += 2 + length;
    switch (marker) {
      case kBaselineFrame:
      case kSequentialFrame:
      case kProgressiveFrame:
        h.progressive = marker == kProgressiveFrame;
        if (!read_frame(segment, h)) return Next::kOdd;
        break;
      case kHuffmanTables:
        if (!read_huffman(segment, h)) return Next::kOdd;
        break;
      case kQuantTables:
        if (!read_quant(segment, h)) return Next::kOdd;
        break;
      case kRestartInterval:
        if (segment.size() != 2) return Next::kOdd;
        h.restart_interval = u16(segment, 0);
        break;
      case kStartOfScan:
        h.scan = bytes.subspan(at);
        return read_scan(segment, h) ? Next::kScan : Next::kOdd;
      case kApp0:
        // The sizes that libjpeg requires before it accepts a marker.
        if (segment.size() >= 14 && starts_with(segment, "JFIF", 5)) h.jfif = true;
        break;
      case kApp14:
        if (segment.size() >= 12 && starts_with(segment, "Adobe", 5)) h.adobe = segment[11];
        break;
      default:
        // Other application segments and comments say nothing about pixels; everything else is
        // another kind of frame or out of place.
        if ((marker < kApp0 || marker > kApp15) && marker != kComment) return Next::kOdd;
    }
  }
}

}  // namespace

bool read_header(Bytes bytes, Header& h) {
  if (bytes.size() < 4 || bytes[0] != kFill || bytes[1] != kStartOfImage) return false;
  if (read_segments(bytes, 2, h) != Next::kScan) return false;
  h.rgb = is_rgb(h);
  h.several_scans = h.progressive || h.scan_kind.components < h.components;
  return true;
}

Next read_next(Bytes bytes, Header& h) {
  // A file that lacks only the end marker has the whole picture.
  return bytes.empty() ? Next::kEnd : read_segments(bytes, 0, h);
}

}  // namespace torchdali::io::jpeg
