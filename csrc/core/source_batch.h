// SPDX-License-Identifier: Apache-2.0
// SourceBatch: what a source decided about one batch, and the names of its samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace torchdali {

// The origins (paths, keys) of the samples of one batch. They reference nothing else of the batch,
// so keeping them keeps text and no data. Filled by next_batch(), then immutable.
class SampleNames {
 public:
  // `root`: a folder and its separator, which info() leaves out.
  explicit SampleNames(std::string_view root = {}) : root_(root) {}
  // Adds the name of one sample: calls `append(text)`, which appends to a std::string.
  template <class Append>
  void add(Append&& append) {
    begins_.push_back(text_.size());
    append(text_);
    text_.push_back('\0');
  }
  int size() const { return static_cast<int>(begins_.size()); }
  const char* operator[](int i) const { return text_.c_str() + begins_[static_cast<size_t>(i)]; }
  const char* info(int i) const {
    const char* name = (*this)[i];
    return name + (std::string_view(name).starts_with(root_) ? root_.size() : 0);
  }

 private:
  std::string root_;
  std::string text_;  // NUL-terminated names, one after the other
  std::vector<size_t> begins_;
};

// Written by one thread, then read by many.
struct SourceBatch {
  virtual ~SourceBatch() = default;
  int size = 0;     // samples
  int64_t end = 0;  // the source's position after this batch, if it counts (see Source)
  std::shared_ptr<const SampleNames> names;  // null if the source has no names
  // The id of each sample, which is the key of its random values. Empty: the ids continue those of
  // the batch before.
  std::vector<uint64_t> sample_ids;
  // A size of each sample, in any unit that grows with the time a sample takes. The executor starts
  // the largest samples first. Empty: unknown.
  std::vector<uint32_t> sizes;
};

// The names of the first of `sources` that has names, or null. `batches` are indexed by node.
inline const std::shared_ptr<const SampleNames>* find_names(
    std::span<const int> sources, std::span<const std::unique_ptr<SourceBatch>> batches) {
  for (const int node : sources)
    if (const auto& names = batches[static_cast<size_t>(node)]->names; names != nullptr)
      return &names;
  return nullptr;
}

}  // namespace torchdali
