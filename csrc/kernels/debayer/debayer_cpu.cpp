// SPDX-License-Identifier: Apache-2.0
// Colors from a Bayer pattern: computes what both kinds of sites of a row would be, for all pixels,
// and selects by a mask.
#include "kernels/debayer/debayer.h"

#include <algorithm>
#include <cstring>

#include "kernels/independent_iterations.h"

#define TORCHDALI_ISA_FILE "kernels/debayer/debayer_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

constexpr int64_t padded(int64_t elements) { return (elements + 63) / 64 * 64; }

template <class T>
constexpr T select(T mask, T yes, T no) {
  return static_cast<T>((mask & yes) | (~mask & no));
}

// debayer_mean() and debayer_distance() in the element's own type, so that a vector holds more.
template <class T>
constexpr T mean(T a, T b) {
  // GCC makes one instruction of the first form, for bytes only.
  if constexpr (sizeof(T) == 1) return static_cast<T>((a + b + 1) >> 1);
  else return static_cast<T>((a | b) - ((a ^ b) >> 1));
}
// The mean of two means, less what their rounding added.
template <class T>
constexpr T mean(T a, T b, T c, T d) {
  const T first = mean(a, b), second = mean(c, d);
  return static_cast<T>(mean(first, second) - (((a ^ b) | (c ^ d)) & (first ^ second) & 1));
}
template <class T>
constexpr T distance(T a, T b) {
  const T low = a < b ? a : b, high = a < b ? b : a;
  return static_cast<T>(high - low);
}

// Calls `body` with the first element of each block of kBlock. The last block overlaps the one
// before it, so that no elements are left over, which a loop would process one by one.
template <int64_t kBlock, class Body>
void in_blocks(int64_t begin, int64_t end, const Body& body) {
  for (int64_t i = begin; i < end; i += kBlock) body(std::min(i, end - kBlock));
}
// Elements of a block.
template <class T>
inline constexpr int64_t kBlock = 64 / sizeof(T);

template <class T, bool kEdgeAware>
inline void color_pixels(const T* above, const T* row, const T* below, const T* mask, int64_t n,
                         T* __restrict own, T* __restrict green, T* __restrict other) {
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    const T left = row[i - 1], right = row[i + 1], up = above[i], down = below[i];
    const T diagonal = mean(above[i - 1], above[i + 1], below[i - 1], below[i + 1]);
    const T beside = mean(left, right), over = mean(up, down);
    T middle = mean(left, right, up, down);
    if (kEdgeAware) middle = distance(left, right) > distance(up, down) ? over : beside;
    own[i] = select<T>(mask[i], row[i], beside);
    other[i] = select<T>(mask[i], diagonal, over);
    green[i] = select<T>(mask[i], middle, row[i]);
  }
}
template <class T, bool kEdgeAware>
void color_row(const T* above, const T* row, const T* below, const T* mask, int64_t n, T* own,
               T* green, T* other) {
  const auto pixels = [&](int64_t i, int64_t count) {
    color_pixels<T, kEdgeAware>(above + i, row + i, below + i, mask + i, count, own + i, green + i,
                                other + i);
  };
  if (n - 1 < kBlock<T>) return pixels(1, n - 1);
  in_blocks<kBlock<T>>(1, n, [&](int64_t i) { pixels(i, kBlock<T>); });
}

#if TORCHDALI_ISA_LEVEL > 0
// Three lists as one of pixels. In a lane of 16 bytes, a shuffle moves each element of a list to
// its place in one of three blocks of 16 bytes, and a block is blended from the three lists.
template <class T>
class Interleaver {
 public:
  Interleaver() {
    constexpr int kSize = sizeof(T), kLane = 16 / kSize;
    uint8_t order[3][32], from[2][3][32];
    for (int b = 0; b < 32; ++b) {
      const int element = b % 16 / kSize;
      for (int k = 0; k < 3; ++k) {
        // Multiplication by 11 undoes that by 3, modulo 16 and modulo 8.
        const int at = 11 * (element - k + kLane) % kLane;
        order[k][b] = static_cast<uint8_t>(at * kSize + b % kSize);
        const int list = (k * kLane + element) % 3;
        from[0][k][b] = list == 1 ? 0xFF : 0;
        from[1][k][b] = list == 2 ? 0xFF : 0;
      }
    }
    for (int k = 0; k < 3; ++k) {
      order_[k] = load(order[k]);
      for (int other = 0; other < 2; ++other) from_[other][k] = load(from[other][k]);
    }
  }
  void operator()(const T* red, const T* green, const T* blue, int64_t n, T* to) const {
    constexpr int64_t kStep = 32 / sizeof(T);
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
      const __m256i r = _mm256_shuffle_epi8(load(red + i), order_[0]);
      const __m256i g = _mm256_shuffle_epi8(load(green + i), order_[1]);
      const __m256i b = _mm256_shuffle_epi8(load(blue + i), order_[2]);
      __m256i block[3];
      for (int k = 0; k < 3; ++k)
        block[k] = _mm256_blendv_epi8(_mm256_blendv_epi8(r, g, from_[0][k]), b, from_[1][k]);
      store(to + 3 * i, _mm256_permute2x128_si256(block[0], block[1], 0x20));
      store(to + 3 * i + kStep, _mm256_permute2x128_si256(block[2], block[0], 0x30));
      store(to + 3 * i + 2 * kStep, _mm256_permute2x128_si256(block[1], block[2], 0x31));
    }
    for (; i < n; ++i) {
      to[3 * i] = red[i];
      to[3 * i + 1] = green[i];
      to[3 * i + 2] = blue[i];
    }
  }

 private:
  static __m256i load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static void store(void* to, __m256i x) { _mm256_storeu_si256(static_cast<__m256i*>(to), x); }
  __m256i order_[3], from_[2][3];
};
#else
template <class T>
struct Interleaver {
  void operator()(const T* red, const T* green, const T* blue, int64_t n, T* to) const {
    TORCHDALI_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) {
      to[3 * i] = red[i];
      to[3 * i + 1] = green[i];
      to[3 * i + 2] = blue[i];
    }
  }
};
#endif

template <class T>
inline void gray_pixels(const T* above, const T* row, const T* below, const T* mask, int64_t n,
                        uint32_t own, uint32_t other, T* __restrict to) {
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t beside = uint32_t{row[i - 1]} + row[i + 1], over = uint32_t{above[i]} + below[i];
    const uint32_t diagonal = uint32_t{above[i - 1]} + above[i + 1] + below[i - 1] + below[i + 1];
    to[i] = select<T>(
        mask[i], static_cast<T>(debayer_gray_at_color(row[i], beside + over, diagonal, own, other)),
        static_cast<T>(debayer_gray_at_green(row[i], beside, over, own, other)));
  }
}
template <class T>
void gray_row(const T* above, const T* row, const T* below, const T* mask, int64_t n, uint32_t own,
              uint32_t other, T* to) {
  const auto pixels = [&](int64_t i, int64_t count) {
    gray_pixels(above + i, row + i, below + i, mask + i, count, own, other, to + i);
  };
  if (n - 1 < kBlock<T>) return pixels(1, n - 1);
  in_blocks<kBlock<T>>(1, n, [&](int64_t i) { pixels(i, kBlock<T>); });
}

#if TORCHDALI_ISA_LEVEL > 0
// Sums of bytes and their products with weights, two of them at a time:
//   4 center * own   + (beside + over) * green   + diagonal * other   where the sensor has a color,
//   4 center * green + (beside + beside) * own   + (over + over) * other   where it has green.
class GrayOfBytes {
 public:
  // Whether the first pixel has a color.
  GrayOfBytes(bool color, uint32_t own, uint32_t other)
      : color_(_mm256_set1_epi32(color ? 0xFFFF : static_cast<int>(0xFFFF0000))),
        first_(color ? pairs(own, kDebayerGreen, kDebayerGreen, own)
                     : pairs(kDebayerGreen, own, own, kDebayerGreen)),
        second_(pairs(other, 1 << 14, other, 1 << 14)) {}

  void operator()(const uint8_t* above, const uint8_t* row, const uint8_t* below,
                  uint8_t* to) const {
    const __m256i center = load(row), left = load(row - 1), right = load(row + 1);
    const __m256i up = load(above), down = load(below);
    const __m256i left_up = load(above - 1), right_up = load(above + 1);
    const __m256i left_down = load(below - 1), right_down = load(below + 1);
    const __m256i zero = _mm256_setzero_si256();
    const __m256i low =
        gray(_mm256_unpacklo_epi8(center, zero), sum(_mm256_unpacklo_epi8(left, right)),
             sum(_mm256_unpacklo_epi8(up, down)),
             _mm256_add_epi16(sum(_mm256_unpacklo_epi8(left_up, right_up)),
                              sum(_mm256_unpacklo_epi8(left_down, right_down))));
    const __m256i high =
        gray(_mm256_unpackhi_epi8(center, zero), sum(_mm256_unpackhi_epi8(left, right)),
             sum(_mm256_unpackhi_epi8(up, down)),
             _mm256_add_epi16(sum(_mm256_unpackhi_epi8(left_up, right_up)),
                              sum(_mm256_unpackhi_epi8(left_down, right_down))));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_packus_epi16(low, high));
  }

 private:
  static __m256i load(const uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static __m256i pairs(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    return _mm256_set1_epi64x(
        static_cast<int64_t>(uint64_t{d} << 48 | uint64_t{c} << 32 | uint64_t{b} << 16 | a));
  }
  static __m256i sum(__m256i bytes) { return _mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1)); }
  // Of 16 bits each.
  __m256i gray(__m256i center, __m256i beside, __m256i over, __m256i diagonal) const {
    const __m256i a = _mm256_slli_epi16(center, 2);
    const __m256i b = _mm256_add_epi16(beside, _mm256_blendv_epi8(beside, over, color_));
    const __m256i c = _mm256_blendv_epi8(_mm256_add_epi16(over, over), diagonal, color_);
    const __m256i two = _mm256_set1_epi16(2);  // times 2^14, for rounding
    const __m256i low = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), first_),
                                         _mm256_madd_epi16(_mm256_unpacklo_epi16(c, two), second_));
    const __m256i high =
        _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), first_),
                         _mm256_madd_epi16(_mm256_unpackhi_epi16(c, two), second_));
    return _mm256_packus_epi32(_mm256_srli_epi32(low, 16), _mm256_srli_epi32(high, 16));
  }

  __m256i color_, first_, second_;
};

void gray_row(const uint8_t* above, const uint8_t* row, const uint8_t* below, const uint8_t* mask,
              int64_t n, uint32_t own, uint32_t other, uint8_t* to) {
  constexpr int64_t kBytes = 32;
  if (n - 1 < kBytes) return gray_row<uint8_t>(above, row, below, mask, n, own, other, to);
  const GrayOfBytes by_color[2] = {{false, own, other}, {true, own, other}};
  in_blocks<kBytes>(1, n, [&](int64_t i) {
    by_color[mask[i] != 0 ? 1 : 0](above + i, row + i, below + i, to + i);
  });
}
#endif

template <class T>
void run_debayer(const DebayerJob& job, const T* in, T* out, T* scratch) {
  const int64_t h = job.height, w = job.width, length = padded(w);
  const bool gray = job.algorithm == DebayerAlgorithm::kGray;
  const int64_t channels = gray ? 1 : 3, out_row = w * channels;
  T *masks[2] = {scratch, scratch + length}, *own = scratch + 2 * length;
  T *green = own + length, *other = green + length;
  for (int64_t x = 0; x < w; ++x) {
    masks[0][x] = x % 2 == 0 ? static_cast<T>(~T{0}) : T{0};
    masks[1][x] = static_cast<T>(~masks[0][x]);
  }
  const Interleaver<T> interleave;
  for (int64_t y = 1; y + 1 < h; ++y) {
    const T* row = in + y * w;
    T* to = out + y * out_row;
    const bool has_blue = y % 2 == job.blue_y;
    const T* mask = masks[has_blue ? job.blue_x : 1 - job.blue_x];
    if (gray) {
      gray_row(row - w, row, row + w, mask, w - 1, has_blue ? kDebayerBlue : kDebayerRed,
               has_blue ? kDebayerRed : kDebayerBlue, to);
      to[0] = to[1];
      to[w - 1] = to[w - 2];
      continue;
    }
    if (job.algorithm == DebayerAlgorithm::kEdgeAware)
      color_row<T, true>(row - w, row, row + w, mask, w - 1, own, green, other);
    else color_row<T, false>(row - w, row, row + w, mask, w - 1, own, green, other);
    for (T* list : {own, green, other}) {
      list[0] = list[1];
      list[w - 1] = list[w - 2];
    }
    interleave(has_blue ? other : own, green, has_blue ? own : other, w, to);
  }
  const size_t bytes = static_cast<size_t>(out_row) * sizeof(T);
  std::memcpy(out, out + out_row, bytes);
  std::memcpy(out + (h - 1) * out_row, out + (h - 2) * out_row, bytes);
}

void debayer(const DebayerJob& job, const void* in, void* out, void* scratch) {
  if (job.type == DType::kUInt16)
    run_debayer(job, static_cast<const uint16_t*>(in), static_cast<uint16_t*>(out),
                static_cast<uint16_t*>(scratch));
  else
    run_debayer(job, static_cast<const uint8_t*>(in), static_cast<uint8_t*>(out),
                static_cast<uint8_t*>(scratch));
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
size_t debayer_scratch(const DebayerJob& job) {
  if (job.algorithm == DebayerAlgorithm::kVng) return debayer_vng_scratch(job.width);
  return static_cast<size_t>(5 * isa_baseline::padded(job.width) * itemsize(job.type));
}

void debayer(const DebayerJob& job, const void* in, void* out, void* scratch) {
  if (job.algorithm == DebayerAlgorithm::kVng) debayer_vng(job, in, out, scratch);
  else TORCHDALI_ISA_PICK(debayer)(job, in, out, scratch);
}
#endif

}  // namespace torchdali::kernels
