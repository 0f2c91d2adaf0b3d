// SPDX-License-Identifier: Apache-2.0
#include "kernels/clahe.h"

#include <algorithm>
#include <cmath>

namespace torchdali::kernels {
namespace {

constexpr int kMaxBins = 256;

// To the nearest, halves to even, for 0 <= x < 256: such a sum has no fraction.
uint8_t round_to_even(float x) {
  constexpr float kNoFraction = 0x1p23f;
  return static_cast<uint8_t>(std::min((x + kNoFraction) - kNoFraction, 255.0f));
}

// Index of what lies `i` from the beginning of `n` elements that go on mirrored around the last.
int64_t reflect(int64_t i, int64_t n) {
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), at = i % period;
  return at < n ? at : period - at;
}

// Along one axis: where between the middles of its tiles, `extent` long, a pixel lies.
ClaheColumn place(int64_t i, int64_t tiles, int64_t extent) {
  const float at = static_cast<float>(i) * (1.0f / static_cast<float>(extent)) - 0.5f;
  const float low = std::floor(at);
  const auto first = static_cast<int64_t>(low);
  return {std::max<int64_t>(first, 0), std::min(first + 1, tiles - 1), at - low};
}

class Equalizer {
 public:
  Equalizer(int64_t height, int64_t width, const ClaheOptions& options)
      : o_(options), height_(height), width_(width) {
    // Where the image is no multiple of the tiles, OpenCV enlarges both of its axes.
    const bool whole = height % o_.tiles_y == 0 && width % o_.tiles_x == 0;
    rows_ = (whole ? height : height + o_.tiles_y - height % o_.tiles_y) / o_.tiles_y;
    columns_ = (whole ? width : width + o_.tiles_x - width % o_.tiles_x) / o_.tiles_x;
    for (int v = 0; v < 256; ++v) bin_of_[v] = static_cast<uint8_t>(v * o_.bins / 256);
  }

  void make_tables(uint8_t* tables, const uint8_t* in) const {
    for (int64_t y = 0; y < o_.tiles_y; ++y)
      for (int64_t x = 0; x < o_.tiles_x; ++x, tables += o_.bins) make_table(tables, in, y, x);
  }
  void apply(uint8_t* out, const uint8_t* in, const uint8_t* tables, ClaheColumn* columns) const {
    for (int64_t x = 0; x < width_; ++x) {
      columns[x] = place(x, o_.tiles_x, columns_);
      columns[x].left *= o_.bins;
      columns[x].right *= o_.bins;
    }
    for (int64_t y = 0; y < height_; ++y, in += width_, out += width_) {
      const ClaheColumn row = place(y, o_.tiles_y, rows_);
      const uint8_t* above = tables + row.left * o_.tiles_x * o_.bins;
      const uint8_t* below = tables + row.right * o_.tiles_x * o_.bins;
      for (int64_t x = 0; x < width_; ++x) {
        const ClaheColumn& column = columns[x];
        const int64_t bin = bin_of_[in[x]], left = column.left + bin, right = column.right + bin;
        const float b = column.weight, a = 1.0f - b;
        const float upper =
            static_cast<float>(above[left]) * a + static_cast<float>(above[right]) * b;
        const float lower =
            static_cast<float>(below[left]) * a + static_cast<float>(below[right]) * b;
        out[x] = round_to_even(upper * (1.0f - row.weight) + lower * row.weight);
      }
    }
  }

 private:
  void make_table(uint8_t* table, const uint8_t* in, int64_t tile_y, int64_t tile_x) const {
    int64_t counts[kMaxBins] = {};
    const int64_t begin = tile_x * columns_, end = begin + columns_;
    for (int64_t i = 0; i < rows_; ++i) {
      const uint8_t* row = in + reflect(tile_y * rows_ + i, height_) * width_;
      for (int64_t x = begin; x < std::min(end, width_); ++x) ++counts[bin_of_[row[x]]];
      for (int64_t x = std::max(begin, width_); x < end; ++x)
        ++counts[bin_of_[row[reflect(x, width_)]]];
    }
    const int64_t area = rows_ * columns_;
    if (o_.clip_limit > 0) clip(counts, area);
    const float scale = 255.0f / static_cast<float>(area);
    int64_t sum = 0;
    for (int i = 0; i < o_.bins; ++i) {
      sum += counts[i];
      table[i] = round_to_even(static_cast<float>(sum) * scale);
    }
  }
  // Cuts off what is above the limit and spreads it over all bins.
  void clip(int64_t (&counts)[kMaxBins], int64_t area) const {
    const int bins = o_.bins;
    const double wanted = static_cast<double>(o_.clip_limit) * static_cast<double>(area) / bins;
    const auto limit =
        std::max<int64_t>(static_cast<int64_t>(std::min(wanted, static_cast<double>(area))), 1);
    int64_t excess = 0;
    for (int i = 0; i < bins; ++i) {
      excess += std::max<int64_t>(counts[i] - limit, 0);
      counts[i] = std::min(counts[i], limit);
    }
    for (int i = 0; i < bins; ++i) counts[i] += excess / bins;
    const int64_t rest = excess % bins;
    if (rest == 0) return;
    const int64_t step = std::max<int64_t>(bins / rest, 1);
    for (int64_t i = 0, left = rest; i < bins && left > 0; i += step, --left) ++counts[i];
  }

  ClaheOptions o_;
  int64_t height_, width_;
  int64_t rows_, columns_;  // of a tile
  uint8_t bin_of_[256];
};

}  // namespace

void clahe(uint8_t* out, const uint8_t* in, int64_t height, int64_t width,
           const ClaheOptions& options, uint8_t* tables, ClaheColumn* columns) {
  const Equalizer equalizer(height, width, options);
  equalizer.make_tables(tables, in);
  equalizer.apply(out, in, tables, columns);
}

}  // namespace torchdali::kernels
