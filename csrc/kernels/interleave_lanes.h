// SPDX-License-Identifier: Apache-2.0
// Three planes to interleaved bytes, 32 pixels at a time. Included in the pass of each instruction
// set with AVX2, so it has no include guard and includes nothing. AVX-512 uses the same shuffles:
// those across 512 bits would not be faster.

// The order of bytes in the planes: in each 16, pixel i is at place(i).
struct InOrder {
  static constexpr int place(int pixel) { return pixel; }
};

// Three planes of 32 bytes to 96 bytes of pixels. Byte i of 48 comes from plane i % 3.
template <typename Order>
inline void interleave(__m256i x, __m256i y, __m256i z, uint8_t* out) {
  alignas(32) static constexpr auto kShuffles = [] {
    struct Table {
      int8_t at[3][3][32];
    } t{};
    for (int k = 0; k < 3; ++k)
      for (int plane = 0; plane < 3; ++plane)
        for (int i = 0; i < 32; ++i) {
          const int byte = k * 16 + i % 16;
          t.at[k][plane][i] = static_cast<int8_t>(byte % 3 == plane ? Order::place(byte / 3) : -1);
        }
    return t;
  }();
  __m256i part[3];
  for (int k = 0; k < 3; ++k) {
    const auto shuffled = [&](__m256i from, int plane) {
      return _mm256_shuffle_epi8(
          from, _mm256_load_si256(reinterpret_cast<const __m256i*>(kShuffles.at[k][plane])));
    };
    part[k] = _mm256_or_si256(_mm256_or_si256(shuffled(x, 0), shuffled(y, 1)), shuffled(z, 2));
  }
  auto* to = reinterpret_cast<__m256i*>(out);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(part[0], part[1], 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(part[2], part[0], 0x30));
  _mm256_storeu_si256(to + 2, _mm256_permute2x128_si256(part[1], part[2], 0x31));
}
