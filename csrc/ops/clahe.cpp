// SPDX-License-Identifier: Apache-2.0
// fn.clahe: contrast limited adaptive histogram equalization. Source: K. Zuiderveld, "Contrast
// Limited Adaptive Histogram Equalization", Graphics Gems IV, 1994, in the form of OpenCV's CLAHE:
// its borders, clipping and rounding.
#include <algorithm>
#include <cmath>

#include "core/operator.h"
#include "kernels/colour_matrix.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

constexpr int kMaxBins = 256;
constexpr int64_t kMaxTiles = 1 << 20;  // 256 MB of tables
// Luma of ITU-R BT.601-7, 2.5.1 (0.299, 0.587, 0.114), in 32768ths.
constexpr int16_t kLuma[3] = {9798, 19235, 3735};

// Index of what lies `i` from the beginning of `n` elements that go on mirrored around the last.
int64_t reflect(int64_t i, int64_t n) {
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), at = i % period;
  return at < n ? at : period - at;
}

// One axis of the grid of tiles.
struct Tiling {
  int64_t tiles, extent;  // extent of one tile

  // Where the image is not a multiple of the tiles, OpenCV enlarges both of its axes.
  Tiling(int64_t size, int64_t tiles, bool whole)
      : tiles(tiles), extent((whole ? size : size + tiles - size % tiles) / tiles) {}

  struct Place {
    int64_t first, second;  // tiles
    float weight;           // of the second
  };
  Place place(int64_t i) const {
    const float at = static_cast<float>(i) * (1.0f / static_cast<float>(extent)) - 0.5f;
    const float low = std::floor(at);
    const auto first = static_cast<int64_t>(low);
    return {std::max<int64_t>(first, 0), std::min(first + 1, tiles - 1), at - low};
  }
};

class Clahe final : public Operator {
 public:
  explicit Clahe(const OpSpec& spec)
      : layout_(spec, 0),
        tiles_x_(spec.get<int>("tiles_x")),
        tiles_y_(spec.get<int>("tiles_y")),
        bins_(spec.get<int>("bins")),
        clip_limit_(spec.get<float>("clip_limit")),
        luma_only_(spec.get<bool>("luma_only")) {
    const auto check = [](const char* name, int64_t value, int64_t least, int64_t most) {
      TORCHDALI_CHECK(value >= least && value <= most, "`", name, "` is ", value, ", expected ",
                      least, " to ", most);
    };
    check("tiles_x", tiles_x_, 1, kMaxTiles);
    check("tiles_y", tiles_y_, 1, kMaxTiles);
    check("bins", bins_, 1, kMaxBins);
    TORCHDALI_CHECK(tiles_x_ * tiles_y_ <= kMaxTiles, "`tiles_x` and `tiles_y` make ",
                    tiles_x_ * tiles_y_, " tiles, expected at most ", kMaxTiles);
    TORCHDALI_CHECK(!std::isnan(clip_limit_), "`clip_limit` is ", clip_limit_,
                    ", expected a number");
    for (int v = 0; v < kMaxBins; ++v) bin_of_[v] = static_cast<uint8_t>(v * bins_ / kMaxBins);
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8. To fix it: use fn.cast");
    const int64_t height = in.shape[0], width = in.shape[1], channels = in.shape[2];
    TORCHDALI_CHECK(channels == 1 || channels == 3, "input `data` has ", channels,
                    " channels, expected 1 or 3");
    const SampleView& view = ctx.output(0, in.dtype, in.shape, layout);
    if (in.volume() == 0) return;
    const uint8_t* from = in.as<const uint8_t>();
    uint8_t* to = view.as<uint8_t>();
    const Grid grid{height,
                    width,
                    {height, tiles_y_, whole(height, width)},
                    {width, tiles_x_, whole(height, width)}};
    const auto columns = ctx.scratch<Tiling::Place>(static_cast<size_t>(width));
    for (int64_t x = 0; x < width; ++x) columns[static_cast<size_t>(x)] = grid.x.place(x);
    const auto tables = ctx.scratch<uint8_t>(static_cast<size_t>(tiles_x_ * tiles_y_ * bins_));
    if (channels == 1) {
      equalize(grid, columns.data(), tables.data(), to, from);
      return;
    }
    const int64_t pixels = height * width;
    uint8_t* plane = ctx.scratch<uint8_t>(static_cast<size_t>(pixels)).data();
    uint8_t* result = ctx.scratch<uint8_t>(static_cast<size_t>(pixels)).data();
    if (luma_only_) {
      kernels::weighted_sum(plane, from, pixels, kLuma);
      equalize(grid, columns.data(), tables.data(), result, plane);
      // What luma gains all channels gain: colour differences stay as they are.
      for (int64_t p = 0; p < pixels; ++p) {
        const int gain = result[p] - plane[p];
        for (int c = 0; c < 3; ++c)
          to[3 * p + c] = static_cast<uint8_t>(std::clamp(from[3 * p + c] + gain, 0, 255));
      }
      return;
    }
    for (int c = 0; c < 3; ++c) {
      for (int64_t p = 0; p < pixels; ++p) plane[p] = from[3 * p + c];
      equalize(grid, columns.data(), tables.data(), result, plane);
      for (int64_t p = 0; p < pixels; ++p) to[3 * p + c] = result[p];
    }
  }

 private:
  struct Grid {
    int64_t height, width;
    Tiling y, x;
  };
  bool whole(int64_t height, int64_t width) const {
    return height % tiles_y_ == 0 && width % tiles_x_ == 0;
  }

  // One channel, [height, width].
  void equalize(const Grid& grid, const Tiling::Place* columns, uint8_t* tables, uint8_t* out,
                const uint8_t* in) const {
    for (int64_t y = 0; y < grid.y.tiles; ++y)
      for (int64_t x = 0; x < grid.x.tiles; ++x)
        make_table(grid, tables + (y * grid.x.tiles + x) * bins_, in, y, x);
    for (int64_t y = 0; y < grid.height; ++y, in += grid.width, out += grid.width) {
      const Tiling::Place row = grid.y.place(y);
      const uint8_t* above = tables + row.first * grid.x.tiles * bins_;
      const uint8_t* below = tables + row.second * grid.x.tiles * bins_;
      for (int64_t x = 0; x < grid.width; ++x) {
        const Tiling::Place& column = columns[x];
        const int64_t left = column.first * bins_ + bin_of_[in[x]];
        const int64_t right = column.second * bins_ + bin_of_[in[x]];
        const float b = column.weight, a = 1.0f - b;
        const float upper =
            static_cast<float>(above[left]) * a + static_cast<float>(above[right]) * b;
        const float lower =
            static_cast<float>(below[left]) * a + static_cast<float>(below[right]) * b;
        out[x] = round_to_even(upper * (1.0f - row.weight) + lower * row.weight);
      }
    }
  }
  void make_table(const Grid& grid, uint8_t* table, const uint8_t* in, int64_t tile_y,
                  int64_t tile_x) const {
    int64_t counts[kMaxBins] = {};
    for (int64_t i = 0; i < grid.y.extent; ++i) {
      const uint8_t* row = in + reflect(tile_y * grid.y.extent + i, grid.height) * grid.width;
      const int64_t begin = tile_x * grid.x.extent, end = begin + grid.x.extent;
      for (int64_t x = begin; x < std::min(end, grid.width); ++x) ++counts[bin_of_[row[x]]];
      for (int64_t x = std::max(begin, grid.width); x < end; ++x)
        ++counts[bin_of_[row[reflect(x, grid.width)]]];
    }
    const int64_t area = grid.y.extent * grid.x.extent;
    if (clip_limit_ > 0) clip(counts, area);
    const float scale = 255.0f / static_cast<float>(area);
    int64_t sum = 0;
    for (int i = 0; i < bins_; ++i) {
      sum += counts[i];
      table[i] = round_to_even(static_cast<float>(sum) * scale);
    }
  }
  // Cuts off what is above the limit and spreads it over all bins.
  void clip(int64_t (&counts)[kMaxBins], int64_t area) const {
    const double wanted = static_cast<double>(clip_limit_) * static_cast<double>(area) / bins_;
    const auto limit =
        std::max<int64_t>(static_cast<int64_t>(std::min(wanted, static_cast<double>(area))), 1);
    int64_t excess = 0;
    for (int i = 0; i < bins_; ++i) {
      excess += std::max<int64_t>(counts[i] - limit, 0);
      counts[i] = std::min(counts[i], limit);
    }
    for (int i = 0; i < bins_; ++i) counts[i] += excess / bins_;
    const int64_t rest = excess % bins_;
    if (rest == 0) return;
    const int64_t step = std::max<int64_t>(bins_ / rest, 1);
    for (int64_t i = 0, left = rest; i < bins_ && left > 0; i += step, --left) ++counts[i];
  }
  // To the nearest, halves to even, for x >= 0.
  static uint8_t round_to_even(float x) {
    return static_cast<uint8_t>(std::min(std::nearbyint(x), 255.0f));
  }

  InputLayout layout_;
  int64_t tiles_x_, tiles_y_;
  int bins_;
  float clip_limit_;
  bool luma_only_;
  uint8_t bin_of_[kMaxBins];
};

TORCHDALI_OPERATOR("clahe")
    .doc(
        "Equalises the histogram of each tile of an image, with a limit to the contrast that this "
        "may add, and blends between neighbouring tiles (contrast limited adaptive histogram "
        "equalization).")
    .input("data", "Images of uint8, with one or three (red, green, blue) channels.", {"HWC"})
    .output("equalized", "Shape and layout of the input, uint8.")
    .required_arg("tiles_x", ArgType::kInt, "Number of tiles along W, 1 or more.")
    .required_arg("tiles_y", ArgType::kInt, "Number of tiles along H, 1 or more.")
    .required_arg("clip_limit", ArgType::kFloat,
                  "How many times the mean a bin of a histogram may hold; what is above is spread "
                  "over all bins. 0 or less: no limit.")
    .arg("bins", 256, "Number of bins of a histogram, 1 to 256.")
    .arg("luma_only", true,
         "Whether the luma of RGB images (ITU-R BT.601) is equalised and colour differences stay "
         "as they are; else each channel on its own.")
    .cpu<Clahe>();

}  // namespace
}  // namespace torchdali
