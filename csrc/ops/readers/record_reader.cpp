// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/record_reader.h"

#include <algorithm>
#include <limits>

namespace torchdali {

int64_t RecordReader::find_samples() {
  records_ = find_records();
  records_.seal();
  TORCHDALI_CHECK_KIND(kData, records_.size() > 0, "there are no samples in ",
                       records_.num_shards(), " files, the first of which is \"",
                       records_.num_shards() > 0 ? records_.path(0) : "", '"');
  return records_.size();
}

std::vector<float> RecordReader::find_lengths(const std::string& by) {
  if (by != "size") return Reader::find_lengths(by);
  std::vector<float> sizes(static_cast<size_t>(records_.size()));
  for (size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = static_cast<float>(records_.at(static_cast<int64_t>(i)).size);
  return sizes;
}

io::ReadRequest RecordReader::request(int64_t index) const {
  const auto record = records_.at(index);
  return {.path = records_.path(record.shard), .offset = record.offset, .size = record.size};
}

void RecordReader::append_name(int64_t index, std::string& text) const {
  const auto record = records_.at(index);
  text += records_.path(record.shard);
  text += ", record " + std::to_string(record.number) + " at byte " + std::to_string(record.offset);
}

std::unique_ptr<ReaderBatch> RecordReader::make_batch(std::span<const int64_t> indices) {
  auto batch = std::make_unique<ReaderBatch>();
  auto names = std::make_shared<SampleNames>();
  for (const int64_t index : indices) {
    constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
    batch->sizes.push_back(static_cast<uint32_t>(std::min(records_.at(index).size, kMost)));
    names->add([&](std::string& text) { append_name(index, text); });
  }
  batch->names = std::move(names);
  return batch;
}

}  // namespace torchdali
