// SPDX-License-Identifier: Apache-2.0
#include "core/batch.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>

namespace torchdali {
namespace {

constexpr at::ScalarType kScalarTypes[kNumDTypes] = {
    at::kByte, at::kUInt16, at::kUInt32, at::kUInt64, at::kChar,   at::kShort,
    at::kInt,  at::kLong,   at::kHalf,   at::kFloat,  at::kDouble, at::kBool};

c10::Storage allocate_storage(size_t size_bytes) {
  try {
    return at::detail::empty_cpu({static_cast<int64_t>(size_bytes)}, at::kByte).storage();
  } catch (const c10::Error&) {  // torch has no class of its own for it
    raise(ErrorKind::kRuntime, "out of memory: ", size_bytes, " bytes for an output");
  }
}

}  // namespace

at::ScalarType to_scalar_type(DType dtype) {
  TORCHDALI_ASSERT(dtype != DType::kNone, "");
  return kScalarTypes[static_cast<int>(dtype)];
}

DType from_scalar_type(at::ScalarType type) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kScalarTypes[i] == type) return static_cast<DType>(i);
  raise(ErrorKind::kType, "tensors of type ", c10::toString(type), " are not supported");
}

c10::Storage StoragePool::acquire(size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  for (const c10::Storage& s : kept_) {
    if (s.use_count() == 1 && s.nbytes() >= size_bytes && s.nbytes() / 2 <= size_bytes) return s;
  }
  c10::Storage fresh = allocate_storage(size_bytes);
  if (kept_.size() >=
      max_kept_) {  // one that nobody uses, else the oldest: whoever holds it keeps it
    auto victim = std::find_if(kept_.begin(), kept_.end(),
                               [](const c10::Storage& s) { return s.use_count() == 1; });
    kept_.erase(victim == kept_.end() ? kept_.begin() : victim);
  }
  kept_.push_back(fresh);
  return fresh;
}

void StoragePool::release_unused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [](const c10::Storage& s) { return s.use_count() == 1; });
}

Batch::Batch(int size, std::shared_ptr<StoragePool> pool)
    : pool_(std::move(pool)), own_(size), samples_(size) {}

// Null where there is no such memory: the samples may turn out to need less, one by one.
c10::Storage Batch::acquire_for_all(int64_t sample_bytes) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(sample_bytes, static_cast<int64_t>(samples_.size()), &bytes))
    return {};
  try {
    return pool_->acquire(static_cast<size_t>(bytes));
  } catch (const Error&) {
    return {};
  }
}

void Batch::allocate(int index, SampleView& view) {
  const auto bytes = static_cast<int64_t>(checked_size_bytes(view));
  std::unique_lock lock(mutex_);
  if (!started_) {
    if (!pool_->expect_ragged) shared_ = acquire_for_all(bytes);
    first_ = view;
    started_ = true;
  }
  const bool shared = shared_ && view.shape == first_.shape;
  lock.unlock();  // first_ and shared_ do not change any more
  TORCHDALI_CHECK_KIND(kRuntime, view.dtype == first_.dtype,
                       "samples of a batch have one type, got ", dtype_name(view.dtype), " and ",
                       dtype_name(first_.dtype));
  TORCHDALI_CHECK_KIND(kRuntime, view.shape.ndim() == first_.shape.ndim(),
                       "samples of a batch have the same number of dimensions, got shapes ",
                       view.shape, " and ", first_.shape);
  TORCHDALI_CHECK_KIND(kLayout, view.layout == first_.layout,
                       "samples of a batch have one layout, got ", view.layout, " and ",
                       first_.layout);
  if (shared) {
    view.data = static_cast<char*>(shared_.mutable_data()) + index * bytes;
  } else {
    own_[index] = allocate_storage(bytes);
    view.data = own_[index].mutable_data();
  }
  samples_[index] = view;
}

at::Tensor Batch::view_of(const c10::Storage& storage, int64_t offset, const Shape& shape) const {
  const auto type = c10::scalarTypeToTypeMeta(to_scalar_type(first_.dtype));
  at::Tensor t = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), type);
  t.unsafeGetTensorImpl()->set_sizes_contiguous(c10::IntArrayRef(shape.begin(), shape.end()));
  t.unsafeGetTensorImpl()->set_storage_offset(offset);
  return t;
}

std::optional<at::Tensor> Batch::dense() const {
  if (!shared_) return std::nullopt;
  for (const c10::Storage& s : own_)
    if (s) return std::nullopt;
  Shape shape{size()};
  for (int64_t extent : first_.shape) shape.push_back(extent);
  return view_of(shared_, 0, shape);
}

std::vector<at::Tensor> Batch::tensors() const {
  std::vector<at::Tensor> out;
  out.reserve(samples_.size());
  for (int i = 0; i < size(); ++i) {
    const bool own = static_cast<bool>(own_[i]);
    out.push_back(
        view_of(own ? own_[i] : shared_, own ? 0 : i * first_.volume(), samples_[i].shape));
  }
  return out;
}

std::pair<int64_t, int64_t> Batch::reserved_bytes() const {
  const auto bytes = [](const c10::Storage& s) {
    return s ? static_cast<int64_t>(s.nbytes()) : int64_t{0};
  };
  int64_t total = bytes(shared_), largest = samples_.empty() ? 0 : total / size();
  for (const c10::Storage& s : own_) {
    total += bytes(s);
    largest = std::max(largest, bytes(s));
  }
  return {total, largest};
}

void Batch::finish() {
  pool_->expect_ragged = std::any_of(samples_.begin(), samples_.end(), [&](const SampleView& s) {
    return !(s.shape == first_.shape);
  });
}

}  // namespace torchdali
