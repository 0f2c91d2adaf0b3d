// SPDX-License-Identifier: Apache-2.0
// Fourier transforms by the threads of a block, in shared memory (kernels/gpu/block.h). Stockham's
// algorithm: each pass reads one buffer and writes another one, and the result is in order.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

struct Complex {
  float re = 0, im = 0;
};
TORCHDALI_HOST_DEVICE inline Complex operator+(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
TORCHDALI_HOST_DEVICE inline Complex operator-(Complex a, Complex b) {
  return {a.re - b.re, a.im - b.im};
}
TORCHDALI_HOST_DEVICE inline Complex operator*(Complex a, Complex b) {
  return {multiply_add(-a.im, b.im, a.re * b.re), multiply_add(a.im, b.re, a.re * b.im)};
}
// a * -i
TORCHDALI_HOST_DEVICE inline Complex turned(Complex a) { return {a.im, -a.re}; }

// A transform of `size` points: a pass for each factor.
struct FftPlan {
  static constexpr int kMaxPasses = 8;
  static constexpr int kMaxRadix = 16;
  int size = 0, passes = 0;
  uint8_t radix[kMaxPasses] = {};
};

// Returns a plan without passes if a factor is not 2, 3 or 5, or if there are too many factors.
inline FftPlan make_fft_plan(int size) {
  FftPlan plan{.size = size};
  const auto add = [&](int radix) {
    if (plan.passes < FftPlan::kMaxPasses) plan.radix[plan.passes] = static_cast<uint8_t>(radix);
    ++plan.passes;
  };
  int rest = size, twos = 0;
  for (; rest > 0 && rest % 2 == 0; rest /= 2) ++twos;
  // Radices of 4 bits at most, as even as possible: 512 = 8 * 8 * 8.
  for (int left = (twos + 3) / 4; left > 0; --left) {
    const int bits = (twos + left - 1) / left;
    add(1 << bits);
    twos -= bits;
  }
  for (; rest > 0 && rest % 5 == 0; rest /= 5) add(5);
  for (; rest > 0 && rest % 3 == 0; rest /= 3) add(3);
  if (size == 1) add(1);
  if (rest != 1 || plan.passes > FftPlan::kMaxPasses) plan.passes = 0;
  return plan;
}

// exp(-2 * pi * i * index / size)
inline Complex root_of_unity(int64_t index, int64_t size) {
  const double angle =
      -2 * 3.14159265358979323846 * static_cast<double>(index % size) / static_cast<double>(size);
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

// The factors of all passes but the first, one after the other: factor [q - 1][k] of a pass of
// radix r after passes for l points is exp(-2 * pi * i * q * k / (r * l)), with 0 < q < r, k < l.
inline std::vector<Complex> fft_twiddles(const FftPlan& plan) {
  std::vector<Complex> all;
  int done = plan.passes > 0 ? plan.radix[0] : 1;
  for (int pass = 1; pass < plan.passes; ++pass) {
    const int radix = plan.radix[pass];
    for (int q = 1; q < radix; ++q)
      for (int k = 0; k < done; ++k)
        all.push_back(root_of_unity(int64_t{q} * k, int64_t{radix} * done));
    done *= radix;
  }
  return all;
}

// Where value `i` of a buffer is. The gaps let threads that write every 8th or 16th value use
// different banks of shared memory.
TORCHDALI_HOST_DEVICE constexpr int padded(int i) { return i + i / 16; }

// The transform of a few values in registers.
template <int kRadix>
struct Butterfly;
template <>
struct Butterfly<1> {
  TORCHDALI_HOST_DEVICE static void transform(Complex (&)[1]) {}
};
template <>
struct Butterfly<2> {
  TORCHDALI_HOST_DEVICE static void transform(Complex (&v)[2]) {
    const Complex a = v[0];
    v[0] = a + v[1];
    v[1] = a - v[1];
  }
};
template <>
struct Butterfly<3> {
  TORCHDALI_HOST_DEVICE static void transform(Complex (&v)[3]) {
    constexpr float kSine = 0.866025403784438647f;
    const Complex sum = v[1] + v[2], difference = v[1] - v[2];
    const Complex middle{multiply_add(-0.5f, sum.re, v[0].re),
                         multiply_add(-0.5f, sum.im, v[0].im)};
    const Complex side{kSine * difference.im, -kSine * difference.re};
    v[0] = v[0] + sum;
    v[1] = middle + side;
    v[2] = middle - side;
  }
};
template <>
struct Butterfly<4> {
  TORCHDALI_HOST_DEVICE static void transform(Complex (&v)[4]) {
    const Complex a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = turned(v[1] - v[3]);
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
  }
};
template <>
struct Butterfly<5> {
  TORCHDALI_HOST_DEVICE static void transform(Complex (&v)[5]) {
    constexpr float kCosine1 = 0.309016994374947424f, kCosine2 = -0.809016994374947424f;
    constexpr float kSine1 = 0.951056516295153572f, kSine2 = 0.587785252292473129f;
    const Complex s1 = v[1] + v[4], d1 = v[1] - v[4], s2 = v[2] + v[3], d2 = v[2] - v[3];
    const auto mix = [](float a, float x, float b, float y, float add) {
      return multiply_add(a, x, multiply_add(b, y, add));
    };
    const Complex m1{mix(kCosine1, s1.re, kCosine2, s2.re, v[0].re),
                     mix(kCosine1, s1.im, kCosine2, s2.im, v[0].im)};
    const Complex m2{mix(kCosine2, s1.re, kCosine1, s2.re, v[0].re),
                     mix(kCosine2, s1.im, kCosine1, s2.im, v[0].im)};
    const Complex t1 = turned(
        Complex{mix(kSine1, d1.re, kSine2, d2.re, 0.0f), mix(kSine1, d1.im, kSine2, d2.im, 0.0f)});
    const Complex t2 = turned(Complex{mix(kSine2, d1.re, -kSine1, d2.re, 0.0f),
                                      mix(kSine2, d1.im, -kSine1, d2.im, 0.0f)});
    v[0] = v[0] + s1 + s2;
    v[1] = m1 + t1;
    v[4] = m1 - t1;
    v[2] = m2 + t2;
    v[3] = m2 - t2;
  }
};

// exp(-2 * pi * i * kIndex / 16) * a
template <int kIndex>
TORCHDALI_HOST_DEVICE Complex turned_by_16th(Complex a) {
  constexpr float kCosines[] = {1.0f, 0.923879532511286756f, 0.707106781186547524f,
                                0.382683432365089772f};
  if constexpr (kIndex >= 8) return turned_by_16th<kIndex - 8>(Complex{-a.re, -a.im});
  else if constexpr (kIndex >= 4) return turned_by_16th<kIndex - 4>(turned(a));
  else if constexpr (kIndex == 0) return a;
  else if constexpr (kIndex == 2) return {kCosines[2] * (a.re + a.im), kCosines[2] * (a.im - a.re)};
  else return a * Complex{kCosines[kIndex], -kCosines[4 - kIndex]};
}

template <>
struct Butterfly<8> {
  TORCHDALI_HOST_DEVICE static void transform(Complex (&v)[8]) {
    Complex even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
    Butterfly<4>::transform(even);
    Butterfly<4>::transform(odd);
    odd[1] = turned_by_16th<2>(odd[1]);
    odd[2] = turned(odd[2]);
    odd[3] = turned_by_16th<6>(odd[3]);
    TORCHDALI_UNROLL
    for (int k = 0; k < 4; ++k) {
      v[k] = even[k] + odd[k];
      v[k + 4] = even[k] - odd[k];
    }
  }
};
template <>
struct Butterfly<16> {
  TORCHDALI_HOST_DEVICE static void transform(Complex (&v)[16]) {
    Complex rows[4][4];
    TORCHDALI_UNROLL
    for (int r = 0; r < 4; ++r) {
      TORCHDALI_UNROLL
      for (int k = 0; k < 4; ++k) rows[r][k] = v[4 * k + r];
      Butterfly<4>::transform(rows[r]);
    }
    turn<1>(rows[1]);
    turn<2>(rows[2]);
    turn<3>(rows[3]);
    TORCHDALI_UNROLL
    for (int k = 0; k < 4; ++k) {
      Complex column[4] = {rows[0][k], rows[1][k], rows[2][k], rows[3][k]};
      Butterfly<4>::transform(column);
      TORCHDALI_UNROLL
      for (int r = 0; r < 4; ++r) v[k + 4 * r] = column[r];
    }
  }

 private:
  template <int kRow>
  TORCHDALI_HOST_DEVICE static void turn(Complex (&row)[4]) {
    row[1] = turned_by_16th<kRow>(row[1]);
    row[2] = turned_by_16th<2 * kRow>(row[2]);
    row[3] = turned_by_16th<3 * kRow>(row[3]);
  }
};

// Calls fn.template operator()<radix>().
template <class Fn>
TORCHDALI_HOST_DEVICE void with_radix(int radix, Fn&& fn) {
  switch (radix) {
    case 1: return fn.template operator()<1>();
    case 2: return fn.template operator()<2>();
    case 3: return fn.template operator()<3>();
    case 4: return fn.template operator()<4>();
    case 5: return fn.template operator()<5>();
    case 8: return fn.template operator()<8>();
    case 16: return fn.template operator()<16>();
    default: TORCHDALI_KERNEL_CHECK(false && "no such radix");
  }
}

// Butterfly `j` of a pass, of size / kRadix butterflies, after passes for `done` points. load(i)
// returns value `i`; the results go to `out`, which is padded. `twiddles` are those of the pass;
// the first pass has none.
template <int kRadix, class Load>
TORCHDALI_HOST_DEVICE void run_butterfly(int size, int done, int j, const Complex* twiddles,
                                         Load&& load, Complex* out) {
  Complex v[kRadix];
  const int step = size / kRadix, k = done == 1 ? 0 : j % done;
  TORCHDALI_UNROLL
  for (int q = 0; q < kRadix; ++q) v[q] = load(j + q * step);
  if (done > 1) {
    TORCHDALI_UNROLL
    for (int q = 1; q < kRadix; ++q) v[q] = v[q] * twiddles[(q - 1) * done + k];
  }
  Butterfly<kRadix>::transform(v);
  const int to = (j - k) * kRadix + k;
  TORCHDALI_UNROLL
  for (int q = 0; q < kRadix; ++q) out[padded(to + q * done)] = v[q];
}

}  // namespace torchdali::gpu
