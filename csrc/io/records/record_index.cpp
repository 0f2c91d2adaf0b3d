// SPDX-License-Identifier: Apache-2.0
#include "io/records/record_index.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"

namespace torchdali::io {
namespace {

constexpr int64_t kMostOfWord = std::numeric_limits<uint32_t>::max();

void put_wide(std::vector<uint32_t>& words, int64_t number) {
  words.push_back(static_cast<uint32_t>(static_cast<uint64_t>(number)));
  words.push_back(static_cast<uint32_t>(static_cast<uint64_t>(number) >> 32));
}

int64_t wide(const uint32_t* words) {
  return static_cast<int64_t>(words[0] | uint64_t{words[1]} << 32);
}

}  // namespace

void RecordIndex::add_shard(std::string path) {
  seal();
  shards_.push_back({.path = std::move(path), .begin = size_, .blocks = {}, .words = {}});
}

void RecordIndex::add(int64_t offset, int64_t size) {
  TORCHDALI_ASSERT(!shards_.empty() && offset >= 0 && size >= 0 &&
                       offset <= std::numeric_limits<int64_t>::max() - size,
                   "a record of ", size, " bytes at byte ", offset);
  open_.push_back({offset, size});
  ++size_;
  if (std::ssize(open_) == kBlock) pack();
}

void RecordIndex::append(RecordIndex part) {
  seal();
  for (Shard& shard : part.shards_) {
    shard.begin += size_;
    shards_.push_back(std::move(shard));
  }
  size_ += part.size_;
}

void RecordIndex::seal() {
  if (shards_.empty()) return;
  pack();
  shards_.back().blocks.shrink_to_fit();
  shards_.back().words.shrink_to_fit();
}

void RecordIndex::pack() {
  if (open_.empty()) return;
  Shard& shard = shards_.back();
  int64_t base = open_[0].offset, end = 0;
  bool contiguous = true;
  for (size_t i = 0; i < open_.size(); ++i) {
    base = std::min(base, open_[i].offset);
    end = std::max(end, open_[i].offset + open_[i].size);
    contiguous =
        contiguous && (i == 0 || open_[i].offset == open_[i - 1].offset + open_[i - 1].size);
  }
  const Layout layout = end - base > kMostOfWord ? Layout::kWide
                        : contiguous             ? Layout::kContiguous
                                                 : Layout::kPairs;
  shard.blocks.push_back(
      {.base = base, .first = shard.words.size(), .layout = static_cast<uint64_t>(layout)});
  for (const Place& place : open_) {
    if (layout == Layout::kWide) {
      put_wide(shard.words, place.offset);
      put_wide(shard.words, place.size);
      continue;
    }
    shard.words.push_back(static_cast<uint32_t>(place.offset - base));
    if (layout == Layout::kPairs) shard.words.push_back(static_cast<uint32_t>(place.size));
  }
  if (layout == Layout::kContiguous) shard.words.push_back(static_cast<uint32_t>(end - base));
  open_.clear();
}

int RecordIndex::shard_of(int64_t i) const {
  const auto after =
      std::upper_bound(shards_.begin(), shards_.end(), i,
                       [](int64_t record, const Shard& shard) { return record < shard.begin; });
  return static_cast<int>(after - shards_.begin()) - 1;
}

RecordIndex::Record RecordIndex::at(int64_t i) const {
  const int shard_number = shard_of(i);
  const Shard& shard = shards_[static_cast<size_t>(shard_number)];
  const int64_t number = i - shard.begin;
  const Block& block = shard.blocks[static_cast<size_t>(number / kBlock)];
  const uint32_t* words = shard.words.data() + block.first;
  const auto k = static_cast<size_t>(number % kBlock);
  Record record{.shard = shard_number, .number = number, .offset = block.base, .size = 0};
  switch (static_cast<Layout>(block.layout)) {
    case Layout::kContiguous:
      record.offset += words[k];
      record.size = int64_t{words[k + 1]} - words[k];
      break;
    case Layout::kPairs:
      record.offset += words[2 * k];
      record.size = words[2 * k + 1];
      break;
    case Layout::kWide: record.offset = wide(words + 4 * k); record.size = wide(words + 4 * k + 2);
  }
  return record;
}

}  // namespace torchdali::io
