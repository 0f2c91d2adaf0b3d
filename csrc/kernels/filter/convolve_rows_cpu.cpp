// SPDX-License-Identifier: Apache-2.0
// convolve_rows.h, once per instruction set. Products are added in the order of their distance,
// with one rounding per step, so that results are bit-identical.
#include "kernels/filter/convolve_rows.h"

#define TORCHDALI_ISA_FILE "kernels/filter/convolve_rows_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {
namespace {

inline float pair(float a, float b) { return a + b; }
inline float pair(uint8_t a, uint8_t b) {  // one conversion instead of two
  return static_cast<float>(static_cast<int32_t>(a) + static_cast<int32_t>(b));
}

// Pairs that are added while the sum is in a register.
constexpr int kPairs = 4;

// kFirst: begins with the middle; otherwise adds to `sum`.
template <int kCount, bool kFirst, class In>
void some_pairs(const In* __restrict middle, const In* const* before, const In* const* after,
                const float* weights, float middle_weight, int64_t n, float* __restrict sum) {
  const In* __restrict b0 = before[0], * __restrict b1 = before[kCount > 1 ? 1 : 0], * __restrict b2 = before[kCount > 2 ? 2 : 0], * __restrict b3 = before[kCount > 3 ? 3 : 0];
  const In* __restrict a0 = after[0], * __restrict a1 = after[kCount > 1 ? 1 : 0], * __restrict a2 = after[kCount > 2 ? 2 : 0], * __restrict a3 = after[kCount > 3 ? 3 : 0];
  const float w0 = weights[0], w1 = weights[kCount > 1 ? 1 : 0], w2 = weights[kCount > 2 ? 2 : 0],
              w3 = weights[kCount > 3 ? 3 : 0];
  for (int64_t i = 0; i < n; ++i) {
    float total = kFirst ? middle_weight * static_cast<float>(middle[i]) : sum[i];
    total += w0 * pair(b0[i], a0[i]);
    if constexpr (kCount > 1) total += w1 * pair(b1[i], a1[i]);
    if constexpr (kCount > 2) total += w2 * pair(b2[i], a2[i]);
    if constexpr (kCount > 3) total += w3 * pair(b3[i], a3[i]);
    sum[i] = total;
  }
}

template <bool kFirst, class In>
void pairs(int64_t count, const In* middle, const In* const* before, const In* const* after,
           const float* weights, float middle_weight, int64_t n, float* sum) {
  switch (count) {
    case 1: return some_pairs<1, kFirst>(middle, before, after, weights, middle_weight, n, sum);
    case 2: return some_pairs<2, kFirst>(middle, before, after, weights, middle_weight, n, sum);
    case 3: return some_pairs<3, kFirst>(middle, before, after, weights, middle_weight, n, sum);
    default: return some_pairs<4, kFirst>(middle, before, after, weights, middle_weight, n, sum);
  }
}

template <class In>
void sum_rows(const In* middle, const In* const* before, const In* const* after,
              const float* weights, int64_t radius, int64_t n, float* sum) {
  if (radius == 0) {
    const float w = weights[0];
    for (int64_t i = 0; i < n; ++i) sum[i] = w * static_cast<float>(middle[i]);
    return;
  }
  int64_t k = radius < kPairs ? radius : kPairs;
  pairs<true>(k, middle, before, after, weights + 1, weights[0], n, sum);
  for (; k < radius; k += kPairs)
    pairs<false>(radius - k < kPairs ? radius - k : kPairs, middle, before + k, after + k,
                 weights + 1 + k, 0.0f, n, sum);
}

void add_scaled_row(const float* __restrict row, float scale, int64_t n, float* __restrict sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] += scale * row[i];
}

void multiply_row(float scale, int64_t n, float* row) {
  for (int64_t i = 0; i < n; ++i) row[i] *= scale;
}

// Taps that are added while the sum is in a register.
constexpr int kTaps = 9;

template <int kCount, bool kAdd>
void some_taps(const float* const* rows, const float* w, int64_t n, float* __restrict sum) {
  const float* __restrict r0 = rows[0], * __restrict r1 = rows[kCount > 1 ? 1 : 0], * __restrict r2 = rows[kCount > 2 ? 2 : 0], * __restrict r3 = rows[kCount > 3 ? 3 : 0], * __restrict r4 = rows[kCount > 4 ? 4 : 0], * __restrict r5 = rows[kCount > 5 ? 5 : 0], * __restrict r6 = rows[kCount > 6 ? 6 : 0], * __restrict r7 = rows[kCount > 7 ? 7 : 0], * __restrict r8 = rows[kCount > 8 ? 8 : 0];
  const float w0 = w[0], w1 = w[kCount > 1 ? 1 : 0], w2 = w[kCount > 2 ? 2 : 0],
              w3 = w[kCount > 3 ? 3 : 0], w4 = w[kCount > 4 ? 4 : 0], w5 = w[kCount > 5 ? 5 : 0],
              w6 = w[kCount > 6 ? 6 : 0], w7 = w[kCount > 7 ? 7 : 0], w8 = w[kCount > 8 ? 8 : 0];
  for (int64_t i = 0; i < n; ++i) {
    float total = w0 * r0[i];
    if constexpr (kAdd) total += sum[i];
    if constexpr (kCount > 1) total += w1 * r1[i];
    if constexpr (kCount > 2) total += w2 * r2[i];
    if constexpr (kCount > 3) total += w3 * r3[i];
    if constexpr (kCount > 4) total += w4 * r4[i];
    if constexpr (kCount > 5) total += w5 * r5[i];
    if constexpr (kCount > 6) total += w6 * r6[i];
    if constexpr (kCount > 7) total += w7 * r7[i];
    if constexpr (kCount > 8) total += w8 * r8[i];
    sum[i] = total;
  }
}

template <bool kAdd>
void taps(int64_t count, const float* const* rows, const float* w, int64_t n, float* sum) {
  switch (count) {
    case 1: return some_taps<1, kAdd>(rows, w, n, sum);
    case 2: return some_taps<2, kAdd>(rows, w, n, sum);
    case 3: return some_taps<3, kAdd>(rows, w, n, sum);
    case 4: return some_taps<4, kAdd>(rows, w, n, sum);
    case 5: return some_taps<5, kAdd>(rows, w, n, sum);
    case 6: return some_taps<6, kAdd>(rows, w, n, sum);
    case 7: return some_taps<7, kAdd>(rows, w, n, sum);
    case 8: return some_taps<8, kAdd>(rows, w, n, sum);
    default: return some_taps<9, kAdd>(rows, w, n, sum);
  }
}

void add_taps(const float* const* rows, const float* weights, int64_t count, int64_t n,
              float* sum) {
  int64_t k = count < kTaps ? count : kTaps;
  taps<false>(k, rows, weights, n, sum);
  for (; k < count; k += kTaps)
    taps<true>(count - k < kTaps ? count - k : kTaps, rows + k, weights + k, n, sum);
}

}  // namespace

extern const WeightedSum kWeightedSum;
const WeightedSum kWeightedSum = add_taps;
extern const AddScaled kAddScaled;
const AddScaled kAddScaled = add_scaled_row;
extern const Multiply kMultiply;
const Multiply kMultiply = multiply_row;

template <class In>
constexpr SymmetricSum<In> kSymmetricSum = sum_rows<In>;

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
template <class In>
SymmetricSum<In> symmetric_sum() {
  return *TORCHDALI_ISA_PICK(kSymmetricSum<In>);
}
template SymmetricSum<uint8_t> symmetric_sum<uint8_t>();
template SymmetricSum<float> symmetric_sum<float>();
WeightedSum weighted_sum() { return *TORCHDALI_ISA_PICK(kWeightedSum); }
AddScaled add_scaled() { return *TORCHDALI_ISA_PICK(kAddScaled); }
Multiply multiply() { return *TORCHDALI_ISA_PICK(kMultiply); }
#endif

}  // namespace torchdali::kernels
