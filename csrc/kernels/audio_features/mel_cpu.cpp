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

// Each frequency is read once, for the filter that rises there and the one that falls.
void apply_mel(float* __restrict out, const float* __restrict in, const MelBank& bank) {
  const int32_t* start = bank.start.data();
  const float* rising = bank.rising.data();
  const float* falling = bank.falling.data();
  Lanes fall = {};
  for (int f = 0; f <= bank.filters; ++f) {
    Lanes rise = {};
    for (int32_t b = start[f]; b < start[f + 1]; ++b) {
      Lanes x;
      load(x, in + int64_t{b} * kFrameLanes);
      rise += x * rising[b];
      fall += x * falling[b];
    }
    if (f > 0) store(out + int64_t{f - 1} * kFrameLanes, fall);
    fall = rise;
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE
#if TORCHDALI_ISA_LAST
void apply_mel(float* out, const float* in, const MelBank& bank) {
  TORCHDALI_ISA_PICK(apply_mel)(out, in, bank);
}
#endif
}  // namespace torchdali::kernels
