// SPDX-License-Identifier: Apache-2.0
// color_adjust.h, once per instruction set.
#include "kernels/augment/color_adjust.h"

#include <algorithm>
#include <cstring>

#define TORCHDALI_ISA_FILE "kernels/augment/color_adjust_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

constexpr int64_t kAdjustBlock = 512;  // pixels

// a * b + c, rounded once, as torch's vectorized loops compute it.
inline float fused(float a, float b, float c) {
#if TORCHDALI_ISA_LEVEL > 0
  return std::fma(a, b, c);
#else
  return static_cast<float>(static_cast<double>(a) * b + c);
#endif
}

inline float top_value(uint8_t) { return 255.0f; }
inline float top_value(float) { return 1.0f; }
template <class T>
inline T store_clamped(float x) {
  return static_cast<T>(std::min(std::max(0.0f, x), top_value(T{})));
}

// The level of gray as a float that is whole for bytes.
template <bool kPillow, class T>
inline float gray_level(T r, T g, T b) {
  if constexpr (kPillow) {
    return static_cast<float>((19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16);
  } else {
    const float y = fused(b, 0.114f, fused(g, 0.587f, static_cast<float>(r) * 0.2989f));
    if constexpr (sizeof(T) == 1) return static_cast<float>(static_cast<int>(y));
    else return y;
  }
}

template <class T>
void split_channels(T* __restrict r, T* __restrict g, T* __restrict b, const T* __restrict in,
                    int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    r[i] = in[3 * i];
    g[i] = in[3 * i + 1];
    b[i] = in[3 * i + 2];
  }
}
template <class T>
void merge_channels(T* __restrict out, const T* __restrict r, const T* __restrict g,
                    const T* __restrict b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[3 * i] = r[i];
    out[3 * i + 1] = g[i];
    out[3 * i + 2] = b[i];
  }
}

// Calls fn(r, g, b, r2, g2, b2, n) for blocks of planes: to r2, g2, b2, if there is an output.
template <class T, class Fn>
inline void each_adjusted_block(T* out, const T* in, const ImageExtents& image, Fn&& fn) {
  const int64_t pixels = image.pixels();
  if (image.planar) {
    for (int64_t p = 0; p < pixels; p += kAdjustBlock) {
      const T* r = in + p;
      T* to[3] = {};
      for (int c = 0; c < 3 && out != nullptr; ++c) to[c] = out + c * pixels + p;
      fn(r, r + pixels, r + 2 * pixels, to[0], to[1], to[2], std::min(kAdjustBlock, pixels - p));
    }
    return;
  }
  alignas(64) T from[3][kAdjustBlock], to[3][kAdjustBlock] = {};
  for (int64_t p = 0; p < pixels; p += kAdjustBlock) {
    const int64_t n = std::min(kAdjustBlock, pixels - p);
    split_channels(from[0], from[1], from[2], in + 3 * p, n);
    fn(from[0], from[1], from[2], to[0], to[1], to[2], n);
    if (out != nullptr) merge_channels(out + 3 * p, to[0], to[1], to[2], n);
  }
}

template <bool kPillow>
uint64_t gray_sum_bytes(const uint8_t* in, const ImageExtents& image) {
  uint64_t sum = 0;
  each_adjusted_block<uint8_t>(nullptr, in, image,
                               [&](const uint8_t* r, const uint8_t* g, const uint8_t* b, uint8_t*,
                                   uint8_t*, uint8_t*, int64_t n) {
                                 int part = 0;  // at most 512 * 255
                                 for (int64_t i = 0; i < n; ++i)
                                   part += static_cast<int>(gray_level<kPillow>(r[i], g[i], b[i]));
                                 sum += static_cast<uint64_t>(part);
                               });
  return sum;
}

// In sixteen interleaved sums, for the same order on all instruction sets.
double gray_sum_floats(const float* in, const ImageExtents& image) {
  constexpr int64_t kLanes = 16;
  double sum = 0;
  each_adjusted_block<float>(
      nullptr, in, image,
      [&](const float* r, const float* g, const float* b, float*, float*, float*, int64_t n) {
        float lanes[kLanes] = {};
        int64_t i = 0;
        for (; i + kLanes <= n; i += kLanes)
          for (int64_t k = 0; k < kLanes; ++k)
            lanes[k] += gray_level<false>(r[i + k], g[i + k], b[i + k]);
        for (; i < n; ++i) sum += gray_level<false>(r[i], g[i], b[i]);
        for (const float lane : lanes) sum += lane;
      });
  return sum;
}

template <bool kPillow, class T>
void saturate_block(const T* __restrict r, const T* __restrict g, const T* __restrict b,
                    T* __restrict r2, T* __restrict g2, T* __restrict b2, int64_t n, float factor) {
  const float rest = 1.0f - factor;
  for (int64_t i = 0; i < n; ++i) {
    const float y = gray_level<kPillow>(r[i], g[i], b[i]);
    if constexpr (kPillow) {
      r2[i] = store_clamped<T>(y + factor * (static_cast<float>(r[i]) - y));
      g2[i] = store_clamped<T>(y + factor * (static_cast<float>(g[i]) - y));
      b2[i] = store_clamped<T>(y + factor * (static_cast<float>(b[i]) - y));
    } else {
      r2[i] = store_clamped<T>(fused(y, rest, static_cast<float>(r[i]) * factor));
      g2[i] = store_clamped<T>(fused(y, rest, static_cast<float>(g[i]) * factor));
      b2[i] = store_clamped<T>(fused(y, rest, static_cast<float>(b[i]) * factor));
    }
  }
}
template <bool kPillow, class T>
void saturate_image(T* out, const T* in, const ImageExtents& image, float factor) {
  each_adjusted_block(out, in, image,
                      [factor](const T* r, const T* g, const T* b, T* r2, T* g2, T* b2, int64_t n) {
                        saturate_block<kPillow>(r, g, b, r2, g2, b2, n, factor);
                      });
}

template <bool kPillow, class T>
void gray_block(const T* __restrict r, const T* __restrict g, const T* __restrict b,
                T* __restrict out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(gray_level<kPillow>(r[i], g[i], b[i]));
}
template <bool kPillow, class T>
void gray_image(T* out, const T* in, const ImageExtents& image) {
  each_adjusted_block(out, in, image,
                      [](const T* r, const T* g, const T* b, T* r2, T* g2, T* b2, int64_t n) {
                        gray_block<kPillow>(r, g, b, r2, n);
                        std::memcpy(g2, r2, static_cast<size_t>(n) * sizeof(T));
                        std::memcpy(b2, r2, static_cast<size_t>(n) * sizeof(T));
                      });
}

// Pixels between conversions. Loops over elements of one size are what compilers vectorize, and of
// selections only those between values.
template <class F>
struct HueBlock {
  alignas(64) F r[kAdjustBlock], g[kAdjustBlock], b[kAdjustBlock];
  alignas(64) F h[kAdjustBlock], s[kAdjustBlock], v[kAdjustBlock];
};

// The value of a channel in a sextant of the circle of hues.
template <class F>
inline F pick(F sextant, F s0, F s1, F s2, F s3, F s4, F s5) {
  F y = s0;
  y = sextant == F{1} ? s1 : y;
  y = sextant == F{2} ? s2 : y;
  y = sextant == F{3} ? s3 : y;
  y = sextant == F{4} ? s4 : y;
  return sextant == F{5} ? s5 : y;
}
template <class F>
inline F whole_part(F x) {  // of 0 <= x <= 6
  F y = x >= F{1} ? F{1} : F{0};
  for (int k = 2; k <= 6; ++k) y = x >= static_cast<F>(k) ? static_cast<F>(k) : y;
  return y;
}

void turn_floats(HueBlock<float>& block, int64_t n, float turn) {
  for (int64_t i = 0; i < n; ++i) {
    const float red = block.r[i], green = block.g[i], blue = block.b[i];
    float high = red > green ? red : green, low = red < green ? red : green;
    high = blue > high ? blue : high;
    low = blue < low ? blue : low;
    const float range = high - low;
    const float s = range / (range == 0.0f ? 1.0f : high), by = range == 0.0f ? 1.0f : range;
    const float rc = (high - red) / by, gc = (high - green) / by, bc = (high - blue) / by;
    const float if_red = bc - gc, if_green = rc + 2.0f - bc, if_blue = gc + 4.0f - rc;
    float h = high == green ? if_green : if_blue;
    h = high == red ? if_red : h;
    h = h * static_cast<float>(1.0 / 6) + 1.0f;
    h = h - (h >= 1.0f ? 1.0f : 0.0f);
    h = h + turn;
    h = h + (h < 0.0f ? 1.0f : 0.0f);
    h = h - (h >= 1.0f ? 1.0f : 0.0f);
    block.h[i] = h * 6.0f;
    block.s[i] = s;
    block.v[i] = high;
  }
  for (int64_t i = 0; i < n; ++i) {
    const float h6 = block.h[i], s = block.s[i], v = block.v[i];
    float sextant = whole_part(h6);
    const float sf = s * (h6 - sextant), less = 1.0f - s;
    sextant = sextant >= 6.0f ? 0.0f : sextant;
    const auto unit = [](float x) {
      x = x < 0.0f ? 0.0f : x;
      return x > 1.0f ? 1.0f : x;
    };
    const float q = unit((1.0f - sf) * v), t = unit((sf + less) * v), p = unit(less * v);
    block.r[i] = pick(sextant, v, q, p, p, t, v);
    block.g[i] = pick(sextant, t, v, v, q, p, p);
    block.b[i] = pick(sextant, p, p, t, v, v, q);
  }
}

template <class T>
void turn_block(const T* __restrict r, const T* __restrict g, const T* __restrict b,
                T* __restrict r2, T* __restrict g2, T* __restrict b2, int64_t n, float turn) {
  constexpr bool kBytes = sizeof(T) == 1;
  // torchvision's factors of conversion between bytes and floats.
  constexpr float kFrom = kBytes ? static_cast<float>(1.0 / 255) : 1.0f;
  constexpr float kTo = kBytes ? static_cast<float>(256 - 1e-3) : 1.0f;
  HueBlock<float> block;
  const auto load = [n](float* to, const T* from) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * kFrom;
  };
  const auto store = [n](T* to, const float* from) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i] * kTo);
  };
  load(block.r, r);
  load(block.g, g);
  load(block.b, b);
  turn_floats(block, n, turn);
  store(r2, block.r);
  store(g2, block.g);
  store(b2, block.b);
}

// 0 to 255, without the fraction.
inline double byte_part(double x) {
  constexpr double kNoFraction = 0x1p52;
  const double rounded = (x + kNoFraction) - kNoFraction;
  return rounded - (rounded > x ? 1.0 : 0.0);
}

// Hue and saturation are bytes between the two conversions, and `turn` is in 256ths.
void turn_block_pillow(const uint8_t* __restrict r, const uint8_t* __restrict g,
                       const uint8_t* __restrict b, uint8_t* __restrict r2, uint8_t* __restrict g2,
                       uint8_t* __restrict b2, int64_t n, int turn) {
  HueBlock<double> block;
  HueBlock<float> part;
  const auto shift = static_cast<double>(turn);
  for (int64_t i = 0; i < n; ++i) {
    const float red = r[i], green = g[i], blue = b[i];
    float high = red > green ? red : green, low = red < green ? red : green;
    high = blue > high ? blue : high;
    low = blue < low ? blue : low;
    const float range = high - low, by = range == 0.0f ? 1.0f : range;
    part.r[i] = (high - red) / by;
    part.g[i] = (high - green) / by;
    part.b[i] = (high - blue) / by;
    part.s[i] = range / (high == 0.0f ? 1.0f : high);
    part.v[i] = high;
  }
  for (int64_t i = 0; i < n; ++i) {
    const double rc = part.r[i], gc = part.g[i], bc = part.b[i];
    // The channels that are the largest are 0.
    const double if_red = static_cast<float>(bc - gc), if_green = static_cast<float>(2.0 + rc - bc),
                 if_blue = static_cast<float>(4.0 + gc - rc);
    const double is_red = rc == 0.0 ? 1.0 : 0.0;
    const double is_green = gc == 0.0 ? 1.0 - is_red : 0.0,
                 is_gray = rc + gc + bc == 0.0 ? 1.0 : 0.0;
    double h = is_red * if_red + is_green * if_green + (1.0 - is_red - is_green) * if_blue;
    h = h / 6.0 + 1.0;
    h = h - (h >= 1.0 ? 1.0 : 0.0);
    h = byte_part(static_cast<double>(static_cast<float>(h)) * 255.0);
    h = h * (1.0 - is_gray) + shift;
    block.h[i] = h - (h >= 256.0 ? 256.0 : 0.0);
    block.s[i] = byte_part(static_cast<double>(part.s[i]) * 255.0);
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto h6 = static_cast<float>(block.h[i] * 6.0 / 255.0);
    const auto fs = static_cast<float>(block.s[i] / 255.0);
    float sextant = whole_part(h6);
    const float f = h6 - sextant;
    sextant = sextant >= 6.0f ? 0.0f : sextant;
    const double v = part.v[i];
    const auto p = static_cast<float>(byte_part(v * (1.0 - static_cast<double>(fs)) + 0.5));
    const auto q = static_cast<float>(byte_part(v * (1.0 - static_cast<double>(fs * f)) + 0.5));
    const auto t = static_cast<float>(
        byte_part(v * (1.0 - static_cast<double>(fs) * (1.0 - static_cast<double>(f))) + 0.5));
    const float high = part.v[i];
    part.r[i] = pick(sextant, high, q, p, p, t, high);
    part.g[i] = pick(sextant, t, high, high, q, p, p);
    part.b[i] = pick(sextant, p, p, t, high, high, q);
  }
  for (int64_t i = 0; i < n; ++i) {
    r2[i] = static_cast<uint8_t>(part.r[i]);
    g2[i] = static_cast<uint8_t>(part.g[i]);
    b2[i] = static_cast<uint8_t>(part.b[i]);
  }
}

template <class T>
void turn_image(T* out, const T* in, const ImageExtents& image, float turn) {
  each_adjusted_block(out, in, image,
                      [turn](const T* r, const T* g, const T* b, T* r2, T* g2, T* b2, int64_t n) {
                        turn_block(r, g, b, r2, g2, b2, n, turn);
                      });
}
void turn_image_pillow(uint8_t* out, const uint8_t* in, const ImageExtents& image, int turn) {
  each_adjusted_block(
      out, in, image,
      [turn](const uint8_t* r, const uint8_t* g, const uint8_t* b, uint8_t* r2, uint8_t* g2,
             uint8_t* b2, int64_t n) { turn_block_pillow(r, g, b, r2, g2, b2, n, turn); });
}

// `n` elements of a row between its neighbors; `step` elements to the next pixel.
template <bool kPillow, class T>
void sharpen_row(T* __restrict out, const T* __restrict above, const T* __restrict row,
                 const T* __restrict below, int64_t n, int64_t step, float factor) {
  const float rest = 1.0f - factor;
  for (int64_t i = 0; i < n; ++i) {
    const auto three = [i, step](const T* x) { return x[i - step] + x[i] + x[i + step]; };
    const auto sum = three(above) + three(row) + three(below) + 4 * row[i];
    float smooth = static_cast<float>(sum) * static_cast<float>(1.0 / 13);
    if constexpr (sizeof(T) == 1) smooth = static_cast<float>(static_cast<int>(smooth + 0.5f));
    const auto x = static_cast<float>(row[i]);
    if constexpr (kPillow) out[i] = store_clamped<T>(smooth + factor * (x - smooth));
    else out[i] = store_clamped<T>(fused(smooth - x, rest, x));
  }
}
template <bool kPillow, class T>
void sharpen_image(T* out, const T* in, const ImageExtents& image, float factor) {
  const int64_t step = image.planar ? 1 : image.channels, row = image.width * step;
  const int64_t rows = image.volume() / std::max<int64_t>(row, 1);
  std::memcpy(out, in, static_cast<size_t>(image.volume()) * sizeof(T));
  if (image.height <= 2 || image.width <= 2) return;
  for (int64_t y = 0; y < rows; ++y) {
    const int64_t line = y % image.height;
    if (line == 0 || line == image.height - 1) continue;
    const int64_t at = y * row + step;
    sharpen_row<kPillow>(out + at, in + at - row, in + at, in + at + row, row - 2 * step, step,
                         factor);
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
double mean_gray(const uint8_t* in, const ImageExtents& image, ImageArithmetic arithmetic) {
  const uint64_t sum = arithmetic == ImageArithmetic::kPillow
                           ? TORCHDALI_ISA_PICK(gray_sum_bytes<true>)(in, image)
                           : TORCHDALI_ISA_PICK(gray_sum_bytes<false>)(in, image);
  return static_cast<double>(sum) / static_cast<double>(image.pixels());
}
double mean_gray(const float* in, const ImageExtents& image) {
  return TORCHDALI_ISA_PICK(gray_sum_floats)(in, image) / static_cast<double>(image.pixels());
}
void adjust_saturation(uint8_t* out, const uint8_t* in, const ImageExtents& image, float factor,
                       ImageArithmetic arithmetic) {
  if (arithmetic == ImageArithmetic::kPillow)
    TORCHDALI_ISA_PICK(saturate_image<true, uint8_t>)(out, in, image, factor);
  else TORCHDALI_ISA_PICK(saturate_image<false, uint8_t>)(out, in, image, factor);
}
void adjust_saturation(float* out, const float* in, const ImageExtents& image, float factor) {
  TORCHDALI_ISA_PICK(saturate_image<false, float>)(out, in, image, factor);
}
void adjust_hue(uint8_t* out, const uint8_t* in, const ImageExtents& image, float turn,
                ImageArithmetic arithmetic) {
  if (arithmetic == ImageArithmetic::kPillow) TORCHDALI_ISA_PICK(turn_image_pillow)
  (out, in, image, static_cast<int>(turn * 255.0f) & 255);
  else TORCHDALI_ISA_PICK(turn_image<uint8_t>)(out, in, image, turn); }
void adjust_hue(float* out, const float* in, const ImageExtents& image, float turn) {
  TORCHDALI_ISA_PICK(turn_image<float>)(out, in, image, turn);
}
void gray_channels(uint8_t* out, const uint8_t* in, const ImageExtents& image,
                   ImageArithmetic arithmetic) {
  if (arithmetic == ImageArithmetic::kPillow)
    TORCHDALI_ISA_PICK(gray_image<true, uint8_t>)(out, in, image);
  else TORCHDALI_ISA_PICK(gray_image<false, uint8_t>)(out, in, image);
}
void gray_channels(float* out, const float* in, const ImageExtents& image) {
  TORCHDALI_ISA_PICK(gray_image<false, float>)(out, in, image);
}
void adjust_sharpness(uint8_t* out, const uint8_t* in, const ImageExtents& image, float factor,
                      ImageArithmetic arithmetic) {
  if (arithmetic == ImageArithmetic::kPillow)
    TORCHDALI_ISA_PICK(sharpen_image<true, uint8_t>)(out, in, image, factor);
  else TORCHDALI_ISA_PICK(sharpen_image<false, uint8_t>)(out, in, image, factor);
}
void adjust_sharpness(float* out, const float* in, const ImageExtents& image, float factor) {
  TORCHDALI_ISA_PICK(sharpen_image<false, float>)(out, in, image, factor);
}
#endif

}  // namespace torchdali::kernels
