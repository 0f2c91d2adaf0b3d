// SPDX-License-Identifier: Apache-2.0
// SourceBatch: what a source decided about one batch, and the names of its samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torchdali {

// The origins (paths, keys) of the samples of one batch. They reference nothing else of the batch,
// so keeping them keeps text and no data. Filled by next_batch(), or by a batch-wide operator.
class SampleNames {
 public:
  // `root`: a folder and its separator, which info() leaves out.
  explicit SampleNames(std::string_view root = {}) : root_(root) {}
  // The names of samples that an operator makes from other samples of the batch. A sample has the
  // name that it has in `base` until set_parts().
  explicit SampleNames(std::shared_ptr<const SampleNames> base)
      : base_(std::move(base)), made_(static_cast<size_t>(base_->size())) {}
  // Sample i was made from these samples of the base: its name is theirs, joined as in DALI.
  // Different samples may be set by different threads.
  void set_parts(int i, std::span<const int> parts) {
    Made made;
    for (const int part : parts) {
      if (!made.name.empty()) {
        made.name.push_back(';');
        made.info.push_back(';');
      }
      made.name += (*base_)[part];
      made.info += base_->info(part);
    }
    made_[static_cast<size_t>(i)] = std::move(made);
  }
  // Adds the name of one sample: calls `append(text)`, which appends to a std::string.
  template <class Append>
  void add(Append&& append) {
    begins_.push_back(text_.size());
    append(text_);
    text_.push_back('\0');
  }
  int size() const { return static_cast<int>(base_ != nullptr ? made_.size() : begins_.size()); }
  const char* operator[](int i) const {
    if (base_ == nullptr) return text_.c_str() + begins_[static_cast<size_t>(i)];
    const auto& made = made_[static_cast<size_t>(i)];
    return made ? made->name.c_str() : (*base_)[i];
  }
  const char* info(int i) const {
    if (base_ != nullptr) {
      const auto& made = made_[static_cast<size_t>(i)];
      return made ? made->info.c_str() : base_->info(i);
    }
    const char* name = (*this)[i];
    return name + (std::string_view(name).starts_with(root_) ? root_.size() : 0);
  }

 private:
  std::string root_;
  std::string text_;  // NUL-terminated names, one after the other
  std::vector<size_t> begins_;
  struct Made {
    std::string name, info;
  };
  std::shared_ptr<const SampleNames> base_;
  std::vector<std::optional<Made>> made_;  // if there is a base
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
    if (const auto& batch = batches[static_cast<size_t>(node)];
        batch != nullptr && batch->names != nullptr)
      return &batch->names;
  return nullptr;
}

}  // namespace torchdali
