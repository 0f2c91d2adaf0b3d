// SPDX-License-Identifier: Apache-2.0
// WorkerBells: how workers of a Scheduler sleep, and which of them is woken.
#pragma once

#include <semaphore.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace torchdali {

// Each worker sleeps on a bell of its own, a semaphore. With one condition variable for all,
// threads that are woken, or go to sleep, meet at its lock and at the scheduler's, and sleep there
// again (docs/design/scaling.md). The worker that went to sleep last is woken first: its memory is
// in the caches, and those that are not needed sleep on.
class WorkerBells {
 public:
  explicit WorkerBells(int num_workers)
      : bells_(new Bell[static_cast<size_t>(num_workers)]), num_workers_(num_workers) {
    asleep_.reserve(static_cast<size_t>(num_workers));
  }

  // The following are called with the scheduler's lock.
  // Whether a worker sleeps that nobody is about to wake.
  bool any_asleep() const { return !asleep_.empty(); }
  // The worker to be woken next, by ring(). It does not count as asleep any more.
  int take() {
    const int worker = asleep_.back();
    asleep_.pop_back();
    return worker;
  }
  void notify_one() {
    if (any_asleep()) ring(take());
  }
  // Sleeps until the bell rings. `lock` is released meanwhile; `relock` acquires it again.
  template <class Relock>
  void sleep(int worker, std::unique_lock<std::mutex>& lock, Relock&& relock) {
    asleep_.push_back(worker);
    rest(worker, lock, std::forward<Relock>(relock));
    // It was not taken if notify_all() rang, or if it was awake when it was rung before.
    if (any_asleep()) std::erase(asleep_, worker);
  }

  // The same, but take() does not choose the worker.
  template <class Relock>
  void rest(int worker, std::unique_lock<std::mutex>& lock, Relock&& relock) {
    lock.unlock();
    sem_t& rings = bells_[worker].rings;
    while (::sem_wait(&rings) != 0 && errno == EINTR) {
    }
    relock(lock);
  }

  // With or without the lock. Bells that ring more than once wake more than once.
  void ring(int worker) { ::sem_post(&bells_[worker].rings); }
  void notify_all() {
    for (int i = 0; i < num_workers_; ++i) ring(i);
  }

 private:
  struct alignas(64) Bell {
    Bell() { ::sem_init(&rings, 0, 0); }
    ~Bell() { ::sem_destroy(&rings); }
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;
    sem_t rings;
  };
  const std::unique_ptr<Bell[]> bells_;
  const int num_workers_;
  std::vector<int> asleep_;  // the one that went to sleep last is last
};

}  // namespace torchdali
