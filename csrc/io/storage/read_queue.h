// SPDX-License-Identifier: Apache-2.0
// ReadQueue: parts of files that are to be read ahead. Neighbors in a remote file are read at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torchdali::io {

// A part of a file.
struct ReadRequest {
  std::string path;
  int64_t offset = 0;
  int64_t size = -1;  // to the end of the file
};

// Not thread-safe.
class ReadQueue {
 public:
  // A gap that takes less time to read than another request.
  static constexpr int64_t kMaxGap = int64_t{512} << 10;
  static constexpr int64_t kMaxRange = int64_t{8} << 20;

  struct Item {
    int64_t number;
    ReadRequest request;
  };

  // `number` is larger than all previous ones since clear().
  void push(int64_t number, ReadRequest request);
  // Returns the first request. If it is for a part of a remote file, it is returned with others,
  // sorted by offset, as long as all of them are within a range of `most` bytes, with small gaps.
  std::vector<Item> pop(int64_t most);
  // The same for the request of this number; nothing if it is not there, or if it is not for a part
  // of a remote file.
  std::vector<Item> pop_part(int64_t number, int64_t most);
  // Removes the first request, if there is one. Needs no memory.
  void drop_first();
  // Removes a request, if it is there.
  void erase(int64_t number);
  // Removes requests with smaller numbers.
  void erase_before(int64_t number);
  void clear();
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Entry {
    Item item;
    bool waits = true;  // false: it was removed
  };
  // Where a part lies; the path is that of the entry.
  using Place = std::pair<std::string_view, int64_t>;
  static bool can_be_joined(const ReadRequest& request);
  Entry* find(int64_t number);
  std::vector<Item> pop_group(Entry& entry, int64_t most);
  void remove(Entry& entry);
  void drop_removed();

  std::deque<Entry> entries_;  // sorted by number
  std::multimap<Place, Entry*> places_;
  size_t size_ = 0;
};

}  // namespace torchdali::io
