// SPDX-License-Identifier: Apache-2.0
// Errors of the engine. A throw site says what failed and how to mend it; the executor adds the
// operator, the sample, its source and the user's line (executor/run/executor.cpp).
#pragma once

#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace torchdali {

// Which Python class an error becomes (torchdali/errors.py); every one is a RuntimeError too.
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
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  // Of a fused operator: the work of this one of its producers failed, so that line of the user's
  // is named; -1: its own.
  int producer() const { return producer_; }
  void set_producer(int index) { producer_ = index; }
  // Which sample of the batch it is about, where the executor cannot know; -1: none.
  int sample() const { return sample_; }
  void set_sample(int index) { sample_ = index; }
  // What the user's own code threw, as the language it is written in has it; may be null.
  const std::shared_ptr<void>& cause() const { return cause_; }
  void set_cause(std::shared_ptr<void> cause) { cause_ = std::move(cause); }

 private:
  ErrorKind kind_;
  std::string message_;
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

template <class... Parts>
[[noreturn]] void raise(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, str_cat(parts...));
}

}  // namespace torchdali

// A user's mistake or bad data. `kind` is an enumerator of ErrorKind without its scope.
#define TORCHDALI_CHECK_KIND(kind, condition, ...)                   \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::torchdali::raise(::torchdali::ErrorKind::kind, __VA_ARGS__); \
  } while (false)
#define TORCHDALI_CHECK(condition, ...) TORCHDALI_CHECK_KIND(kValue, condition, __VA_ARGS__)
// Our own mistake: asks for a report.
#define TORCHDALI_ASSERT(condition, ...)                                                          \
  TORCHDALI_CHECK_KIND(kInternal, condition, "internal error in ", __FILE__, ":", __LINE__, ": ", \
                       #condition, " ", __VA_ARGS__, " (please report this)")
