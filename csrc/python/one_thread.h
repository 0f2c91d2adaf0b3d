// SPDX-License-Identifier: Apache-2.0
// OneThread: refuses to let a second thread into a pipeline.
#pragma once

#include <pthread.h>

#include <memory>
#include <mutex>
#include <utility>

#include "core/threads/process_id.h"
#include "executor/run/executor.h"

namespace torchdali {

// Raises kRuntime on a thread of the engine, which would wait for itself.
inline void check_not_on_worker(const Executor& executor) {
  TORCHDALI_CHECK_KIND(
      kRuntime, !executor.on_worker(),
      "a function that a pipeline calls cannot use the pipeline itself: it would wait for itself",
      to_fix("use it where the pipeline is run"));
}

// A thread may enter again while it is inside. Nothing ever waits.
class OneThread {
 public:
  // Names the engine of the pipeline, whose threads are told that they cannot use it.
  void protect(std::weak_ptr<Executor> executor) { executor_ = std::move(executor); }
  // Raises kRuntime if another thread is inside.
  void enter() {
    const std::lock_guard lock(mutex_);
    if (process_ != process_id()) {  // the other threads are not in this process
      process_ = process_id();
      depth_ = 0;
      executor_.reset();
    }
    if (const auto executor = executor_.lock()) check_not_on_worker(*executor);
    TORCHDALI_CHECK_KIND(
        kRuntime, depth_ == 0 || pthread_equal(thread_, pthread_self()),
        "another thread is using the pipeline; one thread at a time may run, reset or save it",
        to_fix("use it from one thread, or under a lock; feed_input() and close() may be called by "
               "any thread"));
    thread_ = pthread_self();
    ++depth_;
  }
  // Has no effect on other threads than the one that is inside.
  void leave() {
    const std::lock_guard lock(mutex_);
    if (depth_ > 0 && pthread_equal(thread_, pthread_self())) --depth_;
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<Executor> executor_;
  pid_t process_ = process_id();
  pthread_t thread_{};
  int depth_ = 0;  // how often the thread has entered and not left
};

}  // namespace torchdali
