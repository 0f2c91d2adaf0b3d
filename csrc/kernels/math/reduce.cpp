// SPDX-License-Identifier: Apache-2.0
// The loop over the axes of reduce(). The inner loops are in reduce_sums_cpu.cpp and
// reduce_extremes_cpu.cpp.
#include "kernels/math/reduce.h"

#include <algorithm>
#include <limits>

namespace torchdali::kernels {
namespace {

template <class T>
T neutral(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  if (reduction == Reduction::kMin)
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  if (reduction == Reduction::kMax)
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return T(0);
}
template <>
Half neutral<Half>(Reduction reduction) {
  return Half(neutral<float>(reduction));
}

}  // namespace

DType accumulator_dtype(Reduction reduction, DType in) {
  const bool is_signed = in >= DType::kInt8 && in <= DType::kInt64;
  switch (reduction) {
    case Reduction::kMin:
    case Reduction::kMax: return in;
    case Reduction::kMean:
      if (itemsize(in) == 8) return DType::kFloat64;
      [[fallthrough]];
    case Reduction::kSum:
      return is_floating(in) ? DType::kFloat64 : is_signed ? DType::kInt64 : DType::kUInt64;
    case Reduction::kSumOfSquares:
      return !is_floating(in) && itemsize(in) <= 2 ? DType::kUInt64 : DType::kFloat64;
    case Reduction::kSumOfSquaredDeviations: break;
  }
  return DType::kFloat64;
}

void begin_reduce(Reduction reduction, DType in, void* accumulators, int64_t count) {
  dispatch_dtype(accumulator_dtype(reduction, in), [&]<class T>() {
    std::fill_n(static_cast<T*>(accumulators), count, neutral<T>(reduction));
  });
}

void reduce(const Reduce& work) {
  if (work.shape.volume() == 0) return;
  const bool extreme = work.reduction == Reduction::kMin || work.reduction == Reduction::kMax;
  const ReduceFns fns = extreme ? extreme_functions(work.reduction, work.dtype)
                                : sum_functions(work.reduction, work.dtype);
  // One call processes the innermost two groups.
  const AxisGroups groups(work.shape, work.axes);
  const int64_t last = groups.last(), before = groups.before_last();
  const bool last_reduced = groups.last_reduced();
  const ReduceFns::Fn call = last_reduced ? fns.rows : fns.columns;
  const int64_t in_size = itemsize(work.dtype);
  const int64_t out_size = itemsize(accumulator_dtype(work.reduction, work.dtype));
  groups.for_each_outer([&](int64_t in, int64_t out) {
    call(static_cast<char*>(work.accumulators) + out * out_size,
         static_cast<const char*>(work.in) + in * in_size, last_reduced ? last : before,
         last_reduced ? before : last, work.mean == nullptr ? nullptr : work.mean + out);
  });
}

}  // namespace torchdali::kernels
