// SPDX-License-Identifier: Apache-2.0
#include "io/storage/read_queue.h"

#include <algorithm>
#include <iterator>

#include "io/storage/input_file.h"

namespace torchdali::io {

bool ReadQueue::can_be_joined(const ReadRequest& request) {
  return request.size >= 0 && request.size < kMaxRange && request.offset >= 0 &&
         request.offset < INT64_MAX - kMaxRange && is_remote(request.path);
}

void ReadQueue::push(int64_t number, ReadRequest request) {
  Entry& entry = entries_.emplace_back(Entry{.item = {number, std::move(request)}});
  ++size_;
  const ReadRequest& r = entry.item.request;
  if (can_be_joined(r)) places_.emplace(Place(r.path, r.offset), &entry);
}

void ReadQueue::remove(Entry& entry) {
  const ReadRequest& r = entry.item.request;
  if (can_be_joined(r)) {
    auto [it, end] = places_.equal_range(Place(r.path, r.offset));
    while (it != end && it->second != &entry) ++it;
    if (it != end) places_.erase(it);
  }
  entry.waits = false;
  --size_;
}

void ReadQueue::drop_removed() {
  while (!entries_.empty() && !entries_.front().waits) entries_.pop_front();
}

std::vector<ReadQueue::Item> ReadQueue::pop(int64_t most) {
  drop_removed();
  return entries_.empty() ? std::vector<Item>() : pop_group(entries_.front(), most);
}

std::vector<ReadQueue::Item> ReadQueue::pop_part(int64_t number, int64_t most) {
  Entry* entry = find(number);
  if (entry == nullptr || !can_be_joined(entry->item.request)) return {};
  return pop_group(*entry, most);
}

std::vector<ReadQueue::Item> ReadQueue::pop_group(Entry& entry, int64_t most) {
  std::vector<Item> group;
  const ReadRequest& first = entry.item.request;
  std::vector<Entry*> taken = {&entry};
  if (can_be_joined(first)) {
    most = std::min(most, kMaxRange);
    int64_t begin = first.offset, end = first.offset + first.size;
    auto [at, last] = places_.equal_range(Place(first.path, first.offset));
    while (at->second != &entry) ++at;
    const auto joins = [&](const Entry& other) {
      const ReadRequest& r = other.item.request;
      const int64_t new_begin = std::min(begin, r.offset);
      const int64_t new_end = std::max(end, r.offset + r.size);
      if (r.path != first.path || r.offset > end + kMaxGap || begin > r.offset + r.size + kMaxGap ||
          new_end - new_begin > most)
        return false;
      begin = new_begin;
      end = new_end;
      return true;
    };
    for (auto next = std::next(at); next != places_.end() && joins(*next->second); ++next)
      taken.push_back(next->second);
    for (auto next = std::make_reverse_iterator(at); next != places_.rend() && joins(*next->second);
         ++next)
      taken.push_back(next->second);
  }
  for (Entry* one : taken) remove(*one);
  group.reserve(taken.size());
  for (Entry* one : taken) group.push_back(std::move(one->item));
  std::sort(group.begin(), group.end(),
            [](const Item& a, const Item& b) { return a.request.offset < b.request.offset; });
  drop_removed();
  return group;
}

void ReadQueue::drop_first() {
  drop_removed();
  if (!entries_.empty()) remove(entries_.front());
  drop_removed();
}

ReadQueue::Entry* ReadQueue::find(int64_t number) {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), number,
                       [](const Entry& entry, int64_t n) { return entry.item.number < n; });
  const bool is_it = found != entries_.end() && found->item.number == number && found->waits;
  return is_it ? &*found : nullptr;
}

void ReadQueue::erase(int64_t number) {
  if (Entry* entry = find(number)) remove(*entry);
  drop_removed();
}

void ReadQueue::erase_before(int64_t number) {
  while (!entries_.empty() && entries_.front().item.number < number) {
    if (entries_.front().waits) remove(entries_.front());
    entries_.pop_front();
  }
}

void ReadQueue::clear() {
  places_.clear();
  entries_.clear();
  size_ = 0;
}

}  // namespace torchdali::io
