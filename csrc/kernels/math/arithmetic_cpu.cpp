// SPDX-License-Identifier: Apache-2.0
#include "kernels/math/arithmetic_cpu.h"

#include <type_traits>

#include "kernels/math/arithmetic_scalar.h"

#define TORCHDALI_ISA_FILE "kernels/math/arithmetic_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

using namespace scalar;

template <class T, class F>
void unary(void* out, const void* a, const void*, const void*, int64_t count) {
  using Result = decltype(F::run(T()));
  Result* __restrict to = static_cast<Result*>(out);
  const T* __restrict x = static_cast<const T*>(a);
  for (int64_t i = 0; i < count; ++i) to[i] = F::run(x[i]);
}
template <class T, class F>
void arrays(void* out, const void* a, const void* b, const void*, int64_t count) {
  using Result = decltype(F::run(T(), T()));
  Result* __restrict to = static_cast<Result*>(out);
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  for (int64_t i = 0; i < count; ++i) to[i] = F::run(x[i], y[i]);
}
template <class T, class F>
void scalar_a(void* out, const void* a, const void* b, const void*, int64_t count) {
  using Result = decltype(F::run(T(), T()));
  Result* __restrict to = static_cast<Result*>(out);
  const T x = *static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  for (int64_t i = 0; i < count; ++i) to[i] = F::run(x, y[i]);
}
template <class T, class F>
void scalar_b(void* out, const void* a, const void* b, const void*, int64_t count) {
  using Result = decltype(F::run(T(), T()));
  Result* __restrict to = static_cast<Result*>(out);
  const T* __restrict x = static_cast<const T*>(a);
  const T y = *static_cast<const T*>(b);
  for (int64_t i = 0; i < count; ++i) to[i] = F::run(x[i], y);
}
template <class T>
void clamp(void* out, const void* a, const void* b, const void* c, int64_t count) {
  T* __restrict to = static_cast<T*>(out);
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict lo = static_cast<const T*>(b);
  const T* __restrict hi = static_cast<const T*>(c);
  for (int64_t i = 0; i < count; ++i) to[i] = Clamp::run(x[i], lo[i], hi[i]);
}
template <class To, class From>
void convert(void* out, const void* in, int64_t count) {
  To* __restrict to = static_cast<To*>(out);
  const From* __restrict from = static_cast<const From*>(in);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

template <class Fn>
ArithmeticKernel for_unsigned(DType type, Fn fn) {  // operations that wrap around need no sign
  switch (itemsize(type)) {
    case 1: return fn.template operator()<uint8_t>();
    case 2: return fn.template operator()<uint16_t>();
    case 4: return fn.template operator()<uint32_t>();
    default: return fn.template operator()<uint64_t>();
  }
}
template <class Fn>
ArithmeticKernel for_floating(DType type, Fn fn) {
  if (type == DType::kFloat) return fn.template operator()<float>();
  if (type == DType::kFloat64) return fn.template operator()<double>();
  return {};
}
template <class Fn>
ArithmeticKernel for_integers(DType type, Fn fn) {
  switch (type) {
    case DType::kInt8: return fn.template operator()<int8_t>();
    case DType::kInt16: return fn.template operator()<int16_t>();
    case DType::kInt32: return fn.template operator()<int32_t>();
    case DType::kInt64: return fn.template operator()<int64_t>();
    default: return for_unsigned(type, fn);
  }
}
template <class Fn>
ArithmeticKernel for_wrapping(DType type, Fn fn) {
  return is_floating(type) ? for_floating(type, fn) : for_unsigned(type, fn);
}
template <class Fn>
ArithmeticKernel for_all(DType type, Fn fn) {
  return is_floating(type) ? for_floating(type, fn) : for_integers(type, fn);
}

// Loops with a scalar on the left exist for operations whose operands cannot be swapped, if they
// are worth it.
template <class F>
struct Unary {
  template <class T>
  ArithmeticKernel operator()() const {
    return {unary<T, F>};
  }
};
template <class F>
struct Arrays {
  template <class T>
  ArithmeticKernel operator()() const {
    return {arrays<T, F>};
  }
};
template <class F>
struct WithScalar {
  template <class T>
  ArithmeticKernel operator()() const {
    return {arrays<T, F>, nullptr, scalar_b<T, F>};
  }
};
template <class F>
struct Ordered {
  template <class T>
  ArithmeticKernel operator()() const {
    return {arrays<T, F>, scalar_a<T, F>, scalar_b<T, F>};
  }
};
template <class F>
struct ScalarOnly {
  template <class T>
  ArithmeticKernel operator()() const {
    return {nullptr, nullptr, scalar_b<T, F>};
  }
};
struct Clamped {
  template <class T>
  ArithmeticKernel operator()() const {
    return {clamp<T>};
  }
};

ArithmeticKernel vectorised_kernel(ArithmeticOp op, DType type) {
  const bool floating = is_floating(type);
  switch (op) {
    case ArithmeticOp::kAdd: return for_wrapping(type, WithScalar<Add>());
    case ArithmeticOp::kSub: return for_wrapping(type, Ordered<Sub>());
    case ArithmeticOp::kMul: return for_wrapping(type, WithScalar<Mul>());
    case ArithmeticOp::kDiv: return for_floating(type, Ordered<Div>());
    case ArithmeticOp::kMin: return for_all(type, WithScalar<Min>());
    case ArithmeticOp::kMax: return for_all(type, WithScalar<Max>());
    case ArithmeticOp::kEq: return for_wrapping(type, WithScalar<Eq>());
    case ArithmeticOp::kNeq: return for_wrapping(type, WithScalar<Neq>());
    case ArithmeticOp::kLt: return for_all(type, WithScalar<Lt>());
    case ArithmeticOp::kLeq: return for_all(type, WithScalar<Leq>());
    // The caller swaps the operands if there is no scalar.
    case ArithmeticOp::kGt: return for_all(type, ScalarOnly<Gt>());
    case ArithmeticOp::kGeq: return for_all(type, ScalarOnly<Geq>());
    case ArithmeticOp::kClamp: return for_all(type, Clamped());
    case ArithmeticOp::kMinus: return for_wrapping(type, Unary<Minus>());
    case ArithmeticOp::kAbs: return for_all(type, Unary<Abs>());
    case ArithmeticOp::kFabs: return for_floating(type, Unary<Fabs>());
    case ArithmeticOp::kSqrt: return for_floating(type, Unary<Sqrt>());
    case ArithmeticOp::kRsqrt: return for_floating(type, Unary<Rsqrt>());
    case ArithmeticOp::kFloor: return for_floating(type, Unary<Floor>());
    case ArithmeticOp::kCeil: return for_floating(type, Unary<Ceil>());
    default: break;
  }
  if (floating) return {};
  switch (op) {
    case ArithmeticOp::kBitAnd: return for_unsigned(type, WithScalar<BitAnd>());
    case ArithmeticOp::kBitOr: return for_unsigned(type, WithScalar<BitOr>());
    case ArithmeticOp::kBitXor: return for_unsigned(type, WithScalar<BitXor>());
    case ArithmeticOp::kShl: return for_unsigned(type, Arrays<Shl>());
    case ArithmeticOp::kShr: return for_integers(type, Arrays<Shr>());
    case ArithmeticOp::kBitNot: return for_unsigned(type, Unary<BitNot>());
    case ArithmeticOp::kLogicalNot: return {unary<uint8_t, LogicalNot>};
    default: return {};
  }
}

template <class To>
ArithmeticConvertFn to_floating(DType from) {
  return dispatch_dtype(from, []<class From>() -> ArithmeticConvertFn {
    if constexpr (std::is_same_v<From, To>) return nullptr;
    else if constexpr (std::is_same_v<From, bool>) return convert<To, uint8_t>;
    else return convert<To, From>;
  });
}
template <class To>
ArithmeticConvertFn to_integer(DType from) {
  return dispatch_dtype(from, []<class From>() -> ArithmeticConvertFn {
    if constexpr (is_floating_type<From> || sizeof(From) >= sizeof(To)) return nullptr;
    else if constexpr (std::is_same_v<From, bool>) return convert<To, uint8_t>;
    else return convert<To, From>;
  });
}

ArithmeticConvertFn vectorised_converter(DType to, DType from) {
  switch (to) {
    case DType::kFloat: return to_floating<float>(from);
    case DType::kFloat64: return to_floating<double>(from);
    case DType::kFloat16: return from == DType::kFloat ? convert<Half, float> : nullptr;
    default: break;
  }
  switch (itemsize(to)) {
    case 2: return to_integer<uint16_t>(from);
    case 4: return to_integer<uint32_t>(from);
    case 8: return to_integer<uint64_t>(from);
    default: return nullptr;
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
ArithmeticKernel vectorised_kernel(ArithmeticOp op, DType type) {
  return TORCHDALI_ISA_PICK(vectorised_kernel)(op, type);
}
ArithmeticConvertFn vectorised_converter(DType to, DType from) {
  return TORCHDALI_ISA_PICK(vectorised_converter)(to, from);
}
#endif

}  // namespace torchdali::kernels
