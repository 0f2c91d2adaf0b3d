// SPDX-License-Identifier: Apache-2.0
#include "kernels/color/clahe.h"

#include <algorithm>

#include "kernels/color/clahe_scalar.h"

namespace torchdali::kernels {
namespace {

using clahe_scalar::bin_of, clahe_scalar::blend, clahe_scalar::make_table, clahe_scalar::place,
    clahe_scalar::reflect;

constexpr int kMaxBins = 256;

class Equalizer {
 public:
  explicit Equalizer(const ClaheTiles& tiles) : tiles_(tiles), o_(tiles.options) {
    for (int v = 0; v < 256; ++v)
      bin_of_[v] = static_cast<uint8_t>(bin_of(static_cast<uint8_t>(v), o_.bins));
  }

  void make_tables(uint8_t* tables, const uint8_t* in) const {
    for (int64_t y = 0; y < o_.tiles_y; ++y)
      for (int64_t x = 0; x < o_.tiles_x; ++x, tables += o_.bins) {
        int64_t counts[kMaxBins] = {};
        count(counts, in, y, x);
        make_table(tables, counts, tiles_);
      }
  }
  void apply(uint8_t* out, const uint8_t* in, const uint8_t* tables, ClaheColumn* columns) const {
    const int64_t width = tiles_.width;
    for (int64_t x = 0; x < width; ++x) {
      columns[x] = place(x, o_.tiles_x, tiles_.columns);
      columns[x].left *= o_.bins;
      columns[x].right *= o_.bins;
    }
    for (int64_t y = 0; y < tiles_.height; ++y, in += width, out += width) {
      const ClaheColumn row = place(y, o_.tiles_y, tiles_.rows);
      const uint8_t* above = tables + row.left * o_.tiles_x * o_.bins;
      const uint8_t* below = tables + row.right * o_.tiles_x * o_.bins;
      for (int64_t x = 0; x < width; ++x) {
        const ClaheColumn& column = columns[x];
        const int64_t bin = bin_of_[in[x]], left = column.left + bin, right = column.right + bin;
        out[x] =
            blend(above[left], above[right], below[left], below[right], row.weight, column.weight);
      }
    }
  }

 private:
  void count(int64_t (&counts)[kMaxBins], const uint8_t* in, int64_t tile_y, int64_t tile_x) const {
    const int64_t begin = tile_x * tiles_.columns, end = begin + tiles_.columns;
    const int64_t width = tiles_.width;
    for (int64_t i = 0; i < tiles_.rows; ++i) {
      const uint8_t* row = in + reflect(tile_y * tiles_.rows + i, tiles_.height) * width;
      for (int64_t x = begin; x < std::min(end, width); ++x) ++counts[bin_of_[row[x]]];
      for (int64_t x = std::max(begin, width); x < end; ++x)
        ++counts[bin_of_[row[reflect(x, width)]]];
    }
  }

  ClaheTiles tiles_;
  ClaheOptions o_;
  uint8_t bin_of_[256];
};

}  // namespace

ClaheTiles clahe_tiles(int64_t height, int64_t width, const ClaheOptions& options) {
  const int64_t down = options.tiles_y, across = options.tiles_x;
  // If an axis is not a multiple of the number of tiles, OpenCV extends both axes.
  const bool whole = height % down == 0 && width % across == 0;
  return {.options = options,
          .height = height,
          .width = width,
          .rows = (whole ? height : height + down - height % down) / down,
          .columns = (whole ? width : width + across - width % across) / across};
}

void clahe(uint8_t* out, const uint8_t* in, int64_t height, int64_t width,
           const ClaheOptions& options, uint8_t* tables, ClaheColumn* columns) {
  const Equalizer equalizer(clahe_tiles(height, width, options));
  equalizer.make_tables(tables, in);
  equalizer.apply(out, in, tables, columns);
}

}  // namespace torchdali::kernels
