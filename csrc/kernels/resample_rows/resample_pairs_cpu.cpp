// SPDX-License-Identifier: Apache-2.0
// Two taps by shuffles of bytes (AVX2 and later); compiled once per instruction set, with results
// that are bit-identical to those of resample_fixed_cpu.cpp.
#include "kernels/resample_rows/resample_pairs.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#define TORCHDALI_ISA_FILE "kernels/resample_rows/resample_pairs_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

#if TORCHDALI_ISA_LEVEL >= 1
// Elements of the result whose sources one window holds, and those of a step: both halves of a
// register.
constexpr int kBlock = 8, kStep = 16;
constexpr int kTaps = 2, kMaxWindows = 3, kWindow = 16;  // bytes
// An index that a shuffle replaces with 0.
constexpr int32_t kNone = 0x80;

int64_t steps_of(int64_t size) { return (size + kStep - 1) / kStep; }
int64_t prepared_size(int64_t size) {
  constexpr int64_t kOrder = int64_t{kTaps} * kMaxWindows * 2 * kWindow;
  constexpr int64_t kWeights = (1 + kTaps) * kStep * sizeof(uint16_t);
  constexpr int64_t kSources = (2 + kStep) * sizeof(int32_t);
  return steps_of(size) * (kOrder + kWeights + kSources);
}

// Sources of all elements and weights of a step after the other. Elements after the last one are
// like the last one.
void list_elements(const int32_t* offset, const uint16_t* weights, int64_t out, int64_t channels,
                   int32_t* source, uint16_t* to) {
  const int64_t size = out * channels, end = steps_of(size) * kStep;
  int64_t e = 0;
  for (int64_t x = 0; x < out; ++x, weights += 1 + kTaps)
    for (int64_t c = 0; c < channels; ++c, ++e) {
      source[e] = offset[x] + static_cast<int32_t>(c);
      uint16_t* place = to + e / kStep * (1 + kTaps) * kStep + e % kStep;
      for (int k = 0; k < 1 + kTaps; ++k) place[k * kStep] = weights[k];
    }
  for (; e < end; ++e) {
    source[e] = source[size - 1];
    uint16_t* place = to + e / kStep * (1 + kTaps) * kStep + e % kStep;
    for (int k = 0; k < 1 + kTaps; ++k) place[k * kStep] = 0;
  }
}

// The order of a window's bytes for 16 elements, of which `at` is the number in the first window.
template <int kBytes>
void order_window(const int32_t* at, int window, uint8_t* order) {
  constexpr int kElements = kWindow / kBytes;
  for (int i = 0; i < kStep; ++i) {
    const int32_t in_window = at[i] - window * kElements;
    const bool inside = in_window >= 0 && in_window < kElements;
    // A byte becomes the upper half of its middle element.
    const int32_t low = inside && kBytes == 2 ? 2 * in_window : kNone,
                  high = inside ? (in_window + 1) * kBytes - 1 : kNone;
    order[2 * i] = static_cast<uint8_t>(low);
    order[2 * i + 1] = static_cast<uint8_t>(high);
  }
}

PairTable prepare(const int32_t* offset, const uint16_t* weights, int64_t out, int64_t channels,
                  int bytes, int64_t width, std::byte* memory) {
  const int64_t size = out * channels, steps = steps_of(size);
  const int per_window = kWindow / bytes;
  int32_t* source = reinterpret_cast<int32_t*>(memory);
  int32_t* base = source + steps * kStep;
  uint16_t* to = reinterpret_cast<uint16_t*>(base + 2 * steps);
  uint8_t* order = reinterpret_cast<uint8_t*>(to + steps * (1 + kTaps) * kStep);
  PairTable table{.size = size, .base = base, .order = order, .weights = to};
  list_elements(offset, weights, out, channels, source, to);
  int64_t widest = 0;
  for (int64_t b = 0; b < 2 * steps; ++b) {
    int32_t low = source[b * kBlock], high = low;
    for (int i = 1; i < kBlock; ++i) {
      low = std::min(low, source[b * kBlock + i]);
      high = std::max(high, source[b * kBlock + i]);
    }
    base[b] = low;
    widest = std::max(widest, high - low + channels + 1);
  }
  const int64_t windows = (widest + per_window - 1) / per_window;
  if (windows > kMaxWindows || width < windows * per_window) return {};
  table.windows = static_cast<int>(windows);
  const auto last = static_cast<int32_t>(width - windows * per_window);
  for (int64_t s = 0; s < steps; ++s, source += kStep) {
    for (int half = 0; half < 2; ++half) {
      int32_t& first = base[2 * s + half];
      first = std::min(first, last);
      for (int i = 0; i < kBlock; ++i) source[half * kBlock + i] -= first;
    }
    for (int k = 0; k < kTaps; ++k) {
      for (int w = 0; w < table.windows; ++w, order += 2 * kWindow) {
        if (bytes == 1) order_window<1>(source, w, order);
        else order_window<2>(source, w, order);
      }
      for (int i = 0; i < kStep; ++i) source[i] += static_cast<int32_t>(channels);
    }
  }
  return table;
}

inline __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
inline __m256i load_two(const void* low, const void* high) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(low))),
      _mm_loadu_si128(static_cast<const __m128i*>(high)), 1);
}

// 16 middle elements.
template <int kWindows, class In>
inline __m256i sum_of_step(const In* row, const int32_t* base, const uint8_t* order,
                           const uint16_t* weights) {
  constexpr int kElements = kWindow / static_cast<int>(sizeof(In));
  __m256i windows[kWindows];
  for (int w = 0; w < kWindows; ++w)
    windows[w] = load_two(row + base[0] + w * kElements, row + base[1] + w * kElements);
  __m256i sum = load(weights);
  for (int k = 0; k < kTaps; ++k) {
    __m256i elements = _mm256_shuffle_epi8(windows[0], load(order));
    for (int w = 1; w < kWindows; ++w)
      elements =
          _mm256_or_si256(elements, _mm256_shuffle_epi8(windows[w], load(order + w * 2 * kWindow)));
    order += kWindows * 2 * kWindow;
    sum = _mm256_add_epi16(sum, _mm256_mulhi_epu16(elements, load(weights + (1 + k) * kStep)));
  }
  return sum;
}

// Halves to even: adds 127 or, before odd numbers, 128.
inline __m128i rounded(__m256i sum) {
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(sum, 8), _mm256_set1_epi16(1));
  sum = _mm256_add_epi16(sum, _mm256_add_epi16(odd, _mm256_set1_epi16(127)));
  sum = _mm256_srli_epi16(sum, 8);
  return _mm_packus_epi16(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
}

template <int kWindows, class In, class Out>
void sum_windows(const In* row, const PairTable& t, Out* result) {
  const int32_t* base = t.base;
  const uint8_t* order = t.order;
  const uint16_t* weights = t.weights;
  const int64_t size = t.size;
  for (int64_t at = 0; at < size; at += kStep) {
    const __m256i sum = sum_of_step<kWindows>(row, base, order, weights);
    base += 2;
    order += kTaps * kWindows * 2 * kWindow;
    weights += (1 + kTaps) * kStep;
    if constexpr (std::is_same_v<Out, uint16_t>) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(result + at), sum);
    } else if (at + kStep <= size) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(result + at), rounded(sum));
    } else {
      alignas(16) uint8_t last[kStep];
      _mm_store_si128(reinterpret_cast<__m128i*>(last), rounded(sum));
      std::memcpy(result + at, last, static_cast<size_t>(size - at));
    }
  }
}
#else
int64_t prepared_size(int64_t) { return 0; }
PairTable prepare(const int32_t*, const uint16_t*, int64_t, int64_t, int, int64_t, std::byte*) {
  return {};
}
#endif

template <class In, class Out>
void sum_pairs([[maybe_unused]] const In* row, const PairTable& t, [[maybe_unused]] Out* result) {
  switch (t.windows) {
#if TORCHDALI_ISA_LEVEL >= 1
    case 1: return sum_windows<1>(row, t, result);
    case 2: return sum_windows<2>(row, t, result);
    case 3: return sum_windows<3>(row, t, result);
#endif
    default: return;
  }
}

}  // namespace

extern const PairKernels kPairKernels;
const PairKernels kPairKernels = {
    .prepared_size = prepared_size,
    .prepare = prepare,
    .bytes_to_mid = sum_pairs<uint8_t, uint16_t>,
    .bytes_to_bytes = sum_pairs<uint8_t, uint8_t>,
    .mid_to_bytes = sum_pairs<uint16_t, uint8_t>,
};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
const PairKernels& pair_kernels() { return *TORCHDALI_ISA_PICK(kPairKernels); }
#endif

}  // namespace torchdali::kernels
