// SPDX-License-Identifier: Apache-2.0
// GeneratorsTurn: the right to seed the global random generators, which one thread has at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace torchdali {

// A function with seed_generators=True has the turn while it runs. Without it, two pipelines would
// draw from each other's seeds, and restore them as the states of the user.
//
// What waits is called without the GIL, since the thread that has the turn may need it.
class GeneratorsTurn {
 public:
  static GeneratorsTurn& instance() {
    static GeneratorsTurn turn;
    return turn;
  }

  // Waits for the turn. A function that waits for a pipeline lets the functions of that pipeline
  // have the turn (Pause). If it waits for them in another way, this throws in the end.
  void take() {
    if (depth++ > 0) return;
    std::unique_lock lock(mutex_);
    if (free_.wait_for(lock, kLongest, [this] { return !taken_; })) {
      taken_ = true;
      return;
    }
    depth = 0;
    raise(ErrorKind::kRuntime, "waited for ", std::chrono::minutes(kLongest).count(),
          " minutes for a function of another pipeline, which has seed_generators=True too",
          to_fix("do not let such functions wait for each other; torchdali.current_sample() has "
                 "generators that are not shared"));
  }
  void give_back() {
    if (--depth == 0) set_free();
  }

  // Gives the turn of this thread to others, if it has it, and takes it again at the end. Others
  // leave the generators as they were.
  class Pause {
   public:
    Pause() : depth_(std::exchange(depth, 0)) {
      if (depth_ > 0) instance().set_free();
    }
    ~Pause() {
      if (depth_ == 0) return;
      instance().wait_for_turn();
      depth = depth_;
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    const int depth_;
  };

 private:
  static constexpr std::chrono::minutes kLongest{10};
  static inline thread_local int depth = 0;  // how often this thread has taken the turn

  void set_free() {
    {
      const std::lock_guard lock(mutex_);
      taken_ = false;
    }
    free_.notify_one();
  }
  void wait_for_turn() {
    std::unique_lock lock(mutex_);
    free_.wait(lock, [this] { return !taken_; });
    taken_ = true;
  }

  std::mutex mutex_;
  std::condition_variable free_;
  bool taken_ = false;
};

}  // namespace torchdali
