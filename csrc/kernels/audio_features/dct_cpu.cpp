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
inline void dot_rows(FrameRows<float> out, FrameRows<const float> in, const float* weights,
                     int64_t size) {
  Part sums[kCount] = {};
  for (int64_t n = 0; n < size; ++n) {
    const Part x = load_part(in.data + n * in.stride);
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) sums[k] += x * weights[k * size + n];
  }
  for (int k = 0; k < kCount; ++k) store_part(out.data + k * out.stride, sums[k]);
}

void apply_dct(FrameRows<float> out, FrameRows<const float> in, int64_t frames,
               const DctMatrix& dct) {
  for (int64_t first = 0; first < frames; first += kPart) {
    int64_t k = 0;
    const auto transform = [&]<int kCount>() {
      for (; dct.coefficients - k >= kCount; k += kCount)
        dot_rows<kCount>({out.data + k * out.stride + first, out.stride}, in.from(first),
                         dct.values.data() + k * dct.size, dct.size);
    };
    transform.template operator()<8>();
    transform.template operator()<4>();
    transform.template operator()<1>();
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE
#if TORCHDALI_ISA_LAST
void apply_dct(FrameRows<float> out, FrameRows<const float> in, int64_t frames,
               const DctMatrix& dct) {
  TORCHDALI_ISA_PICK(apply_dct)(out, in, frames, dct);
}
#endif
}  // namespace torchdali::kernels
