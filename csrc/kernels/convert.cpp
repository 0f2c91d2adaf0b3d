// SPDX-License-Identifier: Apache-2.0
// Array conversions between any two types. The pairs with float are in convert_cpu.cpp, compiled
// per instruction set; other pairs are rare.
#include "kernels/convert.h"

#include "kernels/convert_float.h"

namespace torchdali::kernels {
namespace {

template <class To, class From>
void convert_array(void* out, const void* in, int64_t count) {
  To* __restrict to = static_cast<To*>(out);
  const From* __restrict from = static_cast<const From*>(in);
  for (int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
}

template <class From>
void truncate_array(void* out, const void* in, int64_t count) {
  uint8_t* __restrict to = static_cast<uint8_t*>(out);
  const From* __restrict from = static_cast<const From*>(in);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (is_floating_type<From>)
      to[i] = truncate_saturating<uint8_t>(Arithmetic<From>(from[i]));
    else to[i] = convert<uint8_t>(from[i]);
  }
}

}  // namespace

ConvertFn converter(DType to, DType from) {
  if (from == DType::kFloat) return converter_from_float(to);
  if (to == DType::kFloat) return converter_to_float(from);
  return dispatch_dtype(to, [from]<class To>() {
    return dispatch_dtype(from, []<class From>() -> ConvertFn { return convert_array<To, From>; });
  });
}

ConvertFn truncating_converter_to_uint8(DType from) {
  return dispatch_dtype(from, []<class From>() -> ConvertFn { return truncate_array<From>; });
}

}  // namespace torchdali::kernels
