// SPDX-License-Identifier: Apache-2.0
// color_adjust.h, once per instruction set.
#include "kernels/augment/color_adjust.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/augment/color_scalar.h"

#define TORCHDALI_ISA_FILE "kernels/augment/color_adjust_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

constexpr int64_t kAdjustBlock = kSumBlock;  // pixels
constexpr bool kFma = TORCHDALI_ISA_LEVEL > 0;

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
  if (image.channels == 1) {
    for (int64_t i = 0; i < image.pixels(); ++i) sum += in[i];
    return sum;
  }
  each_adjusted_block<uint8_t>(
      nullptr, in, image,
      [&](const uint8_t* r, const uint8_t* g, const uint8_t* b, uint8_t*, uint8_t*, uint8_t*,
          int64_t n) {
        int part = 0;  // at most 512 * 255
        for (int64_t i = 0; i < n; ++i)
          part += static_cast<int>(gray_level<kPillow, kFma>(r[i], g[i], b[i]));
        sum += static_cast<uint64_t>(part);
      });
  return sum;
}

// Adds level(0) to level(n - 1), the levels of a block.
template <class Level>
inline void add_block(double (&totals)[kSumLanes], int64_t n, Level&& level) {
  float lanes[kSumLanes] = {};
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
    for (int64_t k = 0; k < kSumLanes; ++k) lanes[k] += level(i + k);
  for (; i < n; ++i) lanes[i % kSumLanes] += level(i);
  for (int64_t k = 0; k < kSumLanes; ++k) totals[k] += lanes[k];
}
double gray_sum_floats(const float* in, const ImageExtents& image) {
  double totals[kSumLanes] = {};
  if (image.channels == 1) {
    for (int64_t p = 0; p < image.pixels(); p += kSumBlock)
      add_block(totals, std::min(kSumBlock, image.pixels() - p),
                [from = in + p](int64_t i) { return from[i]; });
  } else {
    each_adjusted_block<float>(
        nullptr, in, image,
        [&](const float* r, const float* g, const float* b, float*, float*, float*, int64_t n) {
          add_block(totals, n,
                    [=](int64_t i) { return gray_level<false, kFma>(r[i], g[i], b[i]); });
        });
  }
  double sum = 0;
  for (const double total : totals) sum += total;
  return sum;
}

template <bool kPillow, class T>
void saturate_block(const T* __restrict r, const T* __restrict g, const T* __restrict b,
                    T* __restrict r2, T* __restrict g2, T* __restrict b2, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) {
    const float y = gray_level<kPillow, kFma>(r[i], g[i], b[i]);
    r2[i] = saturated<kPillow, kFma>(r[i], y, factor);
    g2[i] = saturated<kPillow, kFma>(g[i], y, factor);
    b2[i] = saturated<kPillow, kFma>(b[i], y, factor);
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
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<T>(gray_level<kPillow, kFma>(r[i], g[i], b[i]));
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

void turn_floats(HueBlock<float>& block, int64_t n, float turn) {
  for (int64_t i = 0; i < n; ++i) {
    const Hsv x = turned_hsv(block.r[i], block.g[i], block.b[i], turn);
    block.h[i] = x.h6;
    block.s[i] = x.s;
    block.v[i] = x.v;
  }
  for (int64_t i = 0; i < n; ++i)
    to_rgb(block.r[i], block.g[i], block.b[i], {block.h[i], block.s[i], block.v[i]});
}

template <class T>
void turn_block(const T* __restrict r, const T* __restrict g, const T* __restrict b,
                T* __restrict r2, T* __restrict g2, T* __restrict b2, int64_t n, float turn) {
  HueBlock<float> block;
  const auto load = [n](float* to, const T* from) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * kFromElement<T>;
  };
  const auto store = [n](T* to, const float* from) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i] * kToElement<T>);
  };
  load(block.r, r);
  load(block.g, g);
  load(block.b, b);
  turn_floats(block, n, turn);
  store(r2, block.r);
  store(g2, block.g);
  store(b2, block.b);
}

// Hue and saturation are bytes between the two conversions, and `turn` is in 256ths.
void turn_block_pillow(const uint8_t* __restrict r, const uint8_t* __restrict g,
                       const uint8_t* __restrict b, uint8_t* __restrict r2, uint8_t* __restrict g2,
                       uint8_t* __restrict b2, int64_t n, int turn) {
  HueBlock<double> block;
  HueBlock<float> part;
  const auto shift = static_cast<double>(turn);
  for (int64_t i = 0; i < n; ++i) {
    const PillowParts x = pillow_parts(r[i], g[i], b[i]);
    part.r[i] = x.r;
    part.g[i] = x.g;
    part.b[i] = x.b;
    part.s[i] = x.s;
    part.v[i] = x.v;
  }
  for (int64_t i = 0; i < n; ++i) {
    block.h[i] = pillow_hue(part.r[i], part.g[i], part.b[i], shift);
    block.s[i] = pillow_saturation(part.s[i]);
  }
  for (int64_t i = 0; i < n; ++i)
    pillow_to_rgb(part.r[i], part.g[i], part.b[i], block.h[i], block.s[i], part.v[i]);
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
  for (int64_t i = 0; i < n; ++i)
    out[i] = sharpened<kPillow, kFma>(above + i, row + i, below + i, step, factor);
}
template <bool kPillow, class T>
void sharpen_image(T* out, const T* in, const ImageExtents& image, float factor) {
  const int64_t step = image.planar ? 1 : image.channels, row = image.width * step;
  const int64_t rows = image.volume() / std::max<int64_t>(row, 1);
  std::memcpy(out, in, static_cast<size_t>(image.volume()) * sizeof(T));
  if (image.height <= 2 || image.width <= 2) return;
  // The edges are not sharpened, but torchvision clamps them, too.
  const auto clamp = [out](int64_t begin, int64_t end) {
    if constexpr (std::is_floating_point_v<T>)
      for (int64_t i = begin; i < end; ++i) out[i] = store_clamped<T>(out[i]);
  };
  for (int64_t y = 0; y < rows; ++y) {
    const int64_t line = y % image.height, begin = y * row, end = begin + row, at = begin + step;
    if (line == 0 || line == image.height - 1) {
      clamp(begin, end);
      continue;
    }
    clamp(begin, at);
    clamp(end - step, end);
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
  (out, in, image, pillow_turn(turn));
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
