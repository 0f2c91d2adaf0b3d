// SPDX-License-Identifier: Apache-2.0
// The inner loops of standardize.h, once per instruction set.
#include <type_traits>

#include "kernels/math/standardize.h"

#define TORCHDALI_ISA_FILE "kernels/math/standardize_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

template <class T>
void line(float* __restrict out, const void* data, int64_t count, float mean, float scale,
          float shift) {
  const T* __restrict in = static_cast<const T*>(data);
  for (int64_t i = 0; i < count; ++i) out[i] = (static_cast<float>(in[i]) - mean) * scale + shift;
}

template <class T>
void pattern(float* __restrict out, const void* data, int64_t count, const float* __restrict mean,
             const float* __restrict scale, float shift) {
  const T* __restrict in = static_cast<const T*>(data);
  for (int64_t i = 0; i < count; ++i)
    out[i] = (static_cast<float>(in[i]) - mean[i]) * scale[i] + shift;
}

StandardizeFns standardize_functions(DType in) {
  if (in == DType::kBool) in = DType::kUInt8;  // 0 or 1
  return dispatch_dtype(in, []<class T>() -> StandardizeFns {
    if constexpr (std::is_same_v<T, bool>) return {};
    else return {line<T>, pattern<T>};
  });
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
StandardizeFns standardize_functions(DType in) {
  return TORCHDALI_ISA_PICK(standardize_functions)(in);
}
#endif

}  // namespace torchdali::kernels
