// SPDX-License-Identifier: Apache-2.0
// dct.h, once per instruction set.
#include <cstring>

#include "core/audio/frame_lanes.h"
#include "kernels/audio_features/dct.h"

#define TORCHDALI_ISA_FILE "kernels/audio_features/dct_cpu.cpp"
#include "kernels/foreach_isa.h"
// In each pass.
#include "kernels/audio_features/lanes.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

// Several coefficients at once, so that additions do not wait for each other.
template <int kCount>
inline void dot_rows(float* __restrict out, const float* __restrict in,
                     const float* __restrict weights, int64_t size) {
  Lanes sums[kCount] = {};
  for (int64_t n = 0; n < size; ++n) {
    Lanes x;
    load(x, in + n * kFrameLanes);
    for (int k = 0; k < kCount; ++k) sums[k] += x * weights[k * size + n];
  }
  for (int k = 0; k < kCount; ++k) store(out + k * kFrameLanes, sums[k]);
}

void apply_dct(float* __restrict out, const float* __restrict in, const DctMatrix& dct) {
  constexpr int kBlock = TORCHDALI_ISA_LEVEL == 2 ? 8 : TORCHDALI_ISA_LEVEL == 1 ? 4 : 2;
  const float* weights = dct.values.data();
  int64_t k = 0;
  for (; k + kBlock <= dct.coefficients; k += kBlock)
    dot_rows<kBlock>(out + k * kFrameLanes, in, weights + k * dct.size, dct.size);
  for (; k < dct.coefficients; ++k)
    dot_rows<1>(out + k * kFrameLanes, in, weights + k * dct.size, dct.size);
}

}  // namespace TORCHDALI_ISA_NAMESPACE
#if TORCHDALI_ISA_LAST
void apply_dct(float* out, const float* in, const DctMatrix& dct) {
  TORCHDALI_ISA_PICK(apply_dct)(out, in, dct);
}
#endif
}  // namespace torchdali::kernels
