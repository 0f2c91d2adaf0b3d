// SPDX-License-Identifier: Apache-2.0
// for_each_file(): work on many files at a time, which the user can interrupt.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace torchdali::io {

// `check` raises SignalRaised if the user wants to end what this thread does. Set once, when the
// extension is loaded; programs without Python have none.
void set_interrupt_check(std::function<void()> check);

// Calls `work(i, cancelled)` for 0..count-1 on several threads, while this one waits and checks for
// interrupts. Raises the first error in order of i; the files after it may be left out. Once
// `cancelled` is true, the result of `work` is not wanted: it may throw to end early, and its
// requests to remote stores end.
void for_each_file(size_t count, const std::function<void(size_t, const std::atomic<bool>&)>& work);

}  // namespace torchdali::io
