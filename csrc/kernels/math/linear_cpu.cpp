// SPDX-License-Identifier: Apache-2.0
// linear.h, once per instruction set.
#include <algorithm>

#include "kernels/color/byte_table.h"
#include "kernels/convert.h"
#include "kernels/math/linear.h"

#define TORCHDALI_ISA_FILE "kernels/math/linear_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL >= 1
// round_to_byte() of eight values; packing saturates negative ones.
inline __m256i linear_8(const uint8_t* in, __m256 factor, __m256 offset) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in));
  const __m256 value = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
  __m256 x = _mm256_add_ps(_mm256_mul_ps(value, factor), offset);
  x = _mm256_add_ps(x, _mm256_set1_ps(0x1.fffffep-2f));
  x = _mm256_max_ps(x, _mm256_setzero_ps());  // 0 for NaN
  return _mm256_cvttps_epi32(_mm256_min_ps(x, _mm256_set1_ps(255.0f)));
}

// Returns how many of `count` bytes it has done. The loop as GCC 12 vectorizes it takes 3.4 times
// as long with AVX2, and 1.8 times with AVX-512.
inline int64_t linear_wide(uint8_t* out, const uint8_t* in, int64_t count, float factor,
                           float offset) {
  constexpr int64_t kStep = 32;
  const __m256 f = _mm256_set1_ps(factor), o = _mm256_set1_ps(offset);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // packing interleaves halves
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    const __m256i low = _mm256_packs_epi32(linear_8(in + i, f, o), linear_8(in + i + 8, f, o));
    const __m256i high =
        _mm256_packs_epi32(linear_8(in + i + 16, f, o), linear_8(in + i + 24, f, o));
    const __m256i bytes = _mm256_packus_epi16(low, high);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_permutevar8x32_epi32(bytes, order));
  }
  return i;
}
#else
inline int64_t linear_wide(uint8_t* /*out*/, const uint8_t* /*in*/, int64_t /*count*/,
                           float /*factor*/, float /*offset*/) {
  return 0;
}
#endif

void linear_bytes(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                  float factor, float offset) {
#if TORCHDALI_ISA_LEVEL > 1
  // Lookups take 0.8 times as long as the arithmetic, with images in memory.
  if (constexpr int64_t kMany = 4096; count >= kMany) {
    uint8_t values[256];
    for (int v = 0; v < 256; ++v) values[v] = static_cast<uint8_t>(v);
    ByteTable table;
    linear_bytes(table, values, 256, factor, offset);
    return look_up_bytes(out, in, count, &table, 1);
  }
#endif
  for (int64_t i = linear_wide(out, in, count, factor, offset); i < count; ++i)
    out[i] = round_to_byte(static_cast<float>(in[i]) * factor + offset);
}
void linear_line(float* x, int64_t count, float factor, float offset) {
  for (int64_t i = 0; i < count; ++i) x[i] = x[i] * factor + offset;
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void linear(void* out, DType to, const void* in, DType from, int64_t count, float factor,
            float offset) {
  if (to == DType::kUInt8 && from == DType::kUInt8) {
    TORCHDALI_ISA_PICK(linear_bytes)
    (static_cast<uint8_t*>(out), static_cast<const uint8_t*>(in), count, factor, offset);
    return;
  }
  const auto line = TORCHDALI_ISA_PICK(linear_line);
  in_float_blocks(out, to, in, from, count, 1,
                  [=](float* x, int64_t n) { line(x, n, factor, offset); });
}
#endif

}  // namespace torchdali::kernels
