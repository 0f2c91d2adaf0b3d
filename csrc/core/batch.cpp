// SPDX-License-Identifier: Apache-2.0
#include "core/batch.h"

#include <algorithm>
#include <cstdlib>

#include "core/batch_context.h"

namespace torchdali {
namespace {

// Alignment of the slices of a block: what kernels prefer, and more than any element needs.
constexpr int64_t kAlign = 256;
int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

char* at_offset(const Storage& storage, int64_t offset) {
  return static_cast<char*>(storage.data()) + offset;
}

}  // namespace

Batch::Batch(int size, std::shared_ptr<StoragePool> pool)
    : pool_(std::move(pool)), own_(size), samples_(size) {}

// Null if there is not enough memory: allocated one by one, the samples may need less.
Storage Batch::acquire_for_all(int64_t sample_bytes) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(sample_bytes, static_cast<int64_t>(samples_.size()), &bytes))
    return {};
  try {
    return pool_->acquire(static_cast<size_t>(bytes));
  } catch (const Error&) {
    return {};
  }
}

// Which sample is the first one depends on the threads, so neither can be called the wrong one.
void Batch::check_alike(const SampleView& view) const {
  if (view.dtype != first_.dtype)
    throw BatchError(Error(ErrorKind::kRuntime,
                           str_cat("samples of a batch have one type, got ", dtype_name(view.dtype),
                                   " and ", dtype_name(first_.dtype))));
  if (view.shape.ndim() != first_.shape.ndim())
    throw BatchError(
        Error(ErrorKind::kRuntime,
              str_cat("samples of a batch have the same number of dimensions, got shapes ",
                      view.shape, " and ", first_.shape)));
  if (view.layout != first_.layout)
    throw BatchError(Error(ErrorKind::kLayout, str_cat("samples of a batch have one layout, got ",
                                                       view.layout, " and ", first_.layout)));
}

// Slices are packed into blocks: in pinned memory so that few copies transfer them, in memory of
// the host so that the pool can give them to later batches, because what malloc() gives back to the
// system costs page faults. These blocks are small, because one sample that the user keeps keeps
// its block.
Batch::Slice Batch::take_slice(int64_t bytes) {
  constexpr int64_t kHostBlock = int64_t{8} << 20;
  const bool on_host = pool_->memory_kind() == MemoryKind::kHost;
  if (on_host && bytes > kHostBlock / 2) return {Storage::on_host(static_cast<size_t>(bytes))};
  const std::lock_guard lock(mutex_);
  const int64_t size = aligned(bytes);
  const auto size_of_last = [&] {
    return static_cast<int64_t>(blocks_.back().storage.size_bytes());
  };
  if (blocks_.empty() || size_of_last() - blocks_.back().used < size) {
    int64_t expected = blocks_.empty() ? pool_->expected_bytes.load() : 0;
    if (on_host) expected = std::min(blocks_.empty() ? expected : 2 * size_of_last(), kHostBlock);
    blocks_.push_back({pool_->acquire(static_cast<size_t>(std::max(size, expected)))});
  }
  Block& block = blocks_.back();
  const Slice slice{block.storage, block.used};
  block.used += size;
  return slice;
}

void Batch::allocate(int index, SampleView& view) {
  const auto bytes = static_cast<int64_t>(checked_size_bytes(view));
  if (!started_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    if (!started_.load(std::memory_order_relaxed)) {
      if (!pool_->expect_ragged) shared_ = acquire_for_all(bytes);
      first_ = view;
      started_.store(true, std::memory_order_release);
    }
  }
  const bool shared = shared_ && view.shape == first_.shape;
  check_alike(view);
  if (shared) {
    view.data = at_offset(shared_, index * bytes);
  } else {
    own_[index] = take_slice(bytes);
    view.data = at_offset(own_[index].storage, own_[index].offset);
  }
  samples_[index] = view;
}

void Batch::allocate_all(std::span<const int> indices, std::span<SampleView* const> views) {
  if (views.empty()) return;
  first_ = *views[0];
  started_ = true;
  bool dense = static_cast<int>(views.size()) == size();
  int64_t total = 0;
  for (const SampleView* view : views) {
    check_alike(*view);
    const auto bytes = static_cast<int64_t>(checked_size_bytes(*view));
    const bool fits = !__builtin_add_overflow(total, aligned(bytes), &total);
    TORCHDALI_CHECK_KIND(kRuntime, fits, "out of memory: a batch is too large",
                         to_fix("use smaller batches"));
    dense = dense && view->shape == first_.shape;
  }
  const int64_t bytes = first_.size_bytes();
  const Storage storage =
      pool_->acquire(static_cast<size_t>(dense ? bytes * std::ssize(views) : total));
  if (dense) shared_ = storage;
  else blocks_.push_back({storage, total});
  int64_t offset = 0;
  for (size_t k = 0; k < views.size(); ++k) {
    const auto index = static_cast<size_t>(indices[k]);
    if (dense) offset = indices[k] * bytes;
    else own_[index] = {storage, offset};
    views[k]->data = at_offset(storage, offset);
    offset += aligned(views[k]->size_bytes());
    samples_[index] = *views[k];
  }
}

void Batch::share(std::span<const Batch* const> from, std::span<const int> indices,
                  std::span<SampleView* const> views) {
  if (views.empty()) return;
  first_ = *views[0];
  started_ = true;
  const Batch& first = *from[0];
  bool whole = static_cast<bool>(first.shared_) && static_cast<int>(views.size()) == size();
  const int64_t bytes = first_.size_bytes();
  for (size_t k = 0; k < views.size(); ++k) {
    check_alike(*views[k]);
    whole = whole && from[k] == &first && views[k]->shape == first_.shape &&
            views[k]->data == at_offset(first.shared_, indices[k] * bytes);
  }
  if (whole) shared_ = first.shared_;
  for (size_t k = 0; k < views.size(); ++k) {
    const auto index = static_cast<size_t>(indices[k]);
    if (!whole) {
      const Slice& own = from[k]->own_[index];
      const Storage& storage = own.storage ? own.storage : from[k]->shared_;
      own_[index] = {storage, static_cast<char*>(views[k]->data) - at_offset(storage, 0)};
    }
    samples_[index] = *views[k];
  }
}

void Batch::mirror(const Batch& from, const Copy& copy) {
  first_ = from.first_;
  started_ = from.started_.load();
  std::vector<std::pair<Storage, Storage>> made;  // from, to
  for (const Storage& storage : from.storages()) {
    auto bytes = static_cast<int64_t>(storage.size_bytes());
    if (from.shared_ && storage.is_alias_of(from.shared_))
      bytes = from.size() * first_.size_bytes();
    for (const Block& block : from.blocks_)
      if (storage.is_alias_of(block.storage)) bytes = block.used;
    Storage to = pool_->acquire(static_cast<size_t>(bytes));
    if (bytes > 0) copy(to, storage, bytes);
    made.emplace_back(storage, to);
  }
  const auto copy_of = [&](const Storage& storage) {
    const auto found = std::find_if(made.begin(), made.end(), [&](const auto& pair) {
      return pair.first.is_alias_of(storage);
    });
    return found->second;
  };
  if (from.shared_) shared_ = copy_of(from.shared_);
  for (size_t i = 0; i < samples_.size(); ++i) {
    samples_[i] = from.samples_[i];
    const Slice& slice = from.own_[i];
    if (slice.storage) {
      own_[i] = {copy_of(slice.storage), slice.offset};
      samples_[i].data = at_offset(own_[i].storage, slice.offset);
    } else if (shared_ && from.samples_[i].dtype != DType::kNone) {
      samples_[i].data = at_offset(shared_, static_cast<int64_t>(i) * first_.size_bytes());
    }
  }
}

std::optional<BatchTensor> Batch::dense() const {
  if (!shared_) return std::nullopt;
  for (const Slice& s : own_)
    if (s.storage) return std::nullopt;
  Shape shape{size()};
  for (int64_t extent : first_.shape) shape.push_back(extent);
  return BatchTensor{shared_, 0, first_.dtype, shape};
}

BatchTensor Batch::tensor(int index) const {
  const Slice& own = own_[index];
  if (own.storage) return {own.storage, own.offset, first_.dtype, samples_[index].shape};
  return {shared_, index * first_.size_bytes(), first_.dtype, samples_[index].shape};
}

std::vector<Storage> Batch::storages() const {
  std::vector<Storage> found;
  const auto add = [&](const Storage& storage) {
    if (!storage) return;
    for (const Storage& s : found)
      if (s.is_alias_of(storage)) return;
    found.push_back(storage);
  };
  add(shared_);
  for (const Slice& s : own_) add(s.storage);
  return found;
}

std::pair<int64_t, int64_t> Batch::reserved_bytes() const {
  const auto bytes = [](const Storage& s) {
    return s ? static_cast<int64_t>(s.size_bytes()) : int64_t{0};
  };
  int64_t total = bytes(shared_), largest = samples_.empty() ? 0 : total / size();
  for (size_t i = 0; i < own_.size(); ++i) {
    if (!own_[i].storage) continue;
    const int64_t own = blocks_.empty() ? bytes(own_[i].storage) : samples_[i].size_bytes();
    total += own;
    largest = std::max(largest, own);
  }
  return {total, largest};
}

void Batch::finish() {
  pool_->expect_ragged = std::any_of(samples_.begin(), samples_.end(), [&](const SampleView& s) {
    return !(s.shape == first_.shape);
  });
  int64_t packed = 0;
  for (const Block& block : blocks_) packed += block.used;
  if (packed > pool_->expected_bytes) pool_->expected_bytes = packed;
}

}  // namespace torchdali
