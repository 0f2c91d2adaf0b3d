// SPDX-License-Identifier: Apache-2.0
// Blocks of 32 pixels of luma and chroma to RGB, with AVX2: what yuv_scalar.h says, for factors of
// RGB. Included in the pass of each instruction set with AVX2, so it has no include guard and
// includes nothing.

// 32 pixels in two registers of 16-bit numbers. Of bytes: even and odd pixels, which takes no
// shuffles. Of 16-bit samples: pixels 0 to 7 and 16 to 23, and the others. So a pair of pixels that
// share chroma is in the same place of both registers, or in adjacent places of one.
struct Pixels {
  __m256i a, b;
};
// Two registers of chroma sums for the three channels.
struct Chroma {
  Pixels red, green, blue;
};

struct Factors {
  explicit Factors(const PixelMap& map)
      : luma(_mm256_set1_epi16(map.factor[0][0])),
        red_v(_mm256_set1_epi16(map.factor[0][2])),
        green_u(_mm256_set1_epi16(map.factor[1][1])),
        green_v(_mm256_set1_epi16(map.factor[1][2])),
        blue_u(_mm256_set1_epi16(map.factor[2][1])),
        red(_mm256_set1_epi16(map.offset[0])),
        green(_mm256_set1_epi16(map.offset[1])),
        blue(_mm256_set1_epi16(map.offset[2])) {}
  __m256i luma, red_v, green_u, green_v, blue_u, red, green, blue;
};

inline __m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m128i load_half(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m256i middle() { return _mm256_set1_epi16(INT16_MIN); }
inline __m256i high_bytes() { return _mm256_set1_epi16(static_cast<int16_t>(0xFF00)); }

// How samples are read: bytes, or words with `shift` bits missing.
struct Bytes {
  using Sample = uint8_t;
  explicit Bytes(int) {}
  // 32 samples
  Pixels pixels(const uint8_t* p) const {
    const __m256i x = _mm256_xor_si256(load(p), _mm256_set1_epi8(INT8_MIN));
    return {_mm256_slli_epi16(x, 8), _mm256_and_si256(x, high_bytes())};
  }
  // 16 samples in one register
  __m256i samples(const uint8_t* p) const {
    return _mm256_xor_si256(_mm256_slli_epi16(_mm256_cvtepu8_epi16(load_half(p)), 8), middle());
  }
  // 16 pairs of samples
  Pixels pairs(const uint8_t* p) const { return pixels(p); }
  static Pixels repeat(__m256i chroma) { return {chroma, chroma}; }
  static constexpr int place(int pixel) { return pixel % 2 * 8 + pixel / 2; }
};

struct Words {
  using Sample = uint16_t;
  explicit Words(int bits) : shift(_mm_cvtsi32_si128(bits)) {}
  __m256i center(__m256i x) const { return _mm256_xor_si256(_mm256_sll_epi16(x, shift), middle()); }
  __m256i halves(const uint8_t* p) const {
    return center(
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(p)), load_half(p + 32), 1));
  }
  Pixels pixels(const uint8_t* p) const { return {halves(p), halves(p + 16)}; }
  __m256i samples(const uint8_t* p) const { return center(load(p)); }
  Pixels pairs(const uint8_t* p) const {
    const __m256i low = load(p), high = load(p + 32), even = _mm256_set1_epi32(0xFFFF);
    const __m256i u =
        _mm256_packus_epi32(_mm256_and_si256(low, even), _mm256_and_si256(high, even));
    const __m256i v = _mm256_packus_epi32(_mm256_srli_epi32(low, 16), _mm256_srli_epi32(high, 16));
    constexpr int kMiddleSwapped = 0xD8;
    return {center(_mm256_permute4x64_epi64(u, kMiddleSwapped)),
            center(_mm256_permute4x64_epi64(v, kMiddleSwapped))};
  }
  static Pixels repeat(__m256i chroma) {
    return {_mm256_unpacklo_epi16(chroma, chroma), _mm256_unpackhi_epi16(chroma, chroma)};
  }
  static constexpr int place(int pixel) { return pixel; }
  __m128i shift;
};

inline __m256i red_of(const Factors& f, __m256i v) {
  return _mm256_add_epi16(f.red, _mm256_mulhi_epi16(v, f.red_v));
}
inline __m256i green_of(const Factors& f, __m256i u, __m256i v) {
  return _mm256_add_epi16(_mm256_add_epi16(f.green, _mm256_mulhi_epi16(u, f.green_u)),
                          _mm256_mulhi_epi16(v, f.green_v));
}
inline __m256i blue_of(const Factors& f, __m256i u) {
  return _mm256_add_epi16(f.blue, _mm256_mulhi_epi16(u, f.blue_u));
}

inline __m256i sum(__m256i luma, __m256i chroma) {
  return _mm256_srai_epi16(_mm256_add_epi16(luma, chroma), yuv_scalar::kFractionBits);
}
inline __m256i bytes(const Pixels& luma, const Pixels& chroma) {
  return _mm256_packus_epi16(sum(luma.a, chroma.a), sum(luma.b, chroma.b));
}

// How chroma is stored: for each pixel, for each pair of pixels, for pairs as U and V in turn, or V
// and U; the last two begin at `u`.
enum class ChromaOrder : int8_t { kEach, kPairs, kUv, kVu };

template <typename Source, ChromaOrder kOrder>
void block(const Source& source, const Factors& f, const uint8_t* y, const uint8_t* u,
           const uint8_t* v, uint8_t* out) {
  Chroma chroma;
  if constexpr (kOrder != ChromaOrder::kEach) {
    Pixels uv;
    if constexpr (kOrder == ChromaOrder::kPairs) uv = {source.samples(u), source.samples(v)};
    else uv = source.pairs(u);
    if constexpr (kOrder == ChromaOrder::kVu) uv = {uv.b, uv.a};
    chroma = {Source::repeat(red_of(f, uv.b)), Source::repeat(green_of(f, uv.a, uv.b)),
              Source::repeat(blue_of(f, uv.a))};
  } else {
    const Pixels us = source.pixels(u), vs = source.pixels(v);
    chroma = {{red_of(f, vs.a), red_of(f, vs.b)},
              {green_of(f, us.a, vs.a), green_of(f, us.b, vs.b)},
              {blue_of(f, us.a), blue_of(f, us.b)}};
  }
  Pixels luma = source.pixels(y);
  luma = {_mm256_mulhi_epi16(luma.a, f.luma), _mm256_mulhi_epi16(luma.b, f.luma)};
  interleave<Source>(bytes(luma, chroma.red), bytes(luma, chroma.green), bytes(luma, chroma.blue),
                     out);
}

template <typename Source, ChromaOrder kOrder>
void yuv_row(const PixelMap& map, int shift, const uint8_t* y, const uint8_t* u, const uint8_t* v,
             int64_t n, uint8_t* out) {
  constexpr int64_t kStep = 32, kSize = sizeof(typename Source::Sample);
  constexpr bool kTogether = kOrder == ChromaOrder::kUv || kOrder == ChromaOrder::kVu;
  constexpr int64_t kChromaStep = kOrder == ChromaOrder::kPairs ? kStep / 2 : kStep;
  const Source source(shift);
  const Factors factors(map);
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    block<Source, kOrder>(source, factors, y, u, v, out);
    y += kStep * kSize;
    u += kChromaStep * kSize;
    if (!kTogether) v += kChromaStep * kSize;
    out += 3 * kStep;
  }
  if (i == n) return;
  uint8_t rest[3][kStep * kSize], pixels[3 * kStep];
  const int64_t left = n - i, pairs = (left + 1) / 2;
  const int64_t chroma = kTogether ? 2 * pairs : kOrder == ChromaOrder::kPairs ? pairs : left;
  std::memcpy(rest[0], y, static_cast<size_t>(left * kSize));
  std::memcpy(rest[1], u, static_cast<size_t>(chroma * kSize));
  if (!kTogether) std::memcpy(rest[2], v, static_cast<size_t>(chroma * kSize));
  block<Source, kOrder>(source, factors, rest[0], rest[1], rest[2], pixels);
  std::memcpy(out, pixels, static_cast<size_t>(3 * left));
}

template <typename Source>
auto row_function(const PictureRows& rows) {
  if (rows.shift_x[1] == 0) return &yuv_row<Source, ChromaOrder::kEach>;
  if (rows.step[1] == 1) return &yuv_row<Source, ChromaOrder::kPairs>;
  return rows.first[1] < rows.first[2] ? &yuv_row<Source, ChromaOrder::kUv>
                                       : &yuv_row<Source, ChromaOrder::kVu>;
}
