// SPDX-License-Identifier: Apache-2.0
// Counts of what happened to samples, by what it was, which stats() shows.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace torchdali {

// An operator that counts.
class CountsReasons {
 public:
  CountsReasons() = default;
  CountsReasons(const CountsReasons&) = delete;
  CountsReasons& operator=(const CountsReasons&) = delete;
  virtual ~CountsReasons() = default;
  // Since it was made. Any thread.
  virtual std::map<std::string, int64_t> counts() const = 0;
};

// Any thread.
class ReasonCounts {
 public:
  void add(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    ++counts_[reason];
  }
  std::map<std::string, int64_t> read() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> counts_;
};

}  // namespace torchdali
