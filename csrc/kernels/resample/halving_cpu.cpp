// SPDX-License-Identifier: Apache-2.0
// Loops of halving, compiled once per instruction set.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/resample/halving.h"

#define TORCHDALI_ISA_FILE "kernels/resample/halving_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

#if TORCHDALI_ISA_LEVEL >= 1
constexpr bool kAvailable = true;

// Bytes of a row in half a register: pairs of pixels.
template <int kChannels>
constexpr int kHalf = kChannels == 3 ? 12 : 16;
inline __m256i two_halves(const uint8_t* low, const uint8_t* high) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}
// A shuffle of each half; `at(i)`: the source of byte i. Computed by the compiler.
template <class At>
inline __m256i order_by(At at) {
  struct alignas(32) Order {
    int8_t of[32];
  };
  static constexpr Order kOrder = [] {
    Order order{};
    for (int i = 0; i < 32; ++i) order.of[i] = static_cast<int8_t>(At{}(i));
    return order;
  }();
  static_cast<void>(at);
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(kOrder.of));
}

// 16 sums / 4, halves to even: adds 1 or, before odd numbers, 2.
inline __m256i mean_of_sums(__m256i sum) {
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(sum, 2), _mm256_set1_epi16(1));
  return _mm256_srli_epi16(_mm256_add_epi16(sum, _mm256_add_epi16(odd, _mm256_set1_epi16(1))), 2);
}
inline uint8_t mean_of_sum(int sum) {
  return static_cast<uint8_t>((sum + 1 + (sum >> 2 & 1)) >> 2);
}

template <int kChannels>
void mean_of(const uint8_t* rows, int64_t stride, int64_t out, uint8_t* result) {
  constexpr int kBytes = kHalf<kChannels>, kMade = kBytes / 2;  // of half a register
  // Each element next to that of the next pixel.
  const __m256i pairs = order_by([](int i) {
    const int element = i % 16 / 2, pixel = element / kChannels * 2 + i % 2;
    return element < kMade ? pixel * kChannels + element % kChannels : -1;
  });
  // The means of two registers, in order, without gaps.
  const __m256i close = order_by([](int i) {
    const int to = i % 16;
    return to < kMade ? to : to < 2 * kMade ? 8 + to - kMade : -1;
  });
  const __m256i ones = _mm256_set1_epi8(1);
  const auto sums = [&](const uint8_t* low, const uint8_t* high) {
    __m256i a = two_halves(low, high), b = two_halves(low + stride, high + stride);
    if constexpr (kChannels > 1) {
      a = _mm256_shuffle_epi8(a, pairs);
      b = _mm256_shuffle_epi8(b, pairs);
    }
    return mean_of_sums(
        _mm256_add_epi16(_mm256_maddubs_epi16(a, ones), _mm256_maddubs_epi16(b, ones)));
  };
  const int64_t size = out * kChannels;
  int64_t at = 0;
  // Both 16 bytes that are written, and the last ones that are read, are inside.
  for (; at + 2 * kMade + 16 <= size && 2 * at + 3 * kBytes + 16 <= 2 * size; at += 4 * kMade) {
    const uint8_t* from = rows + 2 * at;
    const __m256i means =
        _mm256_packus_epi16(sums(from, from + 2 * kBytes), sums(from + kBytes, from + 3 * kBytes));
    const __m256i closed = kChannels == 3 ? _mm256_shuffle_epi8(means, close) : means;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(result + at), _mm256_castsi256_si128(closed));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(result + at + 2 * kMade),
                     _mm256_extracti128_si256(closed, 1));
  }
  for (; at < size; ++at) {
    const uint8_t* from = rows + at / kChannels * 2 * kChannels + at % kChannels;
    result[at] = mean_of_sum(from[0] + from[kChannels] + from[stride] + from[stride + kChannels]);
  }
}
void mean(const uint8_t* rows, int64_t stride, int64_t out, int64_t channels, uint8_t* result) {
  switch (channels) {
    case 1: return mean_of<1>(rows, stride, out, result);
    case 2: return mean_of<2>(rows, stride, out, result);
    case 3: return mean_of<3>(rows, stride, out, result);
    default: return mean_of<4>(rows, stride, out, result);
  }
}

template <int kChannels>
void add_columns_of(const uint8_t* taps, int64_t first, int64_t end, int64_t out, uint16_t* sums) {
  constexpr int kBytes = kHalf<kChannels>, kMade = kBytes / 2;  // of half a register
  constexpr int kStep = 2 * kMade / kChannels;                  // pixels
  // With three channels, half a register holds 12 bytes; the lower half begins 4 bytes earlier.
  constexpr int kSkipped = 16 - kBytes, kSecond = 2 * kChannels;
  // Each element next to that of the next pixel.
  const __m256i order = order_by([](int i) {
    const int element = i % 16 / 2, pixel = element / kChannels * 2 + i % 2;
    const int at = pixel * kChannels + element % kChannels + (i < 16 ? kSkipped : 0);
    return element < kMade ? at : -1;
  });
  const auto load = [&](const uint8_t* from) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from - kSkipped));
    return kChannels == 1 ? v : _mm256_shuffle_epi8(v, order);
  };
  const auto by_pixel = [&](int64_t x) {
    for (int64_t c = 0; c < kChannels; ++c) {
      const auto tap = [&](int64_t k) -> int {
        return taps[std::clamp(2 * x + k, first, end - 1) * kChannels + c];
      };
      sums[x * kChannels + c] = static_cast<uint16_t>(tap(0) + 3 * (tap(1) + tap(2)) + tap(3));
    }
  };
  const __m256i rising = _mm256_set1_epi16(0x301), falling = _mm256_set1_epi16(0x103);
  const auto step = [&](int64_t x) {
    const uint8_t* at = taps + 2 * x * kChannels;
    const __m256i sum = _mm256_add_epi16(_mm256_maddubs_epi16(load(at), rising),
                                         _mm256_maddubs_epi16(load(at + kSecond), falling));
    uint16_t* to = sums + x * kChannels;
    if constexpr (kMade == 8) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sum);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(sum));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + kMade), _mm256_extracti128_si256(sum, 1));
  };
  // The pixels whose step reads only known bytes: [begin, last].
  const int64_t begin = (first * kChannels + kSkipped + 2 * kChannels - 1) / (2 * kChannels);
  const int64_t last =
      std::min(out - kStep, (end * kChannels - kSecond + kSkipped - 32) / (2 * kChannels));
  if (begin > last) {
    for (int64_t x = 0; x < out; ++x) by_pixel(x);
    return;
  }
  for (int64_t x = 0; x < begin; ++x) by_pixel(x);
  for (int64_t x = begin; x < last; x += kStep) step(x);
  step(last);  // overlaps the one before
  for (int64_t x = last + kStep; x < out; ++x) by_pixel(x);
}
void add_columns(const uint8_t* taps, int64_t first, int64_t end, int64_t out, int64_t channels,
                 uint16_t* sums) {
  switch (channels) {
    case 1: return add_columns_of<1>(taps, first, end, out, sums);
    case 2: return add_columns_of<2>(taps, first, end, out, sums);
    case 3: return add_columns_of<3>(taps, first, end, out, sums);
    default: return add_columns_of<4>(taps, first, end, out, sums);
  }
}

void add_rows(const uint16_t* const* rows, int64_t n, uint8_t* __restrict result) {
  const uint16_t *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
  for (int64_t i = 0; i < n; ++i) {
    const auto inner = static_cast<uint16_t>(b[i] + c[i]);
    const auto sum = static_cast<uint16_t>(a[i] + d[i] + inner + 2 * inner);
    const auto odd = static_cast<uint16_t>(sum >> 6 & 1);  // halves to even
    result[i] = static_cast<uint8_t>(static_cast<uint16_t>(sum + 31 + odd) >> 6);
  }
}
#else
constexpr bool kAvailable = false;
void mean(const uint8_t*, int64_t, int64_t, int64_t, uint8_t*) {}
void add_columns(const uint8_t*, int64_t, int64_t, int64_t, int64_t, uint16_t*) {}
void add_rows(const uint16_t* const*, int64_t, uint8_t*) {}
#endif

}  // namespace

extern const HalvingKernels kHalvingKernels;
const HalvingKernels kHalvingKernels = {
    .available = kAvailable, .mean = mean, .add_columns = add_columns, .add_rows = add_rows};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
const HalvingKernels& halving_kernels() { return *TORCHDALI_ISA_PICK(kHalvingKernels); }
#endif

}  // namespace torchdali::kernels
