// SPDX-License-Identifier: Apache-2.0
// The sums of reduce.h, once per instruction set.
#include <type_traits>

#include "kernels/math/reduce.h"

#define TORCHDALI_ISA_FILE "kernels/math/reduce_sums_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#include "kernels/math/reduce_lanes.h"  // NOLINT: compiled into each namespace

template <class T>
inline constexpr bool is_narrow = std::is_integral_v<T> && sizeof(T) <= 2;

// Of integers, exact modulo 2^64.
template <class T>
struct Sum {
  using Element = T;
  static constexpr bool kUsesMean = false;
  using Lane =
      std::conditional_t<is_narrow<T>, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                         uint64_t>;
  using Accumulator = uint64_t;
  static constexpr int64_t kFlush = is_narrow<T> ? int64_t{1} << (31 - 8 * sizeof(T)) : 1 << 30;
  static Lane start() { return Lane(0); }
  static Lane add(Lane lane, T x, double) { return lane + static_cast<Lane>(x); }
  static Accumulator fold(Accumulator acc, Lane lane) {
    if constexpr (std::is_same_v<Lane, int32_t>)
      return acc + static_cast<uint64_t>(static_cast<int64_t>(lane));
    else return acc + lane;
  }
};

template <class T>
struct FloatSum {
  using Element = T;
  using Lane = double;
  using Accumulator = double;
  static constexpr bool kUsesMean = false;
  static constexpr int64_t kFlush = 1 << 30;
  static double start() { return 0.0; }
  static double add(double lane, T x, double) { return lane + static_cast<double>(x); }
  static double fold(double acc, double lane) { return acc + lane; }
};

template <class T>
struct SumOfSquares {
  using Element = T;
  static constexpr bool kUsesMean = false;
  using Lane = std::conditional_t<is_narrow<T>,
                                  std::conditional_t<sizeof(T) == 1, uint32_t, uint64_t>, double>;
  using Accumulator = std::conditional_t<is_narrow<T>, uint64_t, double>;
  // 65536 squares of 255 are less than 2^32.
  static constexpr int64_t kFlush = sizeof(T) == 1 ? 1 << 16 : 1 << 30;
  static Lane start() { return Lane(0); }
  static Lane add(Lane lane, T x, double) {
    if constexpr (is_narrow<T>) {
      const uint32_t magnitude = static_cast<uint32_t>(x < 0 ? -int32_t{x} : int32_t{x});
      return lane + magnitude * magnitude;
    } else {
      const double value = static_cast<double>(x);
      return lane + value * value;
    }
  }
  static Accumulator fold(Accumulator acc, Lane lane) { return acc + lane; }
};

template <class T>
struct SumOfSquaredDeviations {
  using Element = T;
  using Lane = double;
  using Accumulator = double;
  static constexpr bool kUsesMean = true;
  static constexpr int64_t kFlush = 1 << 30;
  static double start() { return 0.0; }
  static double add(double lane, T x, double mean) {
    const double deviation = static_cast<double>(x) - mean;
    return lane + deviation * deviation;
  }
  static double fold(double acc, double lane) { return acc + lane; }
};

template <class F>
constexpr ReduceFns kFunctions = {reduce_columns<F>, reduce_rows<F>};

template <template <class> class F>
ReduceFns functions(DType dtype) {
  if (dtype == DType::kBool) dtype = DType::kUInt8;  // 0 or 1
  return dispatch_dtype(dtype, []<class T>() -> ReduceFns {
    if constexpr (std::is_same_v<T, bool>) return {};
    else return kFunctions<F<T>>;
  });
}

// `in_double`: adds 64-bit integers as float64. Loops that compute the same are instantiated once.
ReduceFns sum(DType dtype, bool in_double) {
  if (dtype == DType::kBool) dtype = DType::kUInt8;
  return dispatch_dtype(dtype, [&]<class T>() -> ReduceFns {
    if constexpr (std::is_same_v<T, bool>) return {};
    else if constexpr (is_floating_type<T>) return kFunctions<FloatSum<T>>;
    else if constexpr (sizeof(T) < 8) return kFunctions<Sum<T>>;
    else return in_double ? kFunctions<FloatSum<T>> : kFunctions<Sum<uint64_t>>;
  });
}

ReduceFns sum_functions(Reduction reduction, DType dtype) {
  switch (reduction) {
    case Reduction::kSum: return sum(dtype, false);
    case Reduction::kMean: return sum(dtype, true);
    case Reduction::kSumOfSquares: return functions<SumOfSquares>(dtype);
    default: return functions<SumOfSquaredDeviations>(dtype);
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
ReduceFns sum_functions(Reduction reduction, DType dtype) {
  return TORCHDALI_ISA_PICK(sum_functions)(reduction, dtype);
}
#endif

}  // namespace torchdali::kernels
