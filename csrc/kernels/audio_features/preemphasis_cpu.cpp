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
namespace {

// Whole lines of the cache, while the input is read ahead; returns how many samples are done. Wider
// vectors do not store faster. Lines that are stored to another place first take 1.1 times as long.
int64_t preemphasize_lines(float* out, const float* x, int64_t count, float coefficient) {
  int64_t i = 0;
#if defined(__x86_64__)
  constexpr int64_t kVector = 4, kLine = 16;
  const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(out) / sizeof(float) % kLine);
  if (head + kLine > count) return 0;
  for (; i < head; ++i) out[i] = x[i] - coefficient * x[i - 1];
  const __m128 c = _mm_set1_ps(coefficient);
  for (; i + kLine <= count; i += kLine) {
    const uintptr_t ahead = reinterpret_cast<uintptr_t>(x + i) + 4096;  // may be past the end
    __builtin_prefetch(reinterpret_cast<const void*>(ahead));
    for (int64_t k = i; k < i + kLine; k += kVector)
      _mm_stream_ps(out + k,
                    _mm_sub_ps(_mm_loadu_ps(x + k), _mm_mul_ps(c, _mm_loadu_ps(x + k - 1))));
  }
  _mm_sfence();
#endif
  return i;
}

}  // namespace

void preemphasize(float* out, const float* x, int64_t count, float coefficient, bool bypass_cache) {
  const int64_t done = bypass_cache ? preemphasize_lines(out, x, count, coefficient) : 0;
  TORCHDALI_ISA_PICK(preemphasize<float>)(out + done, x + done, count - done, coefficient);
}
void preemphasize(double* out, const double* x, int64_t count, double coefficient) {
  TORCHDALI_ISA_PICK(preemphasize<double>)(out, x, count, coefficient);
}
#endif
}  // namespace torchdali::kernels
