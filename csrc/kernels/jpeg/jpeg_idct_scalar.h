// SPDX-License-Identifier: Apache-2.0
// The definition of the inverse DCT, one number at a time, for the host and the GPU: that of
// C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT algorithms with 11
// multiplications" (ICASSP 1989), on columns, then on rows; see jpeg_idct_cpu.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

namespace torchdali::kernels::jpeg_idct_scalar {

// Fraction bits: of the constants, and additional ones between the passes.
inline constexpr int kFraction = 13, kBetween = 2;
constexpr int16_t fix(double x) {
  constexpr double kToNearest = 0.5;  // of positive numbers
  return static_cast<int16_t>(x * (1 << kFraction) + kToNearest);
}
// cos and sin of multiples of pi/16, times sqrt(2), and their sums, in the form that the algorithm
// uses.
inline constexpr int16_t k0298 = fix(0.298631336), k0390 = fix(0.390180644),
                         k0541 = fix(0.541196100), k0765 = fix(0.765366865),
                         k0899 = fix(0.899976223), k1175 = fix(1.175875602),
                         k1501 = fix(1.501321110), k1847 = fix(1.847759065),
                         k1961 = fix(1.961570560), k2053 = fix(2.053119869),
                         k2562 = fix(2.562915447), k3072 = fix(3.072711026);

// A rotation of two numbers; factors of the first result, then of the second.
struct Rotation {
  int16_t a, b, c, d;
};
inline constexpr Rotation kEven = {k0541, k0541 - k1847, k0541 + k0765, k0541};
inline constexpr Rotation kOdd = {k1175 - k1961, k1175, k1175, k1175 - k0390};
inline constexpr Rotation kOdd71 = {k0298 - k0899, -k0899, -k0899, k1501 - k0899};
inline constexpr Rotation kOdd53 = {k2053 - k2562, -k2562, -k2562, k3072 - k2562};

// Sums may overflow 32 bits in an invalid file; they wrap, like those of vectors.
struct Int {
  uint32_t v;
  friend constexpr Int operator+(Int a, Int b) { return {a.v + b.v}; }
  friend constexpr Int operator-(Int a, Int b) { return {a.v - b.v}; }
};
constexpr Int product(int a, int b) {
  return {static_cast<uint32_t>(a) * static_cast<uint32_t>(b)};
}
constexpr Int dot(int16_t x, int16_t y, int16_t a, int16_t b) {
  return product(x, a) + product(y, b);
}
constexpr int16_t wrap(int x) { return static_cast<int16_t>(x); }

template <int kShift>
constexpr int16_t descale(Int x) {
  const int v = static_cast<int32_t>(x.v + (1u << (kShift - 1))) >> kShift;
  return static_cast<int16_t>(std::clamp(v, -32768, 32767));
}

// One row or column, `step` numbers apart, in place.
template <int kShift>
constexpr void transform_one(int16_t* p, int step) {
  int16_t in[8] = {};
  for (int i = 0; i < 8; ++i) in[i] = p[i * step];
  const Int e2 = dot(in[2], in[6], kEven.a, kEven.b), e3 = dot(in[2], in[6], kEven.c, kEven.d);
  const Int e0 = product(wrap(in[0] + in[4]), 1 << kFraction);
  const Int e1 = product(wrap(in[0] - in[4]), 1 << kFraction);
  const Int even[4] = {e0 + e3, e1 + e2, e1 - e2, e0 - e3};
  const int16_t z3 = wrap(in[7] + in[3]), z4 = wrap(in[5] + in[1]);
  const Int s3 = dot(z3, z4, kOdd.a, kOdd.b), s4 = dot(z3, z4, kOdd.c, kOdd.d);
  const Int odd[4] = {
      dot(in[7], in[1], kOdd71.c, kOdd71.d) + s4, dot(in[5], in[3], kOdd53.c, kOdd53.d) + s3,
      dot(in[5], in[3], kOdd53.a, kOdd53.b) + s4, dot(in[7], in[1], kOdd71.a, kOdd71.b) + s3};
  for (int i = 0; i < 4; ++i) {
    p[i * step] = descale<kShift>(even[i] + odd[i]);
    p[(7 - i) * step] = descale<kShift>(even[i] - odd[i]);
  }
}
inline constexpr int kColumnShift = kFraction - kBetween, kRowShift = kFraction + kBetween + 3;

// A column of a block in which all rows but the first are zero: libjpeg-turbo's shortcut, which
// does not saturate.
constexpr int16_t flat_column(int16_t first) { return wrap(first * (1 << kBetween)); }
constexpr uint8_t to_sample(int x) { return static_cast<uint8_t>(std::clamp(x, -128, 127) + 128); }

// A block without AC is uniform: both roundings of the transform, one after the other.
constexpr uint8_t dc_sample(int16_t dc, int16_t quant) {
  constexpr int kHalf = 1 << (kBetween + 2);
  return to_sample((flat_column(wrap(dc * quant)) + kHalf) >> (kBetween + 3));
}

}  // namespace torchdali::kernels::jpeg_idct_scalar
