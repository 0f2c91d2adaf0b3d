// SPDX-License-Identifier: Apache-2.0
// Errors across the boundary of a library of operators, through which no exception passes.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "api/c_api.h"
#include "core/error.h"

namespace torchdali::extension {

// The error of this thread that a library has not returned yet.
inline thread_local std::exception_ptr pending;

// Calls fn() for a library; an exception becomes the pending error.
template <class Fn>
td_status keeping_errors(Fn&& fn) noexcept {
  try {
    std::forward<Fn>(fn)();
    return 0;
  } catch (...) {
    pending = std::current_exception();
    return 1;
  }
}

// Any exception of a library's code that is not a torchdali::Error.
class Unexpected final : public std::exception {
 public:
  explicit Unexpected(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// Keeps an error of a library's own.
inline void fail(int32_t kind, const char* message, const char* fix) noexcept {
  (void)keeping_errors([&] {
    if (kind < TD_RUNTIME_ERROR || kind > TD_INTERNAL_ERROR) throw Unexpected(message);
    throw Error(static_cast<ErrorKind>(kind), message, fix == nullptr ? "" : fix);
  });
}

// Raises the pending error of a function of `library` that has returned `status`.
inline void check(td_status status, const std::string& library) {
  if (status == 0) [[likely]]
    return;
  const std::exception_ptr error = std::exchange(pending, nullptr);
  if (error == nullptr) raise(ErrorKind::kRuntime, "the code of ", library, " failed");
  try {
    std::rethrow_exception(error);
  } catch (const Unexpected& e) {
    raise(ErrorKind::kRuntime, e.what(), " (an exception in the code of ", library, ")");
  }
}

}  // namespace torchdali::extension
