// SPDX-License-Identifier: Apache-2.0
// Reductions: a thread for each part of a result, then one for each result. How many parts there
// are and their order depend on shapes only, so results are the same on every device.
#pragma once

#include <limits>

#include "kernels/gpu/functor.h"
#include "kernels/math/reduce_finish.h"

namespace torchdali::gpu {

template <kernels::Reduction kReduction, class T>
struct Accumulate {
  using Reduction = kernels::Reduction;
  static constexpr bool kMin = kReduction == Reduction::kMin;
  static constexpr bool kExtreme = kMin || kReduction == Reduction::kMax;
  static constexpr bool kDeviations = kReduction == Reduction::kSumOfSquaredDeviations;
  // As kernels::accumulator_dtype() has it.
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
    if constexpr (kExtreme) {  // passes NaN over
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

struct ReduceGrid {
  const ReduceTask* tasks;
  const void* blob;

  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ReduceTask& task = tasks[t];
    Unravel index(i);
    const int64_t inner = index.axis(task.inner), part = index.axis(task.parts);
    const int64_t result = index.rest() * task.inner + inner;
    Unravel kept(index.rest());
    int64_t from = inner;
    for (int a = task.num_kept - 1; a >= 0; --a)
      from += kept.axis(task.kept_extent[a]) * task.kept_stride[a];
    double mean = 0;
    if (task.reduction == kernels::Reduction::kSumOfSquaredDeviations) {
      const void* means = task.mean == nullptr ? list_of<char>(blob, task.mean_list) : task.mean;
      with_type(task.mean_dtype, [&]<class T>() {
        mean = static_cast<double>(static_cast<const T*>(means)[result * task.mean_step]);
      });
    }
    uint64_t* out = static_cast<uint64_t*>(task.out) + part * task.results + result;
    with_type(task.in_dtype, [&]<class T>() {
      with_reduction<T>(task.reduction, [&]<class Acc>() {
        *reinterpret_cast<typename Acc::Type*>(out) =
            reduce<T, Acc>(task, static_cast<const T*>(task.in) + from, part, mean);
      });
    });
  }

 private:
  template <class T, class Acc>
  TORCHDALI_HOST_DEVICE static typename Acc::Type reduce(const ReduceTask& task, const T* in,
                                                         int64_t part, double mean) {
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

struct FoldGrid {
  const FoldTask* tasks;

  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    using kernels::Finish;
    using kernels::Reduction;
    const FoldTask& task = tasks[t];
    if (task.reduction == Reduction::kMin) return extreme<Reduction::kMin>(task, i);
    if (task.reduction == Reduction::kMax) return extreme<Reduction::kMax>(task, i);
    if (task.accumulator == DType::kInt64) return sum(task, i, folded<int64_t>(task, i));
    if (task.accumulator == DType::kUInt64) return sum(task, i, folded<uint64_t>(task, i));
    const auto total = folded<double>(task, i);
    if (task.reduction != Reduction::kSumOfSquaredDeviations) return sum(task, i, total);
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
  TORCHDALI_HOST_DEVICE static typename Acc::Type folded(const FoldTask& task, int64_t i) {
    using Type = typename Acc::Type;
    Type total = Acc::start();
    for (int64_t p = 0; p < task.parts; ++p)
      total = Acc::merge(total, *reinterpret_cast<const Type*>(
                                    static_cast<const uint64_t*>(task.in) + p * task.size + i));
    return total;
  }
  template <kernels::Reduction kReduction>
  TORCHDALI_HOST_DEVICE static void extreme(const FoldTask& task, int64_t i) {
    with_type(task.out_dtype, [&]<class T>() {
      using Acc = Accumulate<kReduction, T>;
      T value = T(folded<T, Acc>(task, i));
      if (task.values == 0) value = kernels::limit_of_nothing<T>(Acc::kMin);
      static_cast<T*>(task.out)[i] = value;
    });
  }
  template <class Sum>
  TORCHDALI_HOST_DEVICE static void sum(const FoldTask& task, int64_t i, Sum total) {
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

}  // namespace torchdali::gpu
