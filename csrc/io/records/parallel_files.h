// SPDX-License-Identifier: Apache-2.0
// for_each_file(): work on many files at a time, which the user can interrupt.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

namespace torchdali::io {

// Thrown by an interrupt check; `exception` is an object of the user's language. Not an
// std::exception, so that nobody reports it as a failure.
struct Interrupted {
  std::shared_ptr<void> exception;
};

// `check` throws Interrupted if the user wants to end what this thread does. Set once, when the
// extension is loaded; programs without Python have none.
void set_interrupt_check(std::function<void()> check);

// Calls `work(i, cancelled)` for 0..count-1 on several threads, while this one waits and checks for
// interrupts. Raises the first error in order of i; the files after it may be left out. Once
// `cancelled` is true, the result of `work` is not wanted: it may throw to end early.
void for_each_file(size_t count, const std::function<void(size_t, const std::atomic<bool>&)>& work);

}  // namespace torchdali::io
