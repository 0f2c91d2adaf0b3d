// SPDX-License-Identifier: Apache-2.0
// Batch: one output of one iteration as tensors.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/memory/storage_pool.h"
#include "core/view.h"

namespace torchdali {

// A tensor of a batch. Its elements are contiguous.
struct BatchTensor {
  Storage storage;
  int64_t offset = 0;  // bytes
  DType dtype = DType::kNone;
  Shape shape;
};

// Written by many threads, each sample once; read after the last one.
class Batch {
 public:
  Batch(int size, std::shared_ptr<StoragePool> pool);

  // Allocates memory for sample `index` as `view` describes it; sets view.data. All samples must
  // have the same dtype, layout and number of dimensions. If they also have the same shape, they
  // are slices of one tensor.
  void allocate(int index, SampleView& view);
  // The same for all samples in one block of memory. `indices[k]` is the sample of views[k].
  void allocate_all(std::span<const int> indices, std::span<SampleView* const> views);
  // Makes sample indices[k] a view of that sample in the batch from[k]; `views` have data pointers.
  void share(std::span<const Batch* const> from, std::span<const int> indices,
             std::span<SampleView* const> views);
  // Gives the batch the memory layout of `from` and calls copy(to, from, bytes) for each block.
  using Copy = std::function<void(const Storage& to, const Storage& from, int64_t bytes)>;
  void mirror(const Batch& from, const Copy& copy);
  const SampleView& sample(int index) const { return samples_[index]; }
  int size() const { return static_cast<int>(samples_.size()); }
  const Layout& layout() const { return first_.layout; }
  MemoryKind memory_kind() const { return pool_->memory_kind(); }

  // The [N, ...] tensor if all samples have one shape. nullopt for an empty batch.
  std::optional<BatchTensor> dense() const;
  // The tensor of one sample that was allocated; a slice of dense() if there is one.
  BatchTensor tensor(int index) const;
  // The storages of the samples.
  std::vector<Storage> storages() const;
  // Bytes of memory: of all samples, and the largest of one sample. A storage that all samples
  // share counts in equal parts.
  std::pair<int64_t, int64_t> reserved_bytes() const;
  // Called once when the batch is complete. Remembers for the next batch whether it was ragged.
  void finish();

 private:
  // Memory of one sample outside of shared_.
  struct Slice {
    Storage storage;
    int64_t offset = 0;  // bytes
  };
  // A storage that samples are packed into, one after the other.
  struct Block {
    Storage storage;
    int64_t used = 0;
  };
  Storage acquire_for_all(int64_t sample_bytes);
  void check_alike(const SampleView& view) const;
  Slice take_slice(int64_t bytes);
  const std::shared_ptr<StoragePool> pool_;
  // first_ and shared_ are set; they do not change any more. Most samples need no lock then.
  std::atomic<bool> started_ = false;
  SampleView first_;        // the first sample that was allocated; the others must match it
  Storage shared_;          // size * first_.size_bytes(), or null
  std::vector<Slice> own_;  // per sample; null storage: in shared_
  std::vector<SampleView> samples_;
  // In a cache line without the members that are read for every sample.
  alignas(64) std::mutex mutex_;
  std::vector<Block> blocks_;  // the storages of slices
};

}  // namespace torchdali
