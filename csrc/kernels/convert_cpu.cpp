// SPDX-License-Identifier: Apache-2.0
// Array conversions to and from float, once per instruction set; the other pairs are in
// convert.cpp.
#include "kernels/convert.h"
#include "kernels/convert_float.h"

#define TORCHDALI_ISA_FILE "kernels/convert_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

template <class To, class From>
void convert_array(void* out, const void* in, int64_t count) {
  To* __restrict to = static_cast<To*>(out);
  const From* __restrict from = static_cast<const From*>(in);
  for (int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
}

ConvertFn converter_to_float(DType from) {
  return dispatch_dtype(from, []<class From>() -> ConvertFn { return convert_array<float, From>; });
}
ConvertFn converter_from_float(DType to) {
  return dispatch_dtype(to, []<class To>() -> ConvertFn { return convert_array<To, float>; });
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
ConvertFn converter_to_float(DType from) { return TORCHDALI_ISA_PICK(converter_to_float)(from); }
ConvertFn converter_from_float(DType to) { return TORCHDALI_ISA_PICK(converter_from_float)(to); }
#endif

}  // namespace torchdali::kernels
