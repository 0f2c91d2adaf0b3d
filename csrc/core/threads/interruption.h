// SPDX-License-Identifier: Apache-2.0
// Whether the work of the calling thread is no longer wanted, for code that may wait for long.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace torchdali {

// A signal, such as Ctrl-C, has raised an exception of the user's language, which is to reach the
// user as it is: no std::exception, so that nothing adds to it.
class SignalRaised {
 public:
  explicit SignalRaised(std::shared_ptr<void> exception) : exception_(std::move(exception)) {}
  const std::shared_ptr<void>& exception() const { return exception_; }

 private:
  std::shared_ptr<void> exception_;
};

namespace detail {
inline thread_local const std::atomic<bool>* interruption = nullptr;
}  // namespace detail

// Set by threads whose end is not waited for: they may make calls that cannot be interrupted.
inline thread_local bool may_hang = false;

// Whether what the calling thread works for was cancelled.
inline bool interrupted() {
  return detail::interruption != nullptr && detail::interruption->load(std::memory_order_relaxed);
}

// While it exists, interrupted() of this thread is `cancelled`.
class InterruptionScope {
 public:
  explicit InterruptionScope(const std::atomic<bool>& cancelled) : before_(detail::interruption) {
    detail::interruption = &cancelled;
  }
  ~InterruptionScope() { detail::interruption = before_; }
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  const std::atomic<bool>* before_;
};

}  // namespace torchdali
