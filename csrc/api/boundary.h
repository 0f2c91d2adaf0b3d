// SPDX-License-Identifier: Apache-2.0
// Conversions between C++ and c_api.h, for libraries of operators: values of arguments, tensors and
// errors. Write operators with operator.h.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "api/c_api.h"
#include "api/views.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/image_types.h"
#include "core/layout.h"
#include "core/view.h"

#define TORCHDALI_HIDDEN __attribute__((visibility("hidden")))

namespace torchdali {

enum class ArgType : int32_t {
  kBool = TD_BOOL,
  kInt = TD_INT,
  kFloat = TD_FLOAT,
  kString = TD_STRING,
  kDType = TD_DTYPE,
  kImageType = TD_IMAGE_TYPE,
  kInterpType = TD_INTERP_TYPE,
  kLayout = TD_LAYOUT,
  kIntVec = TD_INT_LIST,  // one number is accepted where a list is declared
  kFloatVec = TD_FLOAT_LIST,
  kStringVec = TD_STRING_LIST,
};
enum class Arity : uint32_t {
  kConstant = 0,               // one value for the whole run
  kPerSample = TD_PER_SAMPLE,  // may also have one value (or one list) per sample
};
// kPixelwise: each pixel depends on that pixel of the input only, not on its position. The engine
// may run the operator on rows of an image.
enum class ImageRole : uint32_t { kNone = 0, kPixelwise = TD_PIXELWISE };

namespace api {

TORCHDALI_HIDDEN inline const td_engine* engine = nullptr;

// The engine has failed and keeps the error.
struct TORCHDALI_HIDDEN Failed {};
inline void check(td_status status) {
  if (status != 0) throw Failed();
}

inline std::string type_of(const std::exception& e) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(typeid(e).name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : typeid(e).name();
}

// Calls fn(). An exception does not leave the library: it is reported to the engine.
template <class Fn>
td_status guarded(Fn&& fn) noexcept {
  try {
    std::forward<Fn>(fn)();
    return 0;
  } catch (const Failed&) {
  } catch (const Error& e) {
    engine->fail(static_cast<int32_t>(e.kind()), e.what(), e.fix().c_str());
  } catch (const std::bad_alloc&) {
    engine->fail(TD_RUNTIME_ERROR, "out of memory", nullptr);
  } catch (const std::exception& e) {
    try {
      engine->fail(TD_EXCEPTION, (type_of(e) + ": " + e.what()).c_str(), nullptr);
    } catch (...) {
      engine->fail(TD_EXCEPTION, e.what(), nullptr);
    }
  } catch (...) {
    engine->fail(TD_EXCEPTION, "an exception that is not a std::exception", nullptr);
  }
  return 1;
}

inline SampleView from_c(const td_view& from) {
  return {.data = from.data,
          .dtype = static_cast<DType>(from.dtype),
          .shape = Shape(std::span(from.shape, static_cast<size_t>(from.ndim))),
          .layout = Layout(std::string_view(from.layout, static_cast<size_t>(from.layout_size)))};
}

// How values of T cross the boundary.
template <class T>
constexpr ArgType arg_type() {
  if constexpr (std::is_same_v<T, bool>) return ArgType::kBool;
  else if constexpr (std::is_same_v<T, DType>) return ArgType::kDType;
  else if constexpr (std::is_same_v<T, ImageType>) return ArgType::kImageType;
  else if constexpr (std::is_same_v<T, InterpType>) return ArgType::kInterpType;
  else if constexpr (std::is_same_v<T, int> || std::is_same_v<T, int64_t>) return ArgType::kInt;
  else if constexpr (std::is_floating_point_v<T>) return ArgType::kFloat;
  else if constexpr (std::is_same_v<T, Layout>) return ArgType::kLayout;
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>) return ArgType::kIntVec;
  else if constexpr (std::is_same_v<T, std::vector<float>> ||
                     std::is_same_v<T, std::vector<double>>)
    return ArgType::kFloatVec;
  else if constexpr (std::is_same_v<T, std::vector<std::string>>) return ArgType::kStringVec;
  else {
    static_assert(std::is_same_v<T, std::string>, "no argument has this type");
    return ArgType::kString;
  }
}

template <class T>
T from_c(const td_value& value, std::string_view name) {
  constexpr ArgType kType = arg_type<T>();
  if constexpr (kType == ArgType::kFloat) return static_cast<T>(value.number);
  else if constexpr (kType == ArgType::kString || kType == ArgType::kLayout)
    return T(std::string_view(value.text, value.size));
  else if constexpr (kType == ArgType::kIntVec)
    return {value.integers, value.integers + value.size};
  else if constexpr (kType == ArgType::kFloatVec)
    return {value.numbers, value.numbers + value.size};
  else if constexpr (kType == ArgType::kStringVec) return {value.texts, value.texts + value.size};
  else {
    if constexpr (std::is_same_v<T, int>)
      TORCHDALI_CHECK(value.integer >= std::numeric_limits<int>::min() &&
                          value.integer <= std::numeric_limits<int>::max(),
                      "argument `", name, "` is out of range: ", value.integer);
    return static_cast<T>(value.integer);
  }
}

}  // namespace api

}  // namespace torchdali
