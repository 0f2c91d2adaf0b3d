// SPDX-License-Identifier: Apache-2.0
// Progress: a line on standard error about work that takes longer than a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace torchdali::io {

// Any thread. A terminal has one line, which changes; other outputs get a line every ten seconds.
// TORCHDALI_PROGRESS=0 turns it off.
class Progress {
 public:
  // "indexing tar files", and how much there is to do.
  Progress(std::string what, int64_t files, int64_t bytes);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add_bytes(int64_t count);
  void add_file();

 private:
  using Clock = std::chrono::steady_clock;
  void show_if_due();
  std::string text(double seconds) const;

  const std::string what_;
  const int64_t files_, bytes_;
  const bool enabled_, terminal_;
  const Clock::time_point start_;
  std::mutex mutex_;
  Clock::time_point due_;
  int64_t done_files_ = 0, done_bytes_ = 0;
  bool shown_ = false;
};

}  // namespace torchdali::io
