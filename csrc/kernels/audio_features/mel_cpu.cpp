// SPDX-License-Identifier: Apache-2.0
// mel.h, once per instruction set.
#include <cstring>

#include "core/audio/frame_lanes.h"
#include "kernels/audio_features/mel.h"

#define TORCHDALI_ISA_FILE "kernels/audio_features/mel_cpu.cpp"
#include "kernels/foreach_isa.h"
// In each pass.
#include "kernels/audio_features/lanes.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

// Each frequency is read once, for the filter that rises there and the one that falls. Some parts
// at once, so that additions do not wait for each other.
template <int kParts>
inline void filter_parts(FrameRows<float> out, FrameRows<const float> in, const MelBank& bank) {
  const int32_t* start = bank.start.data();
  const float* rising = bank.rising.data();
  const float* falling = bank.falling.data();
  Part fall[kParts] = {};
  for (int f = 0; f <= bank.filters; ++f) {
    Part rise[kParts] = {};
    for (int32_t b = start[f]; b < start[f + 1]; ++b)
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) {
        const Part x = load_part(in.data + b * in.stride + p * kPart);
        rise[p] += x * rising[b];
        fall[p] += x * falling[b];
      }
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      if (f > 0) store_part(out.data + (f - 1) * out.stride + p * kPart, fall[p]);
      fall[p] = rise[p];
    }
  }
}

void apply_mel(FrameRows<float> out, FrameRows<const float> in, int64_t frames,
               const MelBank& bank) {
  int64_t first = 0;
  const auto filter = [&]<int kParts>() {
    for (; frames - first >= kParts * kPart; first += kParts * kPart)
      filter_parts<kParts>(out.from(first), in.from(first), bank);
  };
  filter.template operator()<4>();
  filter.template operator()<2>();
  filter.template operator()<1>();
}

}  // namespace TORCHDALI_ISA_NAMESPACE
#if TORCHDALI_ISA_LAST
void apply_mel(FrameRows<float> out, FrameRows<const float> in, int64_t frames,
               const MelBank& bank) {
  TORCHDALI_ISA_PICK(apply_mel)(out, in, frames, bank);
}
#endif
}  // namespace torchdali::kernels
