// SPDX-License-Identifier: Apache-2.0
// The walk over the axes of reduce(); the inner loops are in reduce_sums_cpu.cpp and
// reduce_extremes_cpu.cpp.
#include "kernels/reduce.h"

#include <algorithm>
#include <limits>

namespace torchdali::kernels {
namespace {

// Neighbouring axes that are all reduced, or all kept.
struct Group {
  int64_t extent;
  bool reduced;
};

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
  Group groups[kMaxDims + 1];
  int num_groups = 0;
  for (int i = 0; i < work.shape.ndim(); ++i) {
    const int64_t extent = work.shape[i];
    const bool reduced = (work.axes >> i & 1) != 0;
    if (extent == 1) continue;  // either
    if (num_groups > 0 && groups[num_groups - 1].reduced == reduced)
      groups[num_groups - 1].extent *= extent;
    else groups[num_groups++] = {extent, reduced};
  }
  if (num_groups == 0) groups[num_groups++] = {1, true};

  const bool extreme = work.reduction == Reduction::kMin || work.reduction == Reduction::kMax;
  const ReduceFns fns = extreme ? extreme_functions(work.reduction, work.dtype)
                                : sum_functions(work.reduction, work.dtype);
  // The last groups are the work of one call.
  const bool last_reduced = groups[num_groups - 1].reduced;
  const int outer = std::max(num_groups - 2, 0);
  const int64_t last = groups[num_groups - 1].extent;
  const int64_t before = num_groups > 1 ? groups[num_groups - 2].extent : 1;
  const int64_t kept = last_reduced ? before : last;
  const ReduceFns::Fn call = last_reduced ? fns.rows : fns.columns;

  int64_t in_steps[kMaxDims + 1], out_steps[kMaxDims + 1], index[kMaxDims + 1] = {};
  int64_t in_step = last * before, out_step = kept;
  for (int g = outer - 1; g >= 0; --g) {
    in_steps[g] = in_step;
    out_steps[g] = groups[g].reduced ? 0 : out_step;
    in_step *= groups[g].extent;
    if (!groups[g].reduced) out_step *= groups[g].extent;
  }
  const int64_t in_size = itemsize(work.dtype);
  const int64_t out_size = itemsize(accumulator_dtype(work.reduction, work.dtype));
  int64_t in = 0, out = 0;
  for (;;) {
    call(static_cast<char*>(work.accumulators) + out * out_size,
         static_cast<const char*>(work.in) + in * in_size, last_reduced ? last : before, kept,
         work.mean == nullptr ? nullptr : work.mean + out);
    int g = outer - 1;
    for (; g >= 0; --g) {
      in += in_steps[g];
      out += out_steps[g];
      if (++index[g] < groups[g].extent) break;
      in -= groups[g].extent * in_steps[g];
      out -= groups[g].extent * out_steps[g];
      index[g] = 0;
    }
    if (g < 0) return;
  }
}

}  // namespace torchdali::kernels
