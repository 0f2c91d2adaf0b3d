// SPDX-License-Identifier: Apache-2.0
// The minima and maxima of reduce.h, once per instruction set.
#include <limits>
#include <type_traits>

#include "kernels/math/reduce.h"

#define TORCHDALI_ISA_FILE "kernels/math/reduce_extremes_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#include "kernels/math/reduce_lanes.h"  // NOLINT: compiled into each namespace

template <class T, bool kMin>
struct Extreme {
  using Element = T;
  using Lane = std::conditional_t<std::is_same_v<T, Half>, float, T>;
  using Accumulator = T;
  static constexpr bool kUsesMean = false;
  static constexpr int64_t kFlush = int64_t{1} << 40;
  static Lane start() {
    using Limits = std::numeric_limits<Lane>;
    if constexpr (Limits::has_infinity) return kMin ? Limits::infinity() : -Limits::infinity();
    else return kMin ? Limits::max() : Limits::lowest();
  }
  // NaN compares false and is ignored.
  static Lane pick(Lane a, Lane b) { return (kMin ? b < a : b > a) ? b : a; }
  static Lane add(Lane lane, T x, double) { return pick(lane, static_cast<Lane>(x)); }
  static T fold(T acc, Lane lane) { return T(pick(static_cast<Lane>(acc), lane)); }
};

template <bool kMin>
ReduceFns functions(DType dtype) {
  if (dtype == DType::kBool) dtype = DType::kUInt8;  // 0 or 1
  return dispatch_dtype(dtype, []<class T>() -> ReduceFns {
    if constexpr (std::is_same_v<T, bool>) return {};
    else return {reduce_columns<Extreme<T, kMin>>, reduce_rows<Extreme<T, kMin>>};
  });
}

ReduceFns extreme_functions(Reduction reduction, DType dtype) {
  return reduction == Reduction::kMin ? functions<true>(dtype) : functions<false>(dtype);
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
ReduceFns extreme_functions(Reduction reduction, DType dtype) {
  return TORCHDALI_ISA_PICK(extreme_functions)(reduction, dtype);
}
#endif

}  // namespace torchdali::kernels
