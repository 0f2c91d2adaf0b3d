// SPDX-License-Identifier: Apache-2.0
// decibels.h, once per instruction set.
#include "kernels/audio_features/decibels.h"
#include "kernels/independent_iterations.h"

#define TORCHDALI_ISA_FILE "kernels/audio_features/decibels_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

void to_decibels(float* out, const float* in, int64_t count, DecibelScale scale) {
  TORCHDALI_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) out[i] = decibels_of(in[i], scale);
}

float greatest_or_zero(const float* in, int64_t count) {
  constexpr int kLanes = 64;  // GCC does not vectorize a maximum that ignores NaN
  float most[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int j = 0; j < kLanes; ++j) most[j] = in[i + j] > most[j] ? in[i + j] : most[j];
  for (; i < count; ++i) most[0] = in[i] > most[0] ? in[i] : most[0];
  for (int j = 1; j < kLanes; ++j) most[0] = most[j] > most[0] ? most[j] : most[0];
  return most[0];
}

}  // namespace TORCHDALI_ISA_NAMESPACE
#if TORCHDALI_ISA_LAST
void to_decibels(float* out, const float* in, int64_t count, const DecibelScale& scale) {
  TORCHDALI_ISA_PICK(to_decibels)(out, in, count, scale);
}
float greatest_or_zero(const float* in, int64_t count) {
  return TORCHDALI_ISA_PICK(greatest_or_zero)(in, count);
}
#endif
}  // namespace torchdali::kernels
