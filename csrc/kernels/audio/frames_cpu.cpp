// SPDX-License-Identifier: Apache-2.0
// frames.h, once per instruction set.
#include "kernels/audio/frames.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#define TORCHDALI_ISA_FILE "kernels/audio/frames_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

// The lanes of a tile are computed in parts, which are vectors.
inline constexpr int kPart = 4 << TORCHDALI_ISA_LEVEL;
using Part [[gnu::vector_size(4 * kPart)]] = float;

// Four samples of kPart / 4 frames, every fourth one from `in` on.
inline Part load_fours(const float* in, [[maybe_unused]] int64_t step) {
#if TORCHDALI_ISA_LEVEL == 2
  __m512 x = _mm512_castps128_ps512(_mm_loadu_ps(in));
  x = _mm512_mask_broadcast_f32x4(x, 0x00f0, _mm_loadu_ps(in + 4 * step));
  x = _mm512_mask_broadcast_f32x4(x, 0x0f00, _mm_loadu_ps(in + 8 * step));
  return _mm512_mask_broadcast_f32x4(x, 0xf000, _mm_loadu_ps(in + 12 * step));
#elif TORCHDALI_ISA_LEVEL == 1
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in)), _mm_loadu_ps(in + 4 * step),
                              1);
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

void load_frames(float* __restrict tile, const float* __restrict signal, int64_t step,
                 const float* __restrict window, int64_t length) {
  int64_t n = 0;
  for (; n + 4 <= length; n += 4) {
    for (int lane = 0; lane < kFrameLanes; lane += kPart) {
      const float* in = signal + lane * step + n;
      // Four frames side by side in each four elements, four samples of each: transposed.
      const Part a = load_fours(in, step), b = load_fours(in + step, step);
      const Part c = load_fours(in + 2 * step, step), d = load_fours(in + 3 * step, step);
      const Part low_ab = pick<0, 4, 1, 5>(a, b), high_ab = pick<2, 6, 3, 7>(a, b);
      const Part low_cd = pick<0, 4, 1, 5>(c, d), high_cd = pick<2, 6, 3, 7>(c, d);
      const Part rows[4] = {pick<0, 1, 4, 5>(low_ab, low_cd), pick<2, 3, 6, 7>(low_ab, low_cd),
                            pick<0, 1, 4, 5>(high_ab, high_cd), pick<2, 3, 6, 7>(high_ab, high_cd)};
      for (int i = 0; i < 4; ++i) {
        const Part product = rows[i] * window[n + i];
        std::memcpy(tile + (n + i) * kFrameLanes + lane, &product, sizeof(Part));
      }
    }
  }
  for (; n < length; ++n)
    for (int lane = 0; lane < kFrameLanes; ++lane)
      tile[n * kFrameLanes + lane] = signal[lane * step + n] * window[n];
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void load_frames(float* tile, const float* signal, int64_t step, const float* window,
                 int64_t length) {
  TORCHDALI_ISA_PICK(load_frames)(tile, signal, step, window, length);
}

void hann_window(float* window, int64_t length) {
  for (int64_t i = 0; i < length; ++i) {
    const double s =
        std::sin(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(length));
    window[i] = static_cast<float>(s * s);
  }
}
#endif

}  // namespace torchdali::kernels
