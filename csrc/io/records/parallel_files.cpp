// SPDX-License-Identifier: Apache-2.0
#include "io/records/parallel_files.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/threads/interruption.h"

namespace torchdali::io {
namespace {

constexpr size_t kMaxThreads = 16;
constexpr auto kInterruptPeriod = std::chrono::milliseconds(50);

std::function<void()>& interrupt_check() {
  static auto* check = new std::function<void()>;  // threads may ask while the process exits
  return *check;
}

class FileLoop {
 public:
  FileLoop(size_t count, const std::function<void(size_t, const std::atomic<bool>&)>& work)
      : count_(count), work_(work), first_failed_(count), errors_(count) {}

  void run() {
    const size_t wanted =
        std::min({count_, kMaxThreads, size_t{std::max(1u, std::thread::hardware_concurrency())}});
    std::vector<std::jthread> threads;
    try {
      while (threads.size() < wanted) {
        threads.emplace_back([this] { loop(); });
        ++started_;
      }
    } catch (const std::system_error&) {  // fewer threads do it too
      if (threads.empty()) loop();
    }
    try {
      wait();
    } catch (...) {
      cancelled_ = true;
      throw;
    }
    threads.clear();
    if (first_failed_ < count_) std::rethrow_exception(errors_[first_failed_]);
  }

 private:
  void loop() {
    const InterruptionScope scope(cancelled_);
    for (size_t i = next_++; i < std::min(count_, first_failed_.load()) && !cancelled_;
         i = next_++) {
      try {
        work_(i, cancelled_);
      } catch (...) {
        errors_[i] = std::current_exception();
        size_t failed = first_failed_;
        while (i < failed && !first_failed_.compare_exchange_weak(failed, i)) {
        }
      }
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    done_.notify_one();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    while (!done_.wait_for(lock, kInterruptPeriod, [this] { return finished_ >= started_; })) {
      lock.unlock();
      if (interrupt_check()) interrupt_check()();
      lock.lock();
    }
  }

  const size_t count_;
  const std::function<void(size_t, const std::atomic<bool>&)>& work_;
  std::atomic<size_t> next_ = 0, first_failed_;
  std::atomic<bool> cancelled_ = false;
  std::vector<std::exception_ptr> errors_;
  std::mutex mutex_;
  std::condition_variable done_;
  size_t started_ = 0, finished_ = 0;  // threads; started_ belongs to the caller
};

}  // namespace

void set_interrupt_check(std::function<void()> check) { interrupt_check() = std::move(check); }

void for_each_file(size_t count,
                   const std::function<void(size_t, const std::atomic<bool>&)>& work) {
  FileLoop(count, work).run();
}

}  // namespace torchdali::io
