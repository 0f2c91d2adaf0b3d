// SPDX-License-Identifier: Apache-2.0
// warp_rows.h, once per instruction set, with bit-identical results.
#include <cmath>
#include <cstring>

#include "kernels/warp/warp_position.h"
#include "kernels/warp/warp_rows.h"

#define TORCHDALI_ISA_FILE "kernels/warp/warp_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

void affine(float step, float base, int64_t first, int64_t n, float* x) {
  const int32_t count = static_cast<int32_t>(n);
  for (int32_t i = 0; i < count; ++i) x[i] = affine_position(step, base, first, i);
}

void perspective(const float* steps, const float* bases, int64_t first, int64_t n, float* x,
                 float* y) {
  const int32_t count = static_cast<int32_t>(n);
  const float start = static_cast<float>(first) + 0.5f;
  const float s0 = steps[0], s1 = steps[1], s2 = steps[2];
  const float b0 = bases[0], b1 = bases[1], b2 = bases[2];
  for (int32_t i = 0; i < count; ++i) {
    const float at = start + static_cast<float>(i);
    const float w = s2 * at + b2;
    x[i] = (s0 * at + b0) / w;
    y[i] = (s1 * at + b1) / w;
  }
}

void sphere(const SphereMap& map, int64_t row, int64_t first, int64_t n, float* x, float* y) {
  const SphereMap m = map;
  const float down = m.from_middle(row, m.middle_y);
  const int32_t start = static_cast<int32_t>(first), count = static_cast<int32_t>(n);
  for (int32_t i = 0; i < count; ++i) {
    const float right = m.from_middle(start + i, m.middle_x), scale = m.scale(right, down);
    x[i] = right * scale + m.middle_x;
    y[i] = down * scale + m.middle_y;
  }
}

void taps(const float* at, int64_t n, int32_t extent, bool clamp, WarpTaps& t) {
  const int32_t count = static_cast<int32_t>(n);
  const AxisTaps axis(extent, clamp);
  for (int32_t i = 0; i < count; ++i) {
    const WarpTap tap = axis(at[i]);
    t.i0[i] = tap.i0;
    t.i1[i] = tap.i1;
    t.w0[i] = tap.w0;
    t.w1[i] = tap.w1;
  }
}

void nearest(const float* at, int64_t n, int32_t extent, bool clamp, int32_t* index) {
  const int32_t count = static_cast<int32_t>(n);
  const AxisNearest axis(extent);
  if (clamp)
    for (int32_t i = 0; i < count; ++i) index[i] = axis.clamped(at[i]);
  else
    for (int32_t i = 0; i < count; ++i) index[i] = axis.inside(at[i]);
}

void copy_rgb(const uint8_t* data, int64_t bytes, int32_t row, const uint8_t* fill,
              const int32_t* x, const int32_t* y, int64_t n, uint8_t* out) {
  alignas(64) int32_t offset[kWarpBlock];  // negative outside
  const int32_t count = static_cast<int32_t>(n);
  int32_t largest = 0;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t at = y[i] * row + x[i] * 3, outside = (x[i] | y[i]) >> 31;
    offset[i] = at | outside;
    largest = at > largest ? at : largest;
  }
  int32_t i = 0;
  if (largest + int64_t{4} <= bytes) {  // four bytes per pixel; the next one overwrites the last
    uint8_t padded[4] = {fill[0], fill[1], fill[2], 0};
    for (; i < count - 1; ++i)
      std::memcpy(out + i * 3, offset[i] < 0 ? padded : data + offset[i], 4);
  }
  for (; i < count; ++i) std::memcpy(out + i * 3, offset[i] < 0 ? fill : data + offset[i], 3);
}

// FixedWeight in pairs, for multiplication.
constexpr int kWeightBits = kWarpWeightBits;
struct FixedWeights {
  alignas(64) int32_t upper[kWarpBlock + 4], lower[kWarpBlock + 4];  // two of 16 bits each
  alignas(64) int32_t fill[kWarpBlock + 4];                          // and what rounding adds
  alignas(64) int32_t offset[kWarpBlock + 4];
};

// Returns the largest offset.
int32_t fixed_weights(const FixedImage& image, const WarpTaps& x, const WarpTaps& y, int32_t n,
                      FixedWeights& w) {
  constexpr int32_t kOne = 1 << kWeightBits;
  const int32_t row = image.width * image.channels, channels = image.channels;
  int32_t largest = 0;
  for (int32_t i = 0; i < n; ++i) {
    const FixedWeight f = fixed_weight(x.w0[i], x.w1[i], y.w0[i], y.w1[i]);
    w.upper[i] = f.w00 | f.w01 << 16;
    w.lower[i] = f.w10 | f.w11 << 16;
    w.fill[i] = (f.fill & 0xffff) | kOne / 2 << 16;
    const int32_t offset = y.i0[i] * row + x.i0[i] * channels;
    w.offset[i] = offset;
    largest = offset > largest ? offset : largest;
  }
  return largest;
}

// Any number of channels. Reads only the four taps.
void blend_exact(const FixedImage& image, const FixedWeights& w, int32_t n, uint8_t* out) {
  const int32_t channels = image.channels;
  const int64_t row = int64_t{image.width} * channels;
  for (int32_t i = 0; i < n; ++i, out += channels) {
    const uint8_t* from = image.data + w.offset[i];
    const int32_t w00 = w.upper[i] & 0xffff, w01 = w.upper[i] >> 16, w10 = w.lower[i] & 0xffff,
                  w11 = w.lower[i] >> 16, filling = static_cast<int16_t>(w.fill[i] & 0xffff);
    for (int32_t c = 0; c < channels; ++c) {
      const int32_t sum = from[c] * w00 + from[c + channels] * w01 + from[row + c] * w10 +
                          from[row + c + channels] * w11 + image.fill[c] * filling;
      out[c] = static_cast<uint8_t>((sum + (1 << (kWeightBits - 1))) >> kWeightBits);
    }
  }
}

#if TORCHDALI_ISA_LEVEL >= 1
constexpr int kLoad = 8;  // bytes that are read from each row

// Four pixels per step: two taps of a row are within 8 bytes for all numbers of channels, and a
// shuffle converts them to pairs of 16 bits. 640 x 480 x 3 on Zen 5: 0.3 ms, the loop above 1.4 ms.
template <int kChannels>
void blend(const FixedImage& image, const FixedWeights& w, int32_t n, uint8_t* out) {
  constexpr auto at = [](int i, int row) {  // byte i of the pairs of a row
    const int channel = i / 4, part = i % 4;
    if (channel >= kChannels || part % 2 == 1) return static_cast<char>(-1);
    return static_cast<char>(row * kLoad + channel + (part / 2) * kChannels);
  };
  constexpr auto dense = [](int i) {  // byte i of four pixels without unused slots
    return static_cast<char>(i < 4 * kChannels ? i / kChannels * 4 + i % kChannels : -1);
  };
#define TORCHDALI_16(f)                                                                          \
  f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), \
      f(15)
#define TORCHDALI_UPPER(i) at(i, 0)
#define TORCHDALI_LOWER(i) at(i, 1)
  const __m256i upper_pairs =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(TORCHDALI_16(TORCHDALI_UPPER)));
  const __m256i lower_pairs =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(TORCHDALI_16(TORCHDALI_LOWER)));
  const __m128i pack = _mm_setr_epi8(TORCHDALI_16(dense));
#undef TORCHDALI_LOWER
#undef TORCHDALI_UPPER
#undef TORCHDALI_16
  // Fill value and 1, times its weight and the rounding term.
  const __m256i filling = _mm256_broadcastsi128_si256(
      _mm_setr_epi16(image.fill[0], 1, image.fill[1], 1, image.fill[2], 1, image.fill[3], 1));
  const __m256i each_pixel = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  const int64_t row = int64_t{image.width} * kChannels;
  const auto load = [&](int32_t offset) {
    const uint8_t* from = image.data + offset;
    const __m128i upper = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const __m128i lower = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + row));
    return _mm_unpacklo_epi64(upper, lower);
  };
  const auto weights = [&](const int32_t* from) {
    return _mm256_permutevar8x32_epi32(
        _mm256_castsi128_si256(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))),
        each_pixel);
  };
  const auto two_pixels = [&](int32_t i) {
    const __m256i rows = _mm256_inserti128_si256(_mm256_castsi128_si256(load(w.offset[i])),
                                                 load(w.offset[i + 1]), 1);
    const __m256i upper =
        _mm256_madd_epi16(_mm256_shuffle_epi8(rows, upper_pairs), weights(w.upper + i));
    const __m256i lower =
        _mm256_madd_epi16(_mm256_shuffle_epi8(rows, lower_pairs), weights(w.lower + i));
    const __m256i rest = _mm256_madd_epi16(filling, weights(w.fill + i));
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_add_epi32(upper, lower), rest), kWeightBits);
  };
  for (int32_t i = 0; i < n; i += 4, out += 4 * kChannels) {
    const __m256i values = _mm256_packs_epi32(two_pixels(i), two_pixels(i + 2));
    const __m256i bytes = _mm256_packus_epi16(values, values);
    const __m128i pixels = _mm_shuffle_epi8(
        _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)),
        pack);
    // 16 bytes if the next pixels overwrite the excess.
    if ((n - i) * kChannels >= 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), pixels);
    } else {
      alignas(16) uint8_t last[16];
      _mm_store_si128(reinterpret_cast<__m128i*>(last), pixels);
      const int32_t count = n - i < 4 ? n - i : 4;
      std::memcpy(out, last, static_cast<size_t>(count) * kChannels);
    }
  }
}
#endif

void linear_fixed(const FixedImage& image, const WarpTaps& x, const WarpTaps& y, int64_t pixels,
                  uint8_t* out) {
  FixedWeights w;
  const int32_t n = static_cast<int32_t>(pixels);
  [[maybe_unused]] const int32_t largest = fixed_weights(image, x, y, n, w);
#if TORCHDALI_ISA_LEVEL >= 1
  const int64_t row = int64_t{image.width} * image.channels;
  if (largest + row + kLoad <= row * image.height) {
    for (int32_t i = n; i < n + 3; ++i) w.upper[i] = w.lower[i] = w.fill[i] = w.offset[i] = 0;
    switch (image.channels) {
      case 1: return blend<1>(image, w, n, out);
      case 2: return blend<2>(image, w, n, out);
      case 3: return blend<3>(image, w, n, out);
      default: return blend<4>(image, w, n, out);
    }
  }
#endif
  blend_exact(image, w, n, out);
}

}  // namespace

extern const WarpRowKernels kWarpRows;
const WarpRowKernels kWarpRows = {.affine = affine,
                                  .perspective = perspective,
                                  .sphere = sphere,
                                  .taps = taps,
                                  .nearest = nearest,
                                  .copy_rgb = copy_rgb,
                                  .linear_fixed = linear_fixed};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
const WarpRowKernels& warp_row_kernels() { return *TORCHDALI_ISA_PICK(kWarpRows); }
#endif

}  // namespace torchdali::kernels
