// SPDX-License-Identifier: Apache-2.0
// RecentlyUsed: the objects that were used last, by name.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace torchdali::io {

// Any thread.
template <class T>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(size_t capacity) : capacity_(capacity) {}

  // Null if there is none.
  std::shared_ptr<const T> find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->object;
  }
  // Adds an object, and drops the one that has not been used for longest if there are too many.
  // Returns the one that another thread has added meanwhile, if any.
  std::shared_ptr<const T> add(const std::string& name, std::shared_ptr<const T> object) {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_name_.find(name); found != by_name_.end())
      return found->second->object;
    entries_.push_front({name, object});
    by_name_.emplace(entries_.front().name, entries_.begin());
    if (entries_.size() > capacity_) {
      by_name_.erase(entries_.back().name);
      entries_.pop_back();
    }
    return object;
  }

 private:
  struct Entry {
    std::string name;
    std::shared_ptr<const T> object;
  };
  const size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the one that was used last is first
  std::unordered_map<std::string_view, typename std::list<Entry>::iterator> by_name_;
};

}  // namespace torchdali::io
