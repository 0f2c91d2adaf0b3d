// SPDX-License-Identifier: Apache-2.0
// Batch: one output of one iteration as torch tensors. The only header of core that sees ATen.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/view.h"

namespace torchdali {

at::ScalarType to_scalar_type(DType dtype);
// Fails for types that DALI has not (bfloat16, complex, ...).
DType from_scalar_type(at::ScalarType type);

// Memory of one output from iteration to iteration. A storage is used again only when nobody else
// holds it, so what the user keeps stays the user's. Any thread.
class StoragePool {
 public:
  explicit StoragePool(size_t max_kept) : max_kept_(max_kept) {}
  c10::Storage acquire(size_t size_bytes);
  void release_unused();
  // Whether the last batch was ragged: then one allocation for all samples is not tried.
  std::atomic<bool> expect_ragged{false};

 private:
  const size_t max_kept_;
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
  const SampleView& sample(int index) const { return samples_[index]; }
  int size() const { return static_cast<int>(samples_.size()); }
  const Layout& layout() const { return first_.layout; }

  // The [N, ...] tensor, where all samples have one shape. An empty batch has none.
  std::optional<at::Tensor> dense() const;
  // One tensor a sample; slices of dense() where there is one.
  std::vector<at::Tensor> tensors() const;
  // Bytes of the memory that the samples lie in: of all, and the greatest of one sample. Where all
  // lie in one storage, it counts to equal parts.
  std::pair<int64_t, int64_t> reserved_bytes() const;
  // To be called once when the batch is complete: remembers how the next is best laid out.
  void finish();

 private:
  c10::Storage acquire_for_all(int64_t sample_bytes);
  at::Tensor view_of(const c10::Storage& storage, int64_t offset, const Shape& shape) const;
  const std::shared_ptr<StoragePool> pool_;
  std::mutex mutex_;
  bool started_ = false;
  SampleView first_;     // of the first sample that was allocated: what the others are held against
  c10::Storage shared_;  // size * first_.size_bytes(), or null
  std::vector<c10::Storage> own_;  // of samples outside shared_
  std::vector<SampleView> samples_;
};

}  // namespace torchdali
