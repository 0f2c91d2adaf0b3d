// SPDX-License-Identifier: Apache-2.0
// preemphasis.h, once per instruction set.
#include "kernels/audio_features/preemphasis.h"

#define TORCHDALI_ISA_FILE "kernels/audio_features/preemphasis_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

template <class T>
void preemphasize(T* __restrict out, const T* __restrict x, int64_t count, T coefficient) {
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] - coefficient * x[i - 1];
}

}  // namespace TORCHDALI_ISA_NAMESPACE
#if TORCHDALI_ISA_LAST
void preemphasize(float* out, const float* x, int64_t count, float coefficient) {
  TORCHDALI_ISA_PICK(preemphasize<float>)(out, x, count, coefficient);
}
void preemphasize(double* out, const double* x, int64_t count, double coefficient) {
  TORCHDALI_ISA_PICK(preemphasize<double>)(out, x, count, coefficient);
}
#endif
}  // namespace torchdali::kernels
