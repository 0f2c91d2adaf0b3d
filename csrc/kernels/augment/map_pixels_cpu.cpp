// SPDX-License-Identifier: Apache-2.0
// map_pixels.h, once per instruction set.
#include "kernels/augment/map_pixels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/augment/map_pixels_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

constexpr int64_t kMapBlock = 256;

// The pixels of a block of a row: source columns and rows, and outside of the input, -1.
struct NearestBlock {
  alignas(64) int32_t x[kMapBlock], y[kMapBlock];
};
struct LinearBlock {
  alignas(64) float x[kMapBlock], y[kMapBlock];
};

// Positions as torch's grid_sample gets them, in float, from a grid that was made in float.
struct TorchGrid {
  float xx, xy, x1, yx, yy, y1;  // to -1 .. 1 over the input
  float w0 = 0, w1 = 0;          // of perspective maps
  float half_width, half_height;

  // From the result's center in pixels; of perspective maps, from its corner.
  TorchGrid(const PixelMap& map, const ImageExtents& image, int64_t height, int64_t width,
            bool perspective) {
    half_width = 0.5f * static_cast<float>(image.width);
    half_height = 0.5f * static_cast<float>(image.height);
    if (perspective) {
      xx = static_cast<float>(map[0]) / half_width;
      xy = static_cast<float>(map[1]) / half_width;
      x1 = static_cast<float>(map[2]) / half_width;
      yx = static_cast<float>(map[3]) / half_height;
      yy = static_cast<float>(map[4]) / half_height;
      y1 = static_cast<float>(map[5]) / half_height;
      w0 = static_cast<float>(map[6]);
      w1 = static_cast<float>(map[7]);
      return;
    }
    const double cx = 0.5 * static_cast<double>(width), cy = 0.5 * static_cast<double>(height);
    const double tx = map[0] * cx + map[1] * cy + map[2] - 0.5 * static_cast<double>(image.width);
    const double ty = map[3] * cx + map[4] * cy + map[5] - 0.5 * static_cast<double>(image.height);
    // What is left of a shift that cancels out.
    const auto shift = [](double t) { return std::abs(t) < 1e-9 ? 0.0f : static_cast<float>(t); };
    xx = static_cast<float>(map[0]) / half_width;
    xy = static_cast<float>(map[1]) / half_width;
    x1 = shift(tx) / half_width;
    yx = static_cast<float>(map[3]) / half_height;
    yy = static_cast<float>(map[4]) / half_height;
    y1 = shift(ty) / half_height;
  }

  // Positions where 0 is the center of the first pixel. `first`: the position of the first column;
  // `line`: that of the row.
  void affine(float* x, float* y, int64_t n, float first, float line) const {
    const double line_x = static_cast<double>(line) * xy, line_y = static_cast<double>(line) * yy;
    for (int64_t i = 0; i < n; ++i) {
      const float column = first + static_cast<float>(static_cast<int>(i));
      const float gx = static_cast<float>(static_cast<double>(column * xx) + line_x) + x1;
      const float gy = static_cast<float>(static_cast<double>(column * yx) + line_y) + y1;
      x[i] = (gx + 1.0f) * half_width - 0.5f;
      y[i] = (gy + 1.0f) * half_height - 0.5f;
    }
  }
  void perspective(float* x, float* y, int64_t n, float first, float line) const {
    const double line_x = static_cast<double>(line) * xy, line_y = static_cast<double>(line) * yy,
                 line_w = static_cast<double>(line) * w1;
    for (int64_t i = 0; i < n; ++i) {
      const float column = first + static_cast<float>(static_cast<int>(i));
      const float u = static_cast<float>(static_cast<double>(column * xx) + line_x) + x1;
      const float v = static_cast<float>(static_cast<double>(column * yx) + line_y) + y1;
      const float w = static_cast<float>(static_cast<double>(column * w0) + line_w) + 1.0f;
      const float gx = u / w - 1.0f, gy = v / w - 1.0f;
      x[i] = (gx + 1.0f) * half_width - 0.5f;
      y[i] = (gy + 1.0f) * half_height - 0.5f;
    }
  }
};

// Rounds to the nearest, halves to even; outside of -1 .. n, and for NaN, -1.
inline int32_t nearest_index(float at, float n) {
  constexpr float kNoFraction = 0x1.8p23f;
  const float above = at > -1.0f ? at : -1.0f;
  const float inside = above < n ? above : n;
  const auto index = static_cast<int32_t>((inside + kNoFraction) - kNoFraction);
  return index < static_cast<int32_t>(n) ? index : -1;
}

template <class T, int kChannels>
void copy_nearest(T* out, int64_t out_plane, const T* in, const ImageExtents& image,
                  const NearestBlock& block, int64_t n, const T* fill) {
  // The numbers of the pixels, as a loop that is vectorized.
  alignas(64) int32_t at[kMapBlock];
  const auto width = static_cast<int32_t>(image.width);
  for (int64_t i = 0; i < n; ++i)
    at[i] = (block.x[i] | block.y[i]) < 0 ? -1 : block.y[i] * width + block.x[i];
  if (image.planar || kChannels == 1) {
    for (int c = 0; c < kChannels; ++c, out += out_plane, in += image.pixels())
      for (int64_t i = 0; i < n; ++i) out[i] = at[i] < 0 ? fill[c] : in[at[i]];
    return;
  }
  int64_t i = 0;
  if constexpr (sizeof(T) == 1 && kChannels == 3) {
    // Words of four bytes, the last of which is overwritten by the next pixel. The last pixel of
    // the input cannot be read as a word.
    uint32_t fill_word = 0;
    std::memcpy(&fill_word, fill, 3);
    const auto last = static_cast<int32_t>(image.pixels() - 1);
    for (; i + 1 < n; ++i) {
      uint32_t word = fill_word;
      if (at[i] >= 0) {
        const T* from = in + static_cast<int64_t>(at[i]) * 3;
        if (at[i] < last) std::memcpy(&word, from, 4);
        else std::memcpy(&word, from, 3);
      }
      std::memcpy(out + 3 * i, &word, 4);
    }
  }
  for (; i < n; ++i) {
    const T* from = at[i] < 0 ? fill : in + static_cast<int64_t>(at[i]) * kChannels;
    for (int c = 0; c < kChannels; ++c) out[i * kChannels + c] = from[c];
  }
}

template <class T>
inline T round_sample(float x) {
  if constexpr (sizeof(T) != 1) return x;
  else {
    constexpr float kNoFraction = 0x1.8p23f;
    return static_cast<T>(static_cast<int>((x + kNoFraction) - kNoFraction));
  }
}

// As grid_sample: what is outside is 0.
template <class T, int kChannels>
void sample_torch(T* out, int64_t out_plane, const T* in, const ImageExtents& image,
                  const LinearBlock& block, int64_t n, std::span<const float> fill) {
  const int64_t step = image.planar ? 1 : kChannels, plane = image.planar ? image.pixels() : 1;
  const int64_t out_step = step, row = image.width * step;
  if (!image.planar) out_plane = 1;
  const auto width = static_cast<float>(image.width), height = static_cast<float>(image.height);
  for (int64_t i = 0; i < n; ++i) {
    T* to = out + i * out_step;
    const float px = block.x[i], py = block.y[i];
    float sum[kChannels] = {}, mask = 0;
    if (px > -1.0f && px < width && py > -1.0f && py < height) {
      const float left = std::floor(px), top = std::floor(py);
      const float e = px - left, s = py - top, w = 1.0f - e, north = 1.0f - s;
      const auto x = static_cast<int64_t>(left), y = static_cast<int64_t>(top);
      const T* from = in + y * row + x * step;
      const float weights[4] = {north * w, north * e, s * w, s * e};
      if (x >= 0 && y >= 0 && x + 1 < image.width && y + 1 < image.height) {
        for (int c = 0; c < kChannels; ++c) {
          const T* p = from + c * plane;
          sum[c] = static_cast<float>(p[0]) * weights[0] +
                   static_cast<float>(p[step]) * weights[1] +
                   static_cast<float>(p[row]) * weights[2] +
                   static_cast<float>(p[row + step]) * weights[3];
        }
        mask = 1;
      } else {
        for (int k = 0; k < 4; ++k) {
          const int64_t at_x = x + (k & 1), at_y = y + (k >> 1);
          if (at_x < 0 || at_y < 0 || at_x >= image.width || at_y >= image.height) continue;
          for (int c = 0; c < kChannels; ++c)
            sum[c] += static_cast<float>(in[at_y * row + at_x * step + c * plane]) * weights[k];
          mask += weights[k];
        }
      }
    }
    for (int c = 0; c < kChannels; ++c) {
      if (!fill.empty() && mask != 1) {
        const float value = fill[fill.size() == 1 ? 0 : static_cast<size_t>(c)];
        sum[c] = (sum[c] - value) * mask + value;
      }
      to[c * out_plane] = round_sample<T>(sum[c]);
    }
  }
}

// As Pillow: outside, nothing is blended, and border pixels are repeated.
template <int kChannels>
void sample_pillow(uint8_t* out, int64_t out_plane, const uint8_t* in, const ImageExtents& image,
                   const double* at_x, const double* at_y, int64_t n, const uint8_t* fill) {
  const int64_t step = image.planar ? 1 : kChannels, plane = image.planar ? image.pixels() : 1;
  const int64_t row = image.width * step, out_step = step;
  if (!image.planar) out_plane = 1;
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  for (int64_t i = 0; i < n; ++i) {
    uint8_t* to = out + i * out_step;
    if (!(at_x[i] >= 0 && at_x[i] < width && at_y[i] >= 0 && at_y[i] < height)) {
      for (int c = 0; c < kChannels; ++c) to[c * out_plane] = fill[c];
      continue;
    }
    const double px = at_x[i] - 0.5, py = at_y[i] - 0.5;
    const double left = std::floor(px), top = std::floor(py), dx = px - left, dy = py - top;
    const auto x = static_cast<int64_t>(left), y = static_cast<int64_t>(top);
    const int64_t x0 = std::max<int64_t>(x, 0) * step, x1 = std::min(x + 1, image.width - 1) * step;
    const uint8_t* first = in + std::max<int64_t>(y, 0) * row;
    const uint8_t* second = in + std::min(y + 1, image.height - 1) * row;
    for (int c = 0; c < kChannels; ++c, first += plane, second += plane) {
      const auto mix = [dx](double a, double b) { return a + (b - a) * dx; };
      const double upper = mix(first[x0], first[x1]), lower = mix(second[x0], second[x1]);
      to[c * out_plane] = static_cast<uint8_t>(upper + (lower - upper) * dy);
    }
  }
}

// A block of Pillow's positions, from the corner of the first pixel.
void pillow_points(double* x, double* y, int64_t n, int64_t first, int64_t line,
                   const PixelMap& map, bool perspective) {
  const double row = static_cast<double>(line) + 0.5;
  for (int64_t i = 0; i < n; ++i) {
    const double column = static_cast<double>(static_cast<int>(first + i)) + 0.5;
    x[i] = map[0] * column + map[1] * row + map[2];
    y[i] = map[3] * column + map[4] * row + map[5];
    if (!perspective) continue;
    const double w = map[6] * column + map[7] * row + 1;
    x[i] /= w;
    y[i] /= w;
  }
}
inline int32_t pillow_index(double at, double n) {
  return at >= 0 && at < n ? static_cast<int32_t>(at) : -1;
}

// The nearest pixels by Pillow's 16.16 fixed point.
struct FixedMap {
  int32_t m[6];
  explicit FixedMap(const PixelMap& map) {
    const auto fixed = [](double x) {
      x = std::floor(x * 65536.0 + 0.5);
      return static_cast<int32_t>(x > -0x1p31 ? std::min(x, 0x1p31 - 1) : -0x1p31);  // also of NaN
    };
    for (const int k : {0, 1, 3, 4}) m[k] = fixed(map[static_cast<size_t>(k)]);
    m[2] = fixed(map[2] + map[0] * 0.5 + map[1] * 0.5);
    m[5] = fixed(map[5] + map[3] * 0.5 + map[4] * 0.5);
  }
  void operator()(NearestBlock& block, int64_t n, int64_t first, int64_t line, int32_t width,
                  int32_t height) const {
    // Wraps around, as the sums of Pillow do.
    const auto at = [&](int k) {
      return static_cast<uint32_t>(m[k + 2]) +
             static_cast<uint32_t>(line) * static_cast<uint32_t>(m[k + 1]) +
             static_cast<uint32_t>(first) * static_cast<uint32_t>(m[k]);
    };
    const uint32_t x0 = at(0), y0 = at(3);
    const auto dx = static_cast<uint32_t>(m[0]), dy = static_cast<uint32_t>(m[3]);
    for (int64_t i = 0; i < n; ++i) {
      const auto k = static_cast<uint32_t>(i);
      const int32_t x = static_cast<int32_t>(x0 + k * dx) >> 16;
      const int32_t y = static_cast<int32_t>(y0 + k * dy) >> 16;
      block.x[i] = x < width ? x : -1;
      block.y[i] = y < height ? y : -1;
    }
  }
};

// Whether Pillow uses fixed point: the corners of the result lie within it.
bool fits_fixed(const PixelMap& map, int64_t height, int64_t width) {
  const auto fits = [&](double x, double y) {
    const double at_x = x * map[0] + y * map[1] + map[2], at_y = x * map[3] + y * map[4] + map[5];
    return std::abs(at_x) < 32768.0 && std::abs(at_y) < 32768.0;
  };
  const auto w = static_cast<double>(width - 1), h = static_cast<double>(height - 1);
  return fits(0, 0) && fits(w, h) && fits(0, h) && fits(w, 0);
}

// Whether the map moves pixels by whole numbers and nothing else; those.
bool is_shift(const PixelMap& map, int64_t& x, int64_t& y) {
  const PixelMap same = {1, 0, map[2], 0, 1, map[5], 0, 0};
  if (map != same || std::round(map[2]) != map[2] || std::round(map[5]) != map[5]) return false;
  if (!(std::abs(map[2]) < 0x1p31 && std::abs(map[5]) < 0x1p31)) return false;
  x = static_cast<int64_t>(map[2]);
  y = static_cast<int64_t>(map[5]);
  return true;
}
template <class T>
void shift_plane(T* out, int64_t height, int64_t width, const T* in, const ImageExtents& image,
                 int64_t dx, int64_t dy, int64_t channels, const T* fill) {
  const int64_t left = std::clamp<int64_t>(-dx, 0, width);
  const int64_t right = std::clamp<int64_t>(image.width - dx, left, width);
  for (int64_t y = 0; y < height; ++y, out += width * channels) {
    const bool outside = y + dy < 0 || y + dy >= image.height;
    const int64_t first = outside ? width : left, last = outside ? width : right;
    if (first < last)
      std::memcpy(out + first * channels, in + ((y + dy) * image.width + first + dx) * channels,
                  static_cast<size_t>((last - first) * channels) * sizeof(T));
    const auto fill_pixels = [&](int64_t from, int64_t to) {
      for (int64_t x = from; x < to; ++x)
        for (int64_t c = 0; c < channels; ++c) out[x * channels + c] = fill[c];
    };
    fill_pixels(0, first);
    fill_pixels(last, width);
  }
}

template <class T, int kChannels>
void map_rows(T* out, int64_t height, int64_t width, const T* in, const ImageExtents& image,
              const PixelMap& map, const MapOptions& options) {
  T fill[3] = {};
  for (size_t c = 0; c < 3 && !options.fill.empty(); ++c)
    fill[c] = static_cast<T>(
        options.fill[options.fill.size() == 1 ? 0 : std::min(c, options.fill.size() - 1)]);
  const int64_t out_step = image.planar ? 1 : kChannels, out_plane = height * width;
  if (int64_t dx = 0, dy = 0; (sizeof(T) == 1 || !options.linear) && is_shift(map, dx, dy)) {
    const int64_t planes = image.planar ? kChannels : 1;
    for (int64_t c = 0; c < planes; ++c)
      shift_plane(out + c * out_plane, height, width, in + c * image.pixels(), image, dx, dy,
                  kChannels / planes, fill + c);
    return;
  }
  const auto w = static_cast<int32_t>(image.width), h = static_cast<int32_t>(image.height);
  const bool pillow = options.arithmetic == ImageArithmetic::kPillow;
  const TorchGrid grid(map, image, height, width, options.perspective);
  const FixedMap fixed(pillow ? map : PixelMap{});
  const bool scales = !options.perspective && map[1] == 0 && map[3] == 0;
  const bool is_fixed = !options.perspective && !scales && fits_fixed(map, height, width);
  const float first_x = options.perspective ? 0.5f : (1.0f - static_cast<float>(width)) * 0.5f;
  const float first_y = options.perspective ? 0.5f : (1.0f - static_cast<float>(height)) * 0.5f;
  NearestBlock nearest;
  LinearBlock linear;
  alignas(64) double x[kMapBlock], y[kMapBlock];
  for (int64_t row = 0; row < height; ++row) {
    double scaled = map[2] + map[0] * 0.5;  // added up, as Pillow does
    for (int64_t at = 0; at < width; at += kMapBlock) {
      const int64_t n = std::min(kMapBlock, width - at);
      T* to = out + (row * width + at) * out_step;
      if (!pillow) {
        const float first = first_x + static_cast<float>(at),
                    line = first_y + static_cast<float>(row);
        if (options.perspective) grid.perspective(linear.x, linear.y, n, first, line);
        else grid.affine(linear.x, linear.y, n, first, line);
        if (options.linear) {
          sample_torch<T, kChannels>(to, out_plane, in, image, linear, n, options.fill);
          continue;
        }
        for (int64_t i = 0; i < n; ++i) {
          nearest.x[i] = nearest_index(linear.x[i], static_cast<float>(w));
          nearest.y[i] = nearest_index(linear.y[i], static_cast<float>(h));
        }
      } else if constexpr (sizeof(T) == 1) {
        if (options.linear || (!is_fixed && !scales))
          pillow_points(x, y, n, at, row, map, options.perspective);
        if (options.linear) {
          sample_pillow<kChannels>(to, out_plane, in, image, x, y, n, fill);
          continue;
        }
        if (is_fixed) {
          fixed(nearest, n, at, row, w, h);
        } else {
          const double line = map[5] + map[4] * (static_cast<double>(row) + 0.5);
          for (int64_t i = 0; i < n; ++i) {
            nearest.x[i] = pillow_index(scales ? scaled : x[i], w);
            nearest.y[i] = pillow_index(scales ? line : y[i], h);
            scaled += map[0];
          }
        }
      }
      copy_nearest<T, kChannels>(to, out_plane, in, image, nearest, n, fill);
    }
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void map_pixels(uint8_t* out, int64_t height, int64_t width, const uint8_t* in,
                const ImageExtents& image, const PixelMap& map, const MapOptions& options) {
  if (image.channels == 1)
    TORCHDALI_ISA_PICK(map_rows<uint8_t, 1>)(out, height, width, in, image, map, options);
  else TORCHDALI_ISA_PICK(map_rows<uint8_t, 3>)(out, height, width, in, image, map, options);
}
void map_pixels(float* out, int64_t height, int64_t width, const float* in,
                const ImageExtents& image, const PixelMap& map, const MapOptions& options) {
  if (image.channels == 1)
    TORCHDALI_ISA_PICK(map_rows<float, 1>)(out, height, width, in, image, map, options);
  else TORCHDALI_ISA_PICK(map_rows<float, 3>)(out, height, width, in, image, map, options);
}
#endif

}  // namespace torchdali::kernels
