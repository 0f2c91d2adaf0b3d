// SPDX-License-Identifier: Apache-2.0
// Reductions on the GPU: one thread for each part of a result, then one thread for each result. The
// number of parts and their order depend on shapes only, so results are the same on every device.
#pragma once

#include <limits>

#include "kernels/gpu/kernel.h"
#include "kernels/math/reduce.h"
#include "kernels/math/reduce_finish.h"

namespace torchdali::gpu {

template <kernels::Reduction kReduction, class T>
struct Accumulate {
  using Reduction = kernels::Reduction;
  static constexpr bool kMin = kReduction == Reduction::kMin;
  static constexpr bool kExtreme = kMin || kReduction == Reduction::kMax;
  static constexpr bool kDeviations = kReduction == Reduction::kSumOfSquaredDeviations;
  // The type of kernels::accumulator_dtype().
  static constexpr bool kSquares = kReduction == Reduction::kSumOfSquares;
  static constexpr bool kExact =
      std::is_integral_v<T> && !kDeviations &&
      (kSquares ? sizeof(T) <= 2 : kReduction == Reduction::kSum || sizeof(T) < 8);
  using Element = std::conditional_t<std::is_same_v<T, Half>, float, T>;
  using Type = std::conditional_t<
      kExtreme, Element,
      std::conditional_t<!kExact, double,
                         std::conditional_t<std::is_signed_v<T> && !kSquares, int64_t, uint64_t>>>;

  TORCHDALI_HOST_DEVICE static Type start() {
    if constexpr (!kExtreme) {
      return Type(0);
    } else {
      using Limits = std::numeric_limits<Type>;
      if constexpr (Limits::has_infinity) return kMin ? Limits::infinity() : -Limits::infinity();
      else return kMin ? Limits::max() : Limits::lowest();
    }
  }
  // Integers modulo 2^64.
  TORCHDALI_HOST_DEVICE static Type merge(Type a, Type b) {
    if constexpr (kExtreme) {  // ignores NaN
      const bool better = kMin ? b < a : b > a;
      return better ? b : a;
    } else if constexpr (kExact) {
      return static_cast<Type>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
  TORCHDALI_HOST_DEVICE static Type of(T x, double mean) {
    if constexpr (kDeviations) {
      const double deviation = static_cast<double>(x) - mean;
      return deviation * deviation;
    } else if constexpr (kSquares && kExact) {
      const int64_t value = x;
      return static_cast<Type>(value * value);
    } else if constexpr (kSquares) {
      const auto value = static_cast<double>(x);
      return value * value;
    } else {
      return static_cast<Type>(x);
    }
  }
};

// Calls fn.template operator()<Accumulate<...>>().
template <class T, class Fn>
TORCHDALI_HOST_DEVICE inline void with_reduction(kernels::Reduction reduction, Fn&& fn) {
  using kernels::Reduction;
  switch (reduction) {
    case Reduction::kSum: return fn.template operator()<Accumulate<Reduction::kSum, T>>();
    case Reduction::kMean: return fn.template operator()<Accumulate<Reduction::kMean, T>>();
    case Reduction::kSumOfSquares:
      return fn.template operator()<Accumulate<Reduction::kSumOfSquares, T>>();
    case Reduction::kSumOfSquaredDeviations:
      return fn.template operator()<Accumulate<Reduction::kSumOfSquaredDeviations, T>>();
    case Reduction::kMin: return fn.template operator()<Accumulate<Reduction::kMin, T>>();
    case Reduction::kMax: return fn.template operator()<Accumulate<Reduction::kMax, T>>();
  }
}

// Thread (result, part) reduces every `parts`-th value of a result and stores the accumulator, of 8
// bytes, in out[part * results + result]. Strides are in elements, the innermost axis is the last.
struct ReduceTask : TaskBase {
  kernels::Reduction reduction = kernels::Reduction::kSum;
  DType in_dtype = DType::kNone;
  int num_kept = 0, num_reduced = 0;
  int64_t kept_extent[kMaxAxes] = {}, kept_stride[kMaxAxes] = {};  // without `inner`
  int64_t reduced_extent[kMaxAxes] = {}, reduced_stride[kMaxAxes] = {};
  int64_t inner = 1;  // adjacent results, along the last axis
  int64_t count = 0;  // values of a result
  int64_t parts = 1, results = 0;
  // Of kSumOfSquaredDeviations. Where it is null, float[...] in the blob.
  const void* mean = nullptr;
  BlobOffset mean_list = 0;
  DType mean_dtype = DType::kFloat;
  int64_t mean_step = 0;  // from one result to the next

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(mean);
  }
};
struct ReduceKernel : Kernel<ReduceTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const int64_t inner = index.axis(task.inner), part = index.axis(task.parts);
    const int64_t result = index.rest() * task.inner + inner;
    Unravel kept(index.rest());
    int64_t from = inner;
    for (int a = task.num_kept - 1; a >= 0; --a)
      from += kept.axis(task.kept_extent[a]) * task.kept_stride[a];
    double mean = 0;
    if (task.reduction == kernels::Reduction::kSumOfSquaredDeviations) {
      const void* means = task.mean == nullptr ? list<char>(task.mean_list) : task.mean;
      with_type(task.mean_dtype, [&]<class T>() {
        mean = static_cast<double>(static_cast<const T*>(means)[result * task.mean_step]);
      });
    }
    uint64_t* out = static_cast<uint64_t*>(task.out) + part * task.results + result;
    with_type(task.in_dtype, [&]<class T>() {
      with_reduction<T>(task.reduction, [&]<class Acc>() {
        *reinterpret_cast<typename Acc::Type*>(out) =
            reduce<T, Acc>(static_cast<const T*>(task.in) + from, part, mean);
      });
    });
  }

 private:
  template <class T, class Acc>
  TORCHDALI_HOST_DEVICE typename Acc::Type reduce(const T* in, int64_t part, double mean) const {
    typename Acc::Type sum = Acc::start();
    const bool plain = task.num_reduced == 1;  // no divisions
    const int64_t stride = task.reduced_stride[0];
    for (int64_t r = part; r < task.count; r += task.parts) {
      int64_t at = r * stride;
      if (!plain) {
        Unravel index(r);
        at = 0;
        for (int a = task.num_reduced - 1; a >= 0; --a)
          at += index.axis(task.reduced_extent[a]) * task.reduced_stride[a];
      }
      sum = Acc::merge(sum, Acc::of(in[at], mean));
    }
    return sum;
  }
};
TORCHDALI_GPU_KERNEL(ReduceKernel)

// Combines the parts of a result in their order and finishes it (kernels/math/reduce_finish.h).
// `in` is [parts, size] accumulators.
enum class ReduceResult : int8_t { kElement, kSum, kMean, kRoot, kVariance, kDeviation, kFactor };
struct FoldTask : TaskBase {
  kernels::Reduction reduction = kernels::Reduction::kSum;
  ReduceResult result = ReduceResult::kSum;
  DType accumulator = DType::kNone, out_dtype = DType::kNone;
  int64_t parts = 0;
  int64_t values = 0;  // that were reduced to one result
  int ddof = 0;
  float epsilon = 0, scale = 1;  // of kFactor
};
struct FoldKernel : Kernel<FoldTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    using kernels::Finish;
    using kernels::Reduction;
    if (task.reduction == Reduction::kMin) return extreme<Reduction::kMin>(i);
    if (task.reduction == Reduction::kMax) return extreme<Reduction::kMax>(i);
    if (task.accumulator == DType::kInt64) return sum(i, folded<int64_t>(i));
    if (task.accumulator == DType::kUInt64) return sum(i, folded<uint64_t>(i));
    const auto total = folded<double>(i);
    if (task.reduction != Reduction::kSumOfSquaredDeviations) return sum(i, total);
    const double divisor = static_cast<double>(task.values) - task.ddof;
    if (task.result == ReduceResult::kFactor) {
      static_cast<float*>(task.out)[i] =
          kernels::deviation_factor(total, divisor, task.epsilon, task.scale);
      return;
    }
    double value = total / divisor;
    if (task.result == ReduceResult::kDeviation) value = std::sqrt(value);
    if (task.out_dtype == DType::kFloat64) static_cast<double*>(task.out)[i] = value;
    else static_cast<float*>(task.out)[i] = static_cast<float>(value);
  }

 private:
  // Sums of T.
  template <class T, class Acc = Accumulate<kernels::Reduction::kSum, T>>
  TORCHDALI_HOST_DEVICE typename Acc::Type folded(int64_t i) const {
    using Type = typename Acc::Type;
    Type total = Acc::start();
    for (int64_t p = 0; p < task.parts; ++p)
      total = Acc::merge(total, *reinterpret_cast<const Type*>(
                                    static_cast<const uint64_t*>(task.in) + p * task.size + i));
    return total;
  }
  template <kernels::Reduction kReduction>
  TORCHDALI_HOST_DEVICE void extreme(int64_t i) const {
    with_type(task.out_dtype, [&]<class T>() {
      using Acc = Accumulate<kReduction, T>;
      T value = T(folded<T, Acc>(i));
      if (task.values == 0) value = kernels::limit_of_nothing<T>(Acc::kMin);
      static_cast<T*>(task.out)[i] = value;
    });
  }
  template <class Sum>
  TORCHDALI_HOST_DEVICE void sum(int64_t i, Sum total) const {
    using kernels::Finish;
    with_type(task.out_dtype, [&]<class Out>() {
      Out* to = static_cast<Out*>(task.out) + i;
      if (task.result == ReduceResult::kSum)
        *to = kernels::finished<Finish::kSum, Out>(total, task.values);
      else if (task.result == ReduceResult::kMean)
        *to = kernels::finished<Finish::kMean, Out>(total, task.values);
      else *to = kernels::finished<Finish::kRoot, Out>(total, task.values);
    });
  }
};
TORCHDALI_GPU_KERNEL(FoldKernel)

}  // namespace torchdali::gpu
