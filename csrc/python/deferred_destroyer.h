// SPDX-License-Identifier: Apache-2.0
// DeferredDestroyer: destroys executors whose last reference was dropped on one of their own
// workers, which cannot wait for itself. The garbage collector runs on any thread.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "executor/run/executor.h"
#include "python/bind.h"

namespace torchdali {

class DeferredDestroyer {
 public:
  // Destroys `executor` on another thread.
  void destroy(std::shared_ptr<Executor> executor) {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([executor = std::move(executor)]() mutable { executor.reset(); });
  }
  void join() {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }

  // Joined at the exit of the interpreter, never destroyed.
  static DeferredDestroyer& instance() {
    static auto* const instance = new DeferredDestroyer;
    return *instance;
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace torchdali
