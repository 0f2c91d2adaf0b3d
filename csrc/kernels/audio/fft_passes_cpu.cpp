// SPDX-License-Identifier: Apache-2.0
// fft_passes.h, once per instruction set.
#include "kernels/audio/fft_passes.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "core/audio/frame_lanes.h"

#define TORCHDALI_ISA_FILE "kernels/audio/fft_passes_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#include "kernels/audio/transpose_lanes.h"

inline constexpr int kRow = 2 * kFrameLanes;  // floats of a complex row

struct Complex {
  Part re, im;
};

inline Part load_part(const float* from) {
  Part x;
  std::memcpy(&x, from, sizeof(Part));
  return x;
}
inline Complex load(const float* row) { return {load_part(row), load_part(row + kFrameLanes)}; }
inline void store(float* row, Complex x) {
  store_part(row, x.re);
  store_part(row + kFrameLanes, x.im);
}

inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(Complex a, float by) { return {a.re * by, a.im * by}; }
inline Complex times(Complex a, float re, float im) {
  return {a.re * re - a.im * im, a.im * re + a.re * im};
}
inline Complex times_minus_i(Complex a) { return {a.im, -a.re}; }
// a - i * b and a + i * b, without a negation.
inline Complex minus_i(Complex a, Complex b) { return {a.re + b.im, a.im - b.re}; }
inline Complex plus_i(Complex a, Complex b) { return {a.re - b.im, a.im + b.re}; }

inline constexpr float kHalfRoot = 0.70710678118654752440f;
inline constexpr float kCosPi8 = 0.92387953251128675613f, kSinPi8 = 0.38268343236508977173f;

// Multiplication with exp(-2 * pi * i / 16 * K).
template <int K>
inline Complex rotate16(Complex a) {
  if constexpr (K == 0) return a;
  if constexpr (K == 1) return times(a, kCosPi8, -kSinPi8);
  if constexpr (K == 2) return Complex{a.re + a.im, a.im - a.re} * kHalfRoot;
  if constexpr (K == 3) return times(a, kSinPi8, -kCosPi8);
  if constexpr (K == 4) return times_minus_i(a);
  if constexpr (K == 6) return Complex{a.im - a.re, -a.re - a.im} * kHalfRoot;
  if constexpr (K == 9) return times(a, -kCosPi8, kSinPi8);
}

// Transforms of R values in place, whose results are in order.
template <int R>
struct Dft;

template <>
struct Dft<2> {
  [[gnu::always_inline]] static void run(Complex* z) {
    const Complex a = z[0], b = z[1];
    z[0] = a + b;
    z[1] = a - b;
  }
};

template <>
struct Dft<3> {
  [[gnu::always_inline]] static void run(Complex* z) {
    constexpr float kSin = 0.86602540378443864676f;
    const Complex sum = z[1] + z[2], turned = (z[1] - z[2]) * kSin;
    const Complex middle = z[0] - sum * 0.5f;
    z[0] = z[0] + sum;
    z[1] = minus_i(middle, turned);
    z[2] = plus_i(middle, turned);
  }
};

[[gnu::always_inline]] inline void dft4(Complex& z0, Complex& z1, Complex& z2, Complex& z3) {
  const Complex a = z0 + z2, b = z0 - z2, c = z1 + z3, d = z1 - z3;
  z0 = a + c;
  z1 = minus_i(b, d);
  z2 = a - c;
  z3 = plus_i(b, d);
}

template <>
struct Dft<4> {
  [[gnu::always_inline]] static void run(Complex* z) { dft4(z[0], z[1], z[2], z[3]); }
};

template <>
struct Dft<5> {
  [[gnu::always_inline]] static void run(Complex* z) {
    constexpr float kCos1 = 0.30901699437494742410f, kCos2 = -0.80901699437494742410f;
    constexpr float kSin1 = 0.95105651629515357212f, kSin2 = 0.58778525229247312917f;
    const Complex sum1 = z[1] + z[4], sum2 = z[2] + z[3];
    const Complex turned1 = z[1] - z[4], turned2 = z[2] - z[3];
    const Complex middle1 = z[0] + sum1 * kCos1 + sum2 * kCos2;
    const Complex middle2 = z[0] + sum1 * kCos2 + sum2 * kCos1;
    const Complex side1 = turned1 * kSin1 + turned2 * kSin2;
    const Complex side2 = turned1 * kSin2 - turned2 * kSin1;
    z[0] = z[0] + sum1 + sum2;
    z[1] = minus_i(middle1, side1);
    z[2] = minus_i(middle2, side2);
    z[3] = plus_i(middle2, side2);
    z[4] = plus_i(middle1, side1);
  }
};

template <>
struct Dft<8> {
  [[gnu::always_inline]] static void run(Complex* z) {
    dft4(z[0], z[2], z[4], z[6]);
    dft4(z[1], z[3], z[5], z[7]);
    const Complex b1 = rotate16<2>(z[3]), b2 = z[5], b3 = rotate16<6>(z[7]);
    const Complex a0 = z[0], a1 = z[2], a2 = z[4], a3 = z[6], b0 = z[1];
    z[0] = a0 + b0;
    z[4] = a0 - b0;
    z[1] = a1 + b1;
    z[5] = a1 - b1;
    z[2] = minus_i(a2, b2);
    z[6] = plus_i(a2, b2);
    z[3] = a3 + b3;
    z[7] = a3 - b3;
  }
};

template <>
struct Dft<16> {
  [[gnu::always_inline]] static void run(Complex* z) {
    dft4(z[0], z[4], z[8], z[12]);
    dft4(z[1], z[5], z[9], z[13]);
    dft4(z[2], z[6], z[10], z[14]);
    dft4(z[3], z[7], z[11], z[15]);
    z[5] = rotate16<1>(z[5]);
    z[6] = rotate16<2>(z[6]);
    z[7] = rotate16<3>(z[7]);
    z[9] = rotate16<2>(z[9]);
    z[10] = rotate16<4>(z[10]);
    z[11] = rotate16<6>(z[11]);
    z[13] = rotate16<3>(z[13]);
    z[14] = rotate16<6>(z[14]);
    z[15] = rotate16<9>(z[15]);
    for (int q = 0; q < 4; ++q) dft4(z[4 * q], z[4 * q + 1], z[4 * q + 2], z[4 * q + 3]);
    // Result q + 4 * p is z[4 * q + p].
    for (int q = 0; q < 4; ++q)
      for (int p = q + 1; p < 4; ++p) std::swap(z[4 * q + p], z[4 * p + q]);
  }
};

template <int R, bool kTwiddles>
[[gnu::always_inline]] inline void transform_rows(float* z, int64_t stride, const float* twiddles) {
  for (int lane = 0; lane < kFrameLanes; lane += kPart) {
    Complex values[R];
    for (int k = 0; k < R; ++k) values[k] = load(z + lane + k * stride * kRow);
    Dft<R>::run(values);
    store(z + lane, values[0]);
    for (int q = 1; q < R; ++q) {
      Complex value = values[q];
      if (kTwiddles) value = times(value, twiddles[2 * q - 2], twiddles[2 * q - 1]);
      store(z + lane + q * stride * kRow, value);
    }
  }
}

template <int R>
void run_pass(float* z, int64_t blocks, int64_t stride, const float* twiddles) {
  for (int64_t b = 0; b < blocks; ++b, z += R * stride * kRow) {
    transform_rows<R, false>(z, stride, nullptr);
    for (int64_t j = 1; j < stride; ++j)
      transform_rows<R, true>(z + j * kRow, stride, twiddles + (j - 1) * 2 * (R - 1));
  }
}

void fft_pass(int radix, float* z, int64_t blocks, int64_t stride, const float* twiddles) {
  switch (radix) {
    case 2: return run_pass<2>(z, blocks, stride, twiddles);
    case 3: return run_pass<3>(z, blocks, stride, twiddles);
    case 4: return run_pass<4>(z, blocks, stride, twiddles);
    case 5: return run_pass<5>(z, blocks, stride, twiddles);
    case 8: return run_pass<8>(z, blocks, stride, twiddles);
    default: return run_pass<16>(z, blocks, stride, twiddles);
  }
}

inline Part square_root(Part x) {
#if TORCHDALI_ISA_LEVEL == 2
  return _mm512_sqrt_ps(x);
#elif TORCHDALI_ISA_LEVEL == 1
  return _mm256_sqrt_ps(x);
#else
  for (int i = 0; i < kPart; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

// What is stored of a frequency: put() computes row k of `out` from x * scale.
struct AsComplex {
  static void put(float* out, int64_t k, Complex x, float scale) {
    store(out + k * kRow, x * scale);
  }
};
struct AsMagnitude {
  static void put(float* out, int64_t k, Complex x, float scale) {
    store_part(out + k * kFrameLanes, square_root(x.re * x.re + x.im * x.im) * scale);
  }
};
struct AsPower {
  static void put(float* out, int64_t k, Complex x, float scale) {
    store_part(out + k * kFrameLanes, (x.re * x.re + x.im * x.im) * (scale * scale));
  }
};

template <class As>
void untangle(float* out, const float* z, const Untangling& u) {
  for (int lane = 0; lane < kFrameLanes; lane += kPart) {
    const Complex first = load(z + lane);
    const Part zero = {};
    As::put(out + lane, 0, {first.re + first.im, zero}, 1);
    As::put(out + lane, u.half, {first.re - first.im, zero}, 1);
    if (u.half % 2 != 0) continue;
    const Complex middle = load(z + lane + static_cast<int64_t>(u.positions[u.half / 2]) * kRow);
    As::put(out + lane, u.half / 2, {middle.re, -middle.im}, 1);
  }
  for (int64_t k = 1; 2 * k < u.half; ++k) {
    const float* low = z + static_cast<int64_t>(u.positions[k]) * kRow;
    const float* high = z + static_cast<int64_t>(u.positions[u.half - k]) * kRow;
    for (int lane = 0; lane < kFrameLanes; lane += kPart) {
      const Complex a = load(low + lane), b = load(high + lane);
      // Twice the transforms of the even and of the odd samples.
      const Complex even = {a.re + b.re, a.im - b.im};
      const Complex odd =
          times({a.im + b.im, b.re - a.re}, u.twiddles[2 * k - 2], u.twiddles[2 * k - 1]);
      const Complex x = even + odd, y = even - odd;
      As::put(out + lane, k, x, 0.5f);
      As::put(out + lane, u.half - k, {y.re, -y.im}, 0.5f);
    }
  }
}

template <class As>
void pick(float* out, const float* z, const int32_t* positions, int64_t bins) {
  for (int64_t k = 0; k < bins; ++k)
    for (int lane = 0; lane < kFrameLanes; lane += kPart)
      As::put(out + lane, k, load(z + lane + static_cast<int64_t>(positions[k]) * kRow), 1);
}

void untangle_complex(float* out, const float* z, const Untangling& u) {
  untangle<AsComplex>(out, z, u);
}
void untangle_magnitude(float* out, const float* z, const Untangling& u) {
  untangle<AsMagnitude>(out, z, u);
}
void untangle_power(float* out, const float* z, const Untangling& u) {
  untangle<AsPower>(out, z, u);
}
void pick_complex(float* out, const float* z, const int32_t* positions, int64_t bins) {
  pick<AsComplex>(out, z, positions, bins);
}
void pick_magnitude(float* out, const float* z, const int32_t* positions, int64_t bins) {
  pick<AsMagnitude>(out, z, positions, bins);
}
void pick_power(float* out, const float* z, const int32_t* positions, int64_t bins) {
  pick<AsPower>(out, z, positions, bins);
}

void multiply_rows(float* out, const float* z, const int32_t* positions, const float* factors,
                   int64_t rows, bool conjugate) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* from = z + static_cast<int64_t>(positions[i]) * kRow;
    const float re = factors[2 * i], im = factors[2 * i + 1];
    for (int lane = 0; lane < kFrameLanes; lane += kPart) {
      Complex x = times(load(from + lane), re, im);
      if (conjugate) x.im = -x.im;
      store(out + lane + i * kRow, x);
    }
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void fft_pass(int radix, float* z, int64_t blocks, int64_t stride, const float* twiddles) {
  TORCHDALI_ISA_PICK(fft_pass)(radix, z, blocks, stride, twiddles);
}
void untangle_complex(float* out, const float* z, const Untangling& u) {
  TORCHDALI_ISA_PICK(untangle_complex)(out, z, u);
}
void untangle_magnitude(float* out, const float* z, const Untangling& u) {
  TORCHDALI_ISA_PICK(untangle_magnitude)(out, z, u);
}
void untangle_power(float* out, const float* z, const Untangling& u) {
  TORCHDALI_ISA_PICK(untangle_power)(out, z, u);
}
void pick_complex(float* out, const float* z, const int32_t* positions, int64_t bins) {
  TORCHDALI_ISA_PICK(pick_complex)(out, z, positions, bins);
}
void pick_magnitude(float* out, const float* z, const int32_t* positions, int64_t bins) {
  TORCHDALI_ISA_PICK(pick_magnitude)(out, z, positions, bins);
}
void pick_power(float* out, const float* z, const int32_t* positions, int64_t bins) {
  TORCHDALI_ISA_PICK(pick_power)(out, z, positions, bins);
}
void multiply_rows(float* out, const float* z, const int32_t* positions, const float* factors,
                   int64_t rows, bool conjugate) {
  TORCHDALI_ISA_PICK(multiply_rows)(out, z, positions, factors, rows, conjugate);
}
#endif

}  // namespace torchdali::kernels
