// SPDX-License-Identifier: Apache-2.0
// Vectors of the lanes of a tile, and the transposition of floats. Included in the pass of each
// instruction set, so it has no include guard and includes nothing: <cstring> and <utility> are the
// including file's.

// The lanes of a tile are computed in parts, which are vectors. Every lane sees the same operations
// in the same order, whatever their width.
inline constexpr int kPart = 4 << TORCHDALI_ISA_LEVEL;
using Part [[gnu::vector_size(4 * kPart)]] = float;

inline void store_part(float* to, Part x) { std::memcpy(to, &x, sizeof(Part)); }

// Four floats of every fourth one of kPart lines, which are `stride` apart.
inline Part load_fours(const float* in, [[maybe_unused]] int64_t stride) {
#if TORCHDALI_ISA_LEVEL == 2
  __m512 x = _mm512_castps128_ps512(_mm_loadu_ps(in));
  x = _mm512_mask_broadcast_f32x4(x, 0x00f0, _mm_loadu_ps(in + 4 * stride));
  x = _mm512_mask_broadcast_f32x4(x, 0x0f00, _mm_loadu_ps(in + 8 * stride));
  return _mm512_mask_broadcast_f32x4(x, 0xf000, _mm_loadu_ps(in + 12 * stride));
#elif TORCHDALI_ISA_LEVEL == 1
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in)),
                              _mm_loadu_ps(in + 4 * stride), 1);
#else
  Part x;
  std::memcpy(&x, in, sizeof(Part));
  return x;
#endif
}

// In each four elements: elements A, B, C, D of those of x (0 to 3) and y (4 to 7).
template <int A, int B, int C, int D>
inline Part pick(Part x, Part y) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    constexpr int kFrom[4] = {A, B, C, D};
    return __builtin_shufflevector(x, y,
                                   (kFrom[I % 4] % 4 + I / 4 * 4 + kFrom[I % 4] / 4 * kPart)...);
  }(std::make_integer_sequence<int, kPart>());
}

// columns[i] has element i of kPart lines, which are `stride` apart.
inline void transpose_fours(Part (&columns)[4], const float* in, int64_t stride) {
  // Four elements of four lines side by side, in each four elements of a vector.
  const Part a = load_fours(in, stride), b = load_fours(in + stride, stride);
  const Part c = load_fours(in + 2 * stride, stride), d = load_fours(in + 3 * stride, stride);
  const Part low_ab = pick<0, 4, 1, 5>(a, b), high_ab = pick<2, 6, 3, 7>(a, b);
  const Part low_cd = pick<0, 4, 1, 5>(c, d), high_cd = pick<2, 6, 3, 7>(c, d);
  columns[0] = pick<0, 1, 4, 5>(low_ab, low_cd);
  columns[1] = pick<2, 3, 6, 7>(low_ab, low_cd);
  columns[2] = pick<0, 1, 4, 5>(high_ab, high_cd);
  columns[3] = pick<2, 3, 6, 7>(high_ab, high_cd);
}
