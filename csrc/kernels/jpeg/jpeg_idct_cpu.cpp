// SPDX-License-Identifier: Apache-2.0
// The transform of C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT algorithms with
// 11 multiplications" (ICASSP 1989), on columns, then on rows, with 13 bits of fraction in the
// constants and 2 more bits between the passes. Sums of two products are one pmaddwd: a rotation
// (x, y) -> (x a + y b, x c + y d). Sums before a product are truncated to 16 bits, and results of
// a pass saturate, which determines the results of overflows.
#include <cstring>

#include "kernels/jpeg/jpeg_idct.h"
#include "kernels/jpeg/jpeg_idct_scalar.h"

#define TORCHDALI_ISA_FILE "kernels/jpeg/jpeg_idct_cpu.cpp"
#include "kernels/foreach_isa.h"

#ifndef TORCHDALI_JPEG_IDCT_ONCE
#define TORCHDALI_JPEG_IDCT_ONCE
namespace torchdali::kernels {
namespace {

using namespace jpeg_idct_scalar;  // NOLINT(google-build-using-namespace)

// One block of a group, one number at a time: without vectors, and for numbers that overflow.
void one_block(const int16_t* in, const int16_t* quant, uint8_t* out, int64_t stride) {
  constexpr int kRow = kJpegGroup * 8;
  int16_t work[64];
  bool flat = true;  // whether only the first row has coefficients
  for (int i = 0; i < 64; ++i) {
    const int16_t c = in[i / 8 * kRow + i % 8];
    work[i] = wrap(c * quant[i]);
    flat = flat && (i < 8 || c == 0);
  }
  for (int x = 0; x < 8; ++x) {
    if (flat) {
      const int16_t same = flat_column(work[x]);
      for (int y = 0; y < 8; ++y) work[y * 8 + x] = same;
    } else {
      transform_one<kColumnShift>(work + x, 8);
    }
  }
  for (int y = 0; y < 8; ++y) {
    transform_one<kRowShift>(work + y * 8, 1);
    for (int x = 0; x < 8; ++x) out[y * stride + x] = to_sample(work[y * 8 + x]);
  }
}

}  // namespace
}  // namespace torchdali::kernels
#endif

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_PASSES > 1

#include "kernels/jpeg/jpeg_dct_lanes.h"

inline void transform_group(int16_t* in, const int16_t* quant, uint8_t* out, int64_t stride) {
  constexpr int kBlocks = sizeof(V) / 16, kRow = kJpegGroup * 8;
  // Above this the first row overflows between the passes, and shortcuts change results.
  constexpr int16_t kBound = 32767 >> kBetween;
  for (int b = 0; b < kJpegGroup; b += kBlocks) {
    V r[8];
    int16_t* p = in + b * 8;
    for (int i = 0; i < 8; ++i)
      r[i] = TORCHDALI_MM(mullo_epi16)(load(p + i * kRow), broadcast8(quant + i * 8));
    if (any_beyond(r[0], kBound)) [[unlikely]] {
      for (int i = 0; i < kBlocks; ++i) one_block(p + i * 8, quant, out + (b + i) * 8, stride);
    } else {
      transform<kColumnShift>(r);
      transpose(r);
      transform<kRowShift>(r);
      store(r, out + b * 8, stride);
    }
    for (int i = 0; i < 8; ++i) clear(p + i * kRow);
  }
}
#undef TORCHDALI_MM

#else
inline void transform_group(int16_t* in, const int16_t* quant, uint8_t* out, int64_t stride) {
  for (int b = 0; b < kJpegGroup; ++b) one_block(in + b * 8, quant, out + b * 8, stride);
  std::memset(in, 0, kJpegGroupSize * sizeof(*in));
}
#endif

void idct(int16_t* coefficients, const uint8_t* last, int64_t groups, const int16_t* quant,
          uint8_t* out, int64_t stride) {
  for (int64_t g = 0; g < groups; ++g, coefficients += kJpegGroupSize, last += 4, out += 32) {
    uint32_t any;
    std::memcpy(&any, last, sizeof(any));
    if (any != 0) {
      transform_group(coefficients, quant, out, stride);
      continue;
    }
    uint8_t row[32];
    for (int b = 0; b < kJpegGroup; ++b) {
      std::memset(row + b * 8, dc_sample(coefficients[b * 8], quant[0]), 8);
      coefficients[b * 8] = 0;
    }
    for (int y = 0; y < 8; ++y) std::memcpy(out + y * stride, row, sizeof(row));
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void jpeg_idct(int16_t* coefficients, const uint8_t* last, int64_t groups, const int16_t* quant,
               uint8_t* out, int64_t stride) {
  TORCHDALI_ISA_PICK(idct)(coefficients, last, groups, quant, out, stride);
}
#endif

}  // namespace torchdali::kernels
