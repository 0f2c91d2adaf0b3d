// SPDX-License-Identifier: Apache-2.0
// Batch: one output of one iteration as torch tensors. The only header of core that sees ATen.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/place.h"
#include "core/view.h"

namespace torchdali {

at::ScalarType to_scalar_type(DType dtype);
// Fails for types that DALI has not (bfloat16, complex, ...).
DType from_scalar_type(at::ScalarType type);

// Memory of one output from iteration to iteration. A storage is used again only when nobody else
// holds it, so what the user keeps stays the user's. Any thread. Of pinned and device memory torch
// itself keeps what is let go, and knows which streams still use it.
class StoragePool {
 public:
  explicit StoragePool(size_t max_kept, Place place = Place::kHost,
                       c10::Device device = c10::Device(c10::kCPU))
      : max_kept_(max_kept), place_(place), device_(device) {}
  c10::Storage acquire(size_t size_bytes);
  void release_unused();
  Place place() const { return place_; }
  c10::Device device() const { return device_; }
  // Whether the last batch was ragged: then one allocation for all samples is not tried.
  std::atomic<bool> expect_ragged{false};
  // Bytes of the greatest ragged batch in pinned memory: what is taken at once for the next.
  std::atomic<int64_t> expected_bytes{0};

 private:
  const size_t max_kept_;
  const Place place_;
  const c10::Device device_;
  std::mutex mutex_;
  std::vector<c10::Storage> kept_;
};

// Filled by many threads, each sample once; read after the last one.
class Batch {
 public:
  Batch(int size, std::shared_ptr<StoragePool> pool);

  // Memory for sample `index` as described by `view`; sets view.data. All samples agree in dtype,
  // layout and number of dimensions. Where shapes agree too, the samples are slices of one tensor.
  void allocate(int index, SampleView& view);
  // The same for all samples at once: one block of memory. `indices[k]` is the sample of views[k].
  void allocate_all(std::span<const int> indices, std::span<SampleView* const> views);
  // Makes sample indices[k] a view of that of the batch from[k]; `views` have their data pointers.
  void share(std::span<const Batch* const> from, std::span<const int> indices,
             std::span<SampleView* const> views);
  // Lays the batch out as `from` is, and calls copy(to, from, bytes) for each block of its memory.
  using Copy = std::function<void(const c10::Storage& to, const c10::Storage& from, int64_t bytes)>;
  void mirror(const Batch& from, const Copy& copy);
  const SampleView& sample(int index) const { return samples_[index]; }
  int size() const { return static_cast<int>(samples_.size()); }
  const Layout& layout() const { return first_.layout; }
  Place place() const { return pool_->place(); }

  // The [N, ...] tensor, where all samples have one shape. An empty batch has none.
  std::optional<at::Tensor> dense() const;
  // One tensor a sample; slices of dense() where there is one.
  std::vector<at::Tensor> tensors() const;
  // The tensor of one sample, which was made. It shares the storage.
  at::Tensor tensor(int index) const;
  // The blocks of memory that samples lie in.
  std::vector<c10::Storage> storages() const;
  // Bytes of the memory that the samples lie in: of all, and the greatest of one sample. Where all
  // lie in one storage, it counts to equal parts.
  std::pair<int64_t, int64_t> reserved_bytes() const;
  // To be called once when the batch is complete: remembers how the next is best laid out.
  void finish();

 private:
  // Memory of one sample that lies outside shared_.
  struct Slice {
    c10::Storage storage;
    int64_t offset = 0;  // bytes
  };
  // A block that samples are packed into, one after the other.
  struct Block {
    c10::Storage storage;
    int64_t used = 0;
  };
  c10::Storage acquire_for_all(int64_t sample_bytes);
  void check_alike(const SampleView& view) const;
  Slice take_slice(int64_t bytes);
  at::Tensor view_of(const c10::Storage& storage, int64_t byte_offset, const Shape& shape) const;
  const std::shared_ptr<StoragePool> pool_;
  std::mutex mutex_;
  bool started_ = false;
  SampleView first_;     // of the first sample that was allocated: what the others are held against
  c10::Storage shared_;  // size * first_.size_bytes(), or null
  std::vector<Slice> own_;     // of samples outside shared_
  std::vector<Block> blocks_;  // that slices were taken of
  std::vector<SampleView> samples_;
};

}  // namespace torchdali
