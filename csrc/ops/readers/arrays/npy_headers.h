// SPDX-License-Identifier: Apache-2.0
// NpyHeaders: the headers of files that were read before.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "io/arrays/npy.h"

namespace torchdali {

// Any thread, after resize(). Files of a data set share few headers, so each file takes 4 bytes.
class NpyHeaders {
 public:
  void resize(int64_t files) {
    of_file_ = std::vector<std::atomic<uint32_t>>(static_cast<size_t>(files));
  }
  // Null if it was not stored.
  const io::NpyHeader* find(int64_t file) const {
    const uint32_t number = of_file_[static_cast<size_t>(file)].load(std::memory_order_acquire);
    if (number == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    return &headers_[number - 1];
  }
  void store(int64_t file, const io::NpyHeader& header) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] =
        numbers_.try_emplace(str_cat(static_cast<int>(header.dtype), header.big_endian,
                                     header.fortran_order, header.data_offset, header.shape),
                             static_cast<uint32_t>(headers_.size() + 1));
    if (is_new) headers_.push_back(header);
    of_file_[static_cast<size_t>(file)].store(found->second, std::memory_order_release);
  }

 private:
  std::vector<std::atomic<uint32_t>>
      of_file_;  // 0: not stored, else a place in headers_, from 1 on
  mutable std::mutex mutex_;
  std::map<std::string, uint32_t> numbers_;
  std::deque<io::NpyHeader> headers_;  // never moves its elements
};

}  // namespace torchdali
