// SPDX-License-Identifier: Apache-2.0
// Registers of 16-bit numbers for jpeg_idct_cpu.cpp and jpeg_requantize_cpu.cpp: in each 128 bits a
// row or column of a block of its own, and the inverse DCT on them. Included in the pass of each
// instruction set of x86, so it has no include guard and includes nothing; jpeg_idct_scalar.h comes
// before it, and TORCHDALI_MM is undefined by who includes it.

#if TORCHDALI_ISA_LEVEL == 2
#define TORCHDALI_MM(op) _mm512_##op
using V = __m512i;
inline V load(const int16_t* p) { return _mm512_load_si512(p); }
inline V broadcast8(const int16_t* p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void clear(int16_t* p) { _mm512_store_si512(p, _mm512_setzero_si512()); }
inline V zero() { return _mm512_setzero_si512(); }
inline bool any_beyond(V x, int16_t bound) {
  const V b = _mm512_set1_epi16(bound);
  return (_mm512_cmpgt_epi16_mask(x, b) |
          _mm512_cmplt_epi16_mask(x, _mm512_sub_epi16(zero(), b))) != 0;
}
// x: in each 128 bits, row `y` of a block, then row y + 1.
inline void store_rows(V x, uint8_t* out, int64_t stride) {
  const V rows = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), x);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(rows));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + stride), _mm512_extracti64x4_epi64(rows, 1));
}
#elif TORCHDALI_ISA_LEVEL == 1
#define TORCHDALI_MM(op) _mm256_##op
using V = __m256i;
inline V load(const int16_t* p) { return _mm256_load_si256(reinterpret_cast<const V*>(p)); }
inline V broadcast8(const int16_t* p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void clear(int16_t* p) {
  _mm256_store_si256(reinterpret_cast<V*>(p), _mm256_setzero_si256());
}
inline V zero() { return _mm256_setzero_si256(); }
inline bool any_beyond(V x, int16_t bound) {
  // -32768 has no absolute value in 16 bits, so both signs are compared.
  const V b = _mm256_set1_epi16(bound);
  const V beyond =
      _mm256_or_si256(_mm256_cmpgt_epi16(x, b), _mm256_cmpgt_epi16(_mm256_sub_epi16(zero(), b), x));
  return _mm256_movemask_epi8(beyond) != 0;
}
inline void store_rows(V x, uint8_t* out, int64_t stride) {
  const V rows = _mm256_permute4x64_epi64(x, 0xD8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(rows));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + stride), _mm256_extracti128_si256(rows, 1));
}
#else
#define TORCHDALI_MM(op) _mm_##op
using V = __m128i;
inline V load(const int16_t* p) { return _mm_load_si128(reinterpret_cast<const V*>(p)); }
inline V broadcast8(const int16_t* p) { return _mm_loadu_si128(reinterpret_cast<const V*>(p)); }
inline void clear(int16_t* p) { _mm_store_si128(reinterpret_cast<V*>(p), _mm_setzero_si128()); }
inline V zero() { return _mm_setzero_si128(); }
inline bool any_beyond(V x, int16_t bound) {
  const V b = _mm_set1_epi16(bound);
  const V beyond =
      _mm_or_si128(_mm_cmpgt_epi16(x, b), _mm_cmpgt_epi16(_mm_sub_epi16(zero(), b), x));
  return _mm_movemask_epi8(beyond) != 0;
}
inline void store_rows(V x, uint8_t* out, int64_t stride) {
  _mm_storel_epi64(reinterpret_cast<V*>(out), x);
  _mm_storel_epi64(reinterpret_cast<V*>(out + stride), _mm_unpackhi_epi64(x, x));
}
#endif

// 32-bit numbers of the low and the high half of each 128 bits.
struct Wide {
  V low, high;
};
inline Wide operator+(Wide a, Wide b) {
  return {TORCHDALI_MM(add_epi32)(a.low, b.low), TORCHDALI_MM(add_epi32)(a.high, b.high)};
}
inline Wide operator-(Wide a, Wide b) {
  return {TORCHDALI_MM(sub_epi32)(a.low, b.low), TORCHDALI_MM(sub_epi32)(a.high, b.high)};
}

inline V pair(int16_t a, int16_t b) {
  return TORCHDALI_MM(set1_epi32)(static_cast<int32_t>(
      static_cast<uint32_t>(static_cast<uint16_t>(b)) << 16 | static_cast<uint16_t>(a)));
}

struct Rotated {
  Wide first, second;
};
inline Rotated rotate(V x, V y, Rotation r) {
  const V low = TORCHDALI_MM(unpacklo_epi16)(x, y), high = TORCHDALI_MM(unpackhi_epi16)(x, y);
  const V ab = pair(r.a, r.b), cd = pair(r.c, r.d);
  return {{TORCHDALI_MM(madd_epi16)(low, ab), TORCHDALI_MM(madd_epi16)(high, ab)},
          {TORCHDALI_MM(madd_epi16)(low, cd), TORCHDALI_MM(madd_epi16)(high, cd)}};
}

// x * 2^13 in 32 bits.
inline Wide widen(V x) {
  constexpr int kShift = 16 - kFraction;
  return {TORCHDALI_MM(srai_epi32)(TORCHDALI_MM(unpacklo_epi16)(zero(), x), kShift),
          TORCHDALI_MM(srai_epi32)(TORCHDALI_MM(unpackhi_epi16)(zero(), x), kShift)};
}

template <int kShift>
inline V narrow(Wide x) {
  const V half = TORCHDALI_MM(set1_epi32)(1 << (kShift - 1));
  return TORCHDALI_MM(packs_epi32)(
      TORCHDALI_MM(srai_epi32)(TORCHDALI_MM(add_epi32)(x.low, half), kShift),
      TORCHDALI_MM(srai_epi32)(TORCHDALI_MM(add_epi32)(x.high, half), kShift));
}

template <int kShift>
inline void transform(V r[8]) {
  const Rotated e = rotate(r[2], r[6], kEven);
  const Wide e0 = widen(TORCHDALI_MM(add_epi16)(r[0], r[4]));
  const Wide e1 = widen(TORCHDALI_MM(sub_epi16)(r[0], r[4]));
  const Wide even[4] = {e0 + e.second, e1 + e.first, e1 - e.first, e0 - e.second};
  const Rotated s =
      rotate(TORCHDALI_MM(add_epi16)(r[7], r[3]), TORCHDALI_MM(add_epi16)(r[5], r[1]), kOdd);
  const Rotated a = rotate(r[7], r[1], kOdd71), b = rotate(r[5], r[3], kOdd53);
  const Wide odd[4] = {a.second + s.second, b.second + s.first, b.first + s.second,
                       a.first + s.first};
  for (int i = 0; i < 4; ++i) {
    r[i] = narrow<kShift>(even[i] + odd[i]);
    r[7 - i] = narrow<kShift>(even[i] - odd[i]);
  }
}

// In each 128 bits, an 8 x 8 matrix.
inline void transpose(V r[8]) {
  V a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = TORCHDALI_MM(unpacklo_epi16)(r[2 * i], r[2 * i + 1]);
    a[2 * i + 1] = TORCHDALI_MM(unpackhi_epi16)(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int k = 0; k < 2; ++k) {
      b[i + 2 * k] = TORCHDALI_MM(unpacklo_epi32)(a[i + k], a[i + k + 2]);
      b[i + 2 * k + 1] = TORCHDALI_MM(unpackhi_epi32)(a[i + k], a[i + k + 2]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    r[2 * i] = TORCHDALI_MM(unpacklo_epi64)(b[i], b[i + 4]);
    r[2 * i + 1] = TORCHDALI_MM(unpackhi_epi64)(b[i], b[i + 4]);
  }
}

// Columns of 16-bit samples to rows of bytes.
inline void store(const V c[8], uint8_t* out, int64_t stride) {
  const V offset = TORCHDALI_MM(set1_epi8)(-128);
  V bytes[4];  // columns 0 and 2, 1 and 3, 4 and 6, 5 and 7
  for (int i = 0; i < 4; ++i) {
    const int column = (i & 1) + (i & 2) * 2;
    bytes[i] = TORCHDALI_MM(add_epi8)(TORCHDALI_MM(packs_epi16)(c[column], c[column + 2]), offset);
  }
  const V c01 = TORCHDALI_MM(unpacklo_epi8)(bytes[0], bytes[1]);
  const V c23 = TORCHDALI_MM(unpackhi_epi8)(bytes[0], bytes[1]);
  const V c45 = TORCHDALI_MM(unpacklo_epi8)(bytes[2], bytes[3]);
  const V c67 = TORCHDALI_MM(unpackhi_epi8)(bytes[2], bytes[3]);
  const V low0 = TORCHDALI_MM(unpacklo_epi16)(c01, c23);  // rows 0 to 3
  const V low4 = TORCHDALI_MM(unpackhi_epi16)(c01, c23);
  const V high0 = TORCHDALI_MM(unpacklo_epi16)(c45, c67);
  const V high4 = TORCHDALI_MM(unpackhi_epi16)(c45, c67);
  store_rows(TORCHDALI_MM(unpacklo_epi32)(low0, high0), out, stride);
  store_rows(TORCHDALI_MM(unpackhi_epi32)(low0, high0), out + 2 * stride, stride);
  store_rows(TORCHDALI_MM(unpacklo_epi32)(low4, high4), out + 4 * stride, stride);
  store_rows(TORCHDALI_MM(unpackhi_epi32)(low4, high4), out + 6 * stride, stride);
}
