// SPDX-License-Identifier: Apache-2.0
// Row loops of resampling, compiled once per instruction set. Sums are over the taps in order, with
// one rounding per step, so that results are bit-identical with all instruction sets.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/resample/resample_rows.h"

// Tells the compiler that arrays may be the same, but do not overlap otherwise.
#undef TORCHDALI_INDEPENDENT_ITERATIONS
#ifdef __clang__
#define TORCHDALI_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define TORCHDALI_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

#define TORCHDALI_ISA_FILE "kernels/resample/resample_rows_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

inline uint16_t multiply_high(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>((static_cast<uint32_t>(a) * b) >> 16);
}
inline uint16_t load_mid(uint8_t v, uint16_t) { return static_cast<uint16_t>(v << 8); }
inline uint16_t load_mid(uint16_t v, uint16_t) { return v; }
template <class In>
inline float load_mid(In v, float) {
  return static_cast<float>(v);
}
inline uint16_t weigh(uint16_t v, uint16_t weight) { return multiply_high(v, weight); }
inline float weigh(float v, float weight) { return v * weight; }

// Middle element to result: rounds to nearest, halves to even, and saturates.
template <class Out, class Mid>
inline Out finish(Mid mid) {
  if constexpr (std::is_same_v<Out, Mid>) {
    return mid;
  } else if constexpr (std::is_same_v<Mid, uint16_t>) {
    return static_cast<Out>((mid + 127 + (mid >> 8 & 1)) >> 8);
  } else {
    // 1.5 * 2^23 leaves no fraction bits: the addition rounds, and the low bits of the sum are the
    // integer. Middle values of integers stay far below 2^22. Bounded as integers, because GCC does
    // not vectorize comparisons of floats that may be NaN before AVX-512 (6 times slower overall).
    constexpr float kRound = 0x1.8p23f;
    const int32_t whole = std::bit_cast<int32_t>(mid + kRound) - std::bit_cast<int32_t>(kRound);
    constexpr int32_t kLow = std::numeric_limits<Out>::min(),
                      kHigh = std::numeric_limits<Out>::max();
    return static_cast<Out>(std::clamp(whole, kLow, kHigh));
  }
}

constexpr int kTapsAtOnce = 4;

// `Out` is Mid (an unfinished sum) or the result type. Adds to `sums` if it is not null; `sums` may
// be `result`.
template <int kTaps, bool kAdd, class In, class Mid, class Out>
void blend_some(const In* const* rows, const Mid* weights, Mid start, int64_t n, const Mid* sums,
                Out* result) {
  const In *r0 = rows[0], *r1 = rows[kTaps > 1 ? 1 : 0], *r2 = rows[kTaps > 2 ? 2 : 0],
           *r3 = rows[kTaps > 3 ? 3 : 0];
  const Mid w0 = weights[0], w1 = weights[kTaps > 1 ? 1 : 0], w2 = weights[kTaps > 2 ? 2 : 0],
            w3 = weights[kTaps > 3 ? 3 : 0];
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    Mid sum = kAdd ? sums[i] : start;
    sum = static_cast<Mid>(sum + weigh(load_mid(r0[i], Mid()), w0));
    if constexpr (kTaps > 1) sum = static_cast<Mid>(sum + weigh(load_mid(r1[i], Mid()), w1));
    if constexpr (kTaps > 2) sum = static_cast<Mid>(sum + weigh(load_mid(r2[i], Mid()), w2));
    if constexpr (kTaps > 3) sum = static_cast<Mid>(sum + weigh(load_mid(r3[i], Mid()), w3));
    result[i] = finish<Out>(sum);
  }
}

template <bool kAdd, class In, class Mid, class Out>
void blend_last(const In* const* rows, const Mid* weights, int taps, Mid start, int64_t n,
                const Mid* sums, Out* result) {
  switch (taps) {
    case 1: return blend_some<1, kAdd>(rows, weights, start, n, sums, result);
    case 2: return blend_some<2, kAdd>(rows, weights, start, n, sums, result);
    case 3: return blend_some<3, kAdd>(rows, weights, start, n, sums, result);
    default: return blend_some<4, kAdd>(rows, weights, start, n, sums, result);
  }
}

template <class In, class Mid, class Out>
void blend_all(const In* const* rows, const Mid* weights, int taps, Mid start, int64_t n,
               Mid* buffer, Out* result) {
  if (taps <= kTapsAtOnce)
    return blend_last<false>(rows, weights, taps, start, n, static_cast<const Mid*>(nullptr),
                             result);
  const Mid* none = nullptr;
  blend_some<kTapsAtOnce, false>(rows, weights, start, n, none, buffer);
  for (taps -= kTapsAtOnce;; taps -= kTapsAtOnce) {
    rows += kTapsAtOnce;
    weights += kTapsAtOnce;
    if (taps <= kTapsAtOnce) break;
    blend_some<kTapsAtOnce, true>(rows, weights, start, n, buffer, buffer);
  }
  blend_last<true>(rows, weights, taps, start, n, buffer, result);
}

template <class In, class Mid>
void blend_to_mid(const In* const* rows, const Mid* weights, int taps, Mid start, int64_t n,
                  Mid* result) {
  blend_all<In, Mid, Mid>(rows, weights, taps, start, n, result, result);
}

template <class In, class Mid>
void to_mid(const In* row, int64_t n, Mid* result) {
  for (int64_t i = 0; i < n; ++i) result[i] = load_mid(row[i], Mid());
}

// Horizontal pass in float. Pixels of up to 4 channels are processed as 4 elements, including the
// start of the next pixel; each store overwrites the next pixel, which is written afterwards.
HorizontalTable<float> prepare(const int32_t* offset, const float* weights, int64_t out, int taps,
                               int64_t, float*) {
  return {.out = out, .taps = taps, .offset = offset, .weights = weights};
}
int64_t prepared_size(int64_t, int, int64_t) { return 0; }

template <class Mid, class Out>
void finish_row(const Mid* row, int64_t n, Out* result) {
  for (int64_t i = 0; i < n; ++i) result[i] = finish<Out>(row[i]);
}

// Many channels: the compiler vectorizes over them.
template <class Mid>
void horizontal_wide(const Mid* row, const HorizontalTable<Mid>& t, int64_t channels,
                     Mid* __restrict result) {
  for (int64_t x = 0; x < t.out; ++x, result += channels) {
    const Mid* from = row + t.offset[x];
    const Mid* weights = t.weights + x * t.taps;
    for (int64_t c = 0; c < channels; ++c) result[c] = from[c] * weights[0];
    for (int k = 1; k < t.taps; ++k) {
      from += channels;
      for (int64_t c = 0; c < channels; ++c) result[c] += from[c] * weights[k];
    }
  }
}

typedef float Slots __attribute__((vector_size(16)));

template <int kChannels>
void horizontal_slots(const float* row, const HorizontalTable<float>& t, float* result) {
  const int taps = t.taps;
  const float* weights = t.weights;
  for (int64_t x = 0; x < t.out; ++x, result += kChannels, weights += taps) {
    const float* from = row + t.offset[x];
    Slots pixel;
    std::memcpy(&pixel, from, sizeof(pixel));
    Slots sum = pixel * weights[0];
    for (int k = 1; k < taps; ++k) {
      from += kChannels;
      std::memcpy(&pixel, from, sizeof(pixel));
      sum += pixel * weights[k];
    }
    std::memcpy(result, &sum, sizeof(sum));
  }
}

void horizontal_to_mid(const float* row, const HorizontalTable<float>& t, int64_t channels,
                       float* result) {
  switch (channels) {
    case 1: return horizontal_slots<1>(row, t, result);
    case 2: return horizontal_slots<2>(row, t, result);
    case 3: return horizontal_slots<3>(row, t, result);
    case 4: return horizontal_slots<4>(row, t, result);
    default: return horizontal_wide(row, t, channels, result);
  }
}

template <class Out>
void horizontal(const float* row, const HorizontalTable<float>& t, int64_t channels, float* buffer,
                Out* result) {
  horizontal_to_mid(row, t, channels, buffer);
  finish_row(buffer, t.out * channels, result);
}

}  // namespace

template <class In, class Mid, class Out>
const RowKernels<In, Mid, Out> kRowKernels = {
    .blend_to_mid = blend_to_mid<In, Mid>,
    .blend = blend_all<In, Mid, Out>,
    .blend_mid = blend_all<Mid, Mid, Out>,
    .to_mid = to_mid<In, Mid>,
};
template <class Out>
const HorizontalKernels<float, Out> kHorizontalKernels = {
    .prepare = prepare,
    .prepared_size = prepared_size,
    .to_mid = horizontal_to_mid,
    .finish = horizontal<Out>,
};

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
template <class In, class Mid, class Out>
const RowKernels<In, Mid, Out>& row_kernels() {
  return *TORCHDALI_ISA_PICK(kRowKernels<In, Mid, Out>);
}
#define TORCHDALI_ROW_KERNELS(In, Mid, Out) \
  template const RowKernels<In, Mid, Out>& row_kernels<In, Mid, Out>()
TORCHDALI_ROW_KERNELS(uint8_t, uint16_t, uint8_t);
TORCHDALI_ROW_KERNELS(uint8_t, float, uint8_t);
TORCHDALI_ROW_KERNELS(uint8_t, float, float);
TORCHDALI_ROW_KERNELS(uint16_t, float, uint16_t);
TORCHDALI_ROW_KERNELS(uint16_t, float, float);
TORCHDALI_ROW_KERNELS(int16_t, float, int16_t);
TORCHDALI_ROW_KERNELS(int16_t, float, float);
TORCHDALI_ROW_KERNELS(float, float, float);
TORCHDALI_ROW_KERNELS(float, float, uint8_t);
TORCHDALI_ROW_KERNELS(float, float, uint16_t);
TORCHDALI_ROW_KERNELS(float, float, int16_t);
#undef TORCHDALI_ROW_KERNELS

template <class Mid, class Out>
const HorizontalKernels<Mid, Out>& horizontal_kernels() {
  return *TORCHDALI_ISA_PICK(kHorizontalKernels<Out>);
}
template const HorizontalKernels<float, uint8_t>& horizontal_kernels<float, uint8_t>();
template const HorizontalKernels<float, uint16_t>& horizontal_kernels<float, uint16_t>();
template const HorizontalKernels<float, int16_t>& horizontal_kernels<float, int16_t>();
template const HorizontalKernels<float, float>& horizontal_kernels<float, float>();
#endif

}  // namespace torchdali::kernels
