// SPDX-License-Identifier: Apache-2.0
// Errors of the engine. A throw site says what failed and how to fix it. OperatorError
// (executor/graph/operator_error.h) adds the operator, the sample, its source and the user's line.
#pragma once

#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace torchdali {

// Which Python class an error becomes (torchdali/errors.py). All are subclasses of RuntimeError.
enum class ErrorKind {
  kRuntime,
  kValue,
  kType,
  kIndex,
  kLayout,
  kFile,
  kData,
  kUnsupported,
  kInternal
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message, std::string fix = {})
      : kind_(kind), message_(std::move(message)), fix_(std::move(fix)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  void set_message(std::string message) { message_ = std::move(message); }
  // What the user can do about it; empty where there is nothing to suggest.
  const std::string& fix() const { return fix_; }
  // Of a fused operator: the index of the producer that failed, whose line is shown. -1: the
  // operator itself.
  int producer() const { return producer_; }
  void set_producer(int index) { producer_ = index; }
  // Index in the batch of the sample that failed, where the executor cannot know it. -1: none.
  int sample() const { return sample_; }
  void set_sample(int index) { sample_ = index; }
  // The exception that the user's code threw, as an object of its language; may be null.
  const std::shared_ptr<void>& cause() const { return cause_; }
  void set_cause(std::shared_ptr<void> cause) { cause_ = std::move(cause); }

 private:
  ErrorKind kind_;
  std::string message_, fix_;
  int producer_ = -1;
  int sample_ = -1;
  std::shared_ptr<void> cause_;
};

template <class... Parts>
std::string str_cat(const Parts&... parts) {
  std::ostringstream out;
  ((out << parts), ...);
  return out.str();
}

// The last argument of raise() and of the macros below, where there is a fix:
//   TORCHDALI_CHECK(size > 0, "`size` must be positive, got ", size, to_fix("leave it out"));
struct Fix {
  std::string text;
};
template <class... Parts>
Fix to_fix(const Parts&... parts) {
  return {str_cat(parts...)};
}

template <class... Parts>
[[noreturn]] void raise(ErrorKind kind, const Parts&... parts) {
  std::ostringstream message;
  std::string fix;
  const auto add = [&]<class Part>(const Part& part) {
    if constexpr (std::is_same_v<Part, Fix>) fix = part.text;
    else message << part;
  };
  (add(parts), ...);
  throw Error(kind, message.str(), std::move(fix));
}

}  // namespace torchdali

// For a user's mistake or bad data. `kind` is an enumerator of ErrorKind without its scope.
#define TORCHDALI_CHECK_KIND(kind, condition, ...)                   \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::torchdali::raise(::torchdali::ErrorKind::kind, __VA_ARGS__); \
  } while (false)
#define TORCHDALI_CHECK(condition, ...) TORCHDALI_CHECK_KIND(kValue, condition, __VA_ARGS__)
// For a bug in the engine. The message asks for a report.
#define TORCHDALI_ASSERT(condition, ...)                                                          \
  TORCHDALI_CHECK_KIND(kInternal, condition, "internal error in ", __FILE__, ":", __LINE__, ": ", \
                       #condition, " ", __VA_ARGS__, " (please report this)")
