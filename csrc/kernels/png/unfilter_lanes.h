// SPDX-License-Identifier: Apache-2.0
// The registers of unfilter_cpu.cpp: lanes of 16 bits, and where the pixels of several rows are in
// them. Included in the pass of each instruction set with AVX2, so it has no include guard and
// includes nothing.

// Operations on lanes of 16 bits, for the rows of 16 bytes of samples or of 8.
struct Lanes8 {
  using Vector = __m128i;
  static Vector zero() { return _mm_setzero_si128(); }
  static Vector load(const uint16_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const Vector*>(p));
  }
  static Vector all(int16_t x) { return _mm_set1_epi16(x); }
  static Vector add(Vector a, Vector b) { return _mm_add_epi16(a, b); }
  static Vector sub(Vector a, Vector b) { return _mm_sub_epi16(a, b); }
  static Vector min(Vector a, Vector b) { return _mm_min_epi16(a, b); }
  static Vector max(Vector a, Vector b) { return _mm_max_epi16(a, b); }
  static Vector both(Vector a, Vector b) { return _mm_and_si128(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm_cmpgt_epi16(a, b); }
  static Vector half(Vector a) { return _mm_srli_epi16(a, 1); }
  static Vector choose(Vector no, Vector yes, Vector mask) {
    return _mm_blendv_epi8(no, yes, mask);
  }
};
struct Lanes16 {
  using Vector = __m256i;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const uint16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const Vector*>(p));
  }
  static Vector all(int16_t x) { return _mm256_set1_epi16(x); }
  static Vector add(Vector a, Vector b) { return _mm256_add_epi16(a, b); }
  static Vector sub(Vector a, Vector b) { return _mm256_sub_epi16(a, b); }
  static Vector min(Vector a, Vector b) { return _mm256_min_epi16(a, b); }
  static Vector max(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static Vector both(Vector a, Vector b) { return _mm256_and_si256(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm256_cmpgt_epi16(a, b); }
  static Vector half(Vector a) { return _mm256_srli_epi16(a, 1); }
  static Vector choose(Vector no, Vector yes, Vector mask) {
    return _mm256_blendv_epi8(no, yes, mask);
  }
};

uint32_t load32(const uint8_t* p) {
  uint32_t x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}

// Pixels of several rows in one register: row r is r pixels to the left of the first. Pixels of 3
// and 6 bytes take the place of 4 and 8.
template <int kPixel>
struct Pixels : Lanes8 {
  static constexpr int kLanes = kPixel == 6 ? 8 : kPixel, kRows = 8 / kLanes;
  static Vector widen(Vector bytes) { return _mm_cvtepu8_epi16(bytes); }
  static Vector widen(uint64_t bytes) {
    return widen(_mm_cvtsi64_si128(static_cast<long long>(bytes)));
  }
  // The pixel at `p`; may read up to 8 bytes.
  static Vector load_pixel(const uint8_t* p) {
    if constexpr (kLanes == 1) return _mm_cvtsi32_si128(*p);
    if constexpr (kLanes == 2) return _mm_cvtsi32_si128(p[0] | p[1] << 16);
    return widen(_mm_loadl_epi64(reinterpret_cast<const Vector*>(p)));
  }
  template <size_t... kRow>
  static Vector load_rows(const PngRow* rows, ptrdiff_t at, std::index_sequence<kRow...>) {
    Vector bytes = zero();
    const auto from = [&](size_t r) {
      return rows[r].from + at - static_cast<ptrdiff_t>(r) * kPixel;
    };
    if constexpr (kLanes == 1) ((bytes = _mm_insert_epi8(bytes, *from(kRow), kRow)), ...);
    if constexpr (kLanes == 2)
      ((bytes = _mm_insert_epi16(bytes, from(kRow)[0] | from(kRow)[1] << 8, kRow)), ...);
    if constexpr (kLanes == 8) bytes = _mm_loadl_epi64(reinterpret_cast<const Vector*>(from(0)));
    return widen(bytes);
  }
  static Vector load_rows(const PngRow* rows, ptrdiff_t at) {
    return load_rows(rows, at, std::make_index_sequence<kRows>());
  }
  // What is above each row.
  static Vector from_above(Vector before, Vector above) {
    if constexpr (kRows == 1) return above;
    else return _mm_or_si128(_mm_slli_si128(before, 2 * kLanes), above);
  }
  static uint64_t narrow(Vector x) {
    return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_packus_epi16(x, x)));
  }
  static void narrow(Vector x, uint64_t* bytes) { bytes[0] = narrow(x); }
  // Writes the places of pixels.
  static void store_rows(const PngRow* rows, int count, ptrdiff_t at, Vector x) {
    const uint64_t bytes = narrow(x);
    for (int r = 0; r < count; ++r) {
      const uint64_t pixel = bytes >> (8 * kLanes * r % 64);
      std::memcpy(rows[r].to + at - ptrdiff_t{r} * kPixel, &pixel, kLanes);
    }
  }
};

// Pairs of registers: two chains of dependencies, which run in parallel.
struct Lanes32 {
  struct Vector {
    __m256i first, second;
  };
  static Vector zero() { return {Lanes16::zero(), Lanes16::zero()}; }
  static Vector load(const uint16_t* p) { return {Lanes16::load(p), Lanes16::load(p + 16)}; }
  static Vector all(int16_t x) { return {Lanes16::all(x), Lanes16::all(x)}; }
  static Vector add(Vector a, Vector b) { return of(a, b, Lanes16::add); }
  static Vector sub(Vector a, Vector b) { return of(a, b, Lanes16::sub); }
  static Vector min(Vector a, Vector b) { return of(a, b, Lanes16::min); }
  static Vector max(Vector a, Vector b) { return of(a, b, Lanes16::max); }
  static Vector both(Vector a, Vector b) { return of(a, b, Lanes16::both); }
  static Vector greater(Vector a, Vector b) { return of(a, b, Lanes16::greater); }
  static Vector half(Vector a) { return {Lanes16::half(a.first), Lanes16::half(a.second)}; }
  static Vector choose(Vector no, Vector yes, Vector mask) {
    return {Lanes16::choose(no.first, yes.first, mask.first),
            Lanes16::choose(no.second, yes.second, mask.second)};
  }

 private:
  template <class Fn>
  static Vector of(Vector a, Vector b, Fn fn) {
    return {fn(a.first, b.first), fn(a.second, b.second)};
  }
};

template <int kPixel>
struct WidePixels : Lanes32 {
  static constexpr int kLanes = 4, kRows = 8;
  static __m256i widen(__m128i bytes) { return _mm256_cvtepu8_epi16(bytes); }
  static Vector load_pixel(const uint8_t* p) {
    return {widen(_mm_cvtsi32_si128(static_cast<int>(load32(p)))), Lanes16::zero()};
  }
  static __m256i load_four(const PngRow* rows, ptrdiff_t at) {
    const auto pixel = [&](int r) {
      return static_cast<int>(load32(rows[r].from + at - ptrdiff_t{r} * kPixel));
    };
    __m128i bytes = _mm_cvtsi32_si128(pixel(0));
    bytes = _mm_insert_epi32(bytes, pixel(1), 1);
    bytes = _mm_insert_epi32(bytes, pixel(2), 2);
    return widen(_mm_insert_epi32(bytes, pixel(3), 3));
  }
  static Vector load_rows(const PngRow* rows, ptrdiff_t at) {
    return {load_four(rows, at), load_four(rows + 4, at - 4 * kPixel)};
  }
  static Vector from_above(Vector before, Vector above) {
    // The last row of the first four is above the second four.
    return {_mm256_blend_epi32(_mm256_permute4x64_epi64(before.first, 0x90), above.first, 0x03),
            _mm256_permute4x64_epi64(_mm256_blend_epi32(before.first, before.second, 0x3F), 0x93)};
  }
  static __m128i narrow(__m256i x) {
    return _mm_packus_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  }
  static void narrow(Vector x, uint64_t* bytes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), narrow(x.first));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + 2), narrow(x.second));
  }
  static void store_four(const PngRow* rows, int count, ptrdiff_t at, __m128i packed) {
    const uint64_t bytes[2] = {static_cast<uint64_t>(_mm_cvtsi128_si64(packed)),
                               static_cast<uint64_t>(_mm_extract_epi64(packed, 1))};
    for (int r = 0; r < std::min(count, 4); ++r) {
      const auto pixel = static_cast<uint32_t>(bytes[r / 2] >> (32 * (r % 2)));
      std::memcpy(rows[r].to + at - ptrdiff_t{r} * kPixel, &pixel, sizeof(pixel));
    }
  }
  static void store_rows(const PngRow* rows, int count, ptrdiff_t at, Vector x) {
    store_four(rows, count, at, narrow(x.first));
    if (count > 4) store_four(rows + 4, count - 4, at - 4 * kPixel, narrow(x.second));
  }
};
template <>
struct Pixels<3> : WidePixels<3> {};
template <>
struct Pixels<4> : WidePixels<4> {};
