// SPDX-License-Identifier: Apache-2.0
#include "gpu/torch_memory.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <array>

#include "core/error.h"
#include "kernels/window/strided_copy.h"

namespace torchdali::gpu {
namespace {

constexpr int64_t kDense = 1;  // the stride of a list of bytes

int32_t torch_dtype(DType dtype) {
  constexpr std::array<int32_t (*)(), kNumDTypes> kTypes = {
      aoti_torch_dtype_uint8,   aoti_torch_dtype_uint16,  aoti_torch_dtype_uint32,
      aoti_torch_dtype_uint64,  aoti_torch_dtype_int8,    aoti_torch_dtype_int16,
      aoti_torch_dtype_int32,   aoti_torch_dtype_int64,   aoti_torch_dtype_float16,
      aoti_torch_dtype_float32, aoti_torch_dtype_float64, aoti_torch_dtype_bool};
  return kTypes[static_cast<size_t>(dtype)]();
}

// Makes a tensor in pinned memory. Torch 2.8 cannot; then it is in other memory, from which copies
// are slower.
auto pinned_function() {
  using Function = decltype(&aoti_torch_empty_strided);
  static const auto found =
      reinterpret_cast<Function>(find_in_torch("aoti_torch_empty_strided_pinned"));
  return found == nullptr ? &aoti_torch_empty_strided : found;
}

// The owner of a storage.
class TorchMemory {
 public:
  explicit TorchMemory(TorchTensor bytes) : bytes_(std::move(bytes)) {}
  ~TorchMemory() {
    if (retired_ != nullptr) retired_->add(std::move(bytes_));
  }
  TorchMemory(const TorchMemory&) = delete;
  TorchMemory& operator=(const TorchMemory&) = delete;
  void retire_through(std::shared_ptr<RetiredMemory> retired) const {
    retired_ = std::move(retired);
  }
  AtenTensorHandle bytes() const { return bytes_.get(); }

 private:
  TorchTensor bytes_;
  mutable std::shared_ptr<RetiredMemory> retired_;
};

const TorchMemory& memory_of(const Storage& storage) {
  TORCHDALI_ASSERT(storage.kind() != MemoryKind::kHost, "");
  return *static_cast<const TorchMemory*>(storage.owner().get());
}

TorchTensor first_bytes(const Storage& storage, int64_t bytes) {
  if (storage.kind() != MemoryKind::kHost)
    return tensor_of({storage, 0, DType::kUInt8, Shape{bytes}});
  AtenTensorHandle made = nullptr;
  check_torch(aoti_torch_create_tensor_from_blob(storage.data(), 1, &bytes, &kDense, 0,
                                                 aoti_torch_dtype_uint8(),
                                                 aoti_torch_device_type_cpu(), 0, &made));
  return TorchTensor(made);
}

}  // namespace

void RetiredMemory::add(TorchTensor memory) {
  try {
    const std::lock_guard lock(mutex_);
    kept_.emplace_back(used_.mark(), std::move(memory));
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // The GPU has failed, and nothing runs on it any more.
  }
}

// Tensors are deleted without the lock: if Python knows their storage, that takes the GIL.
void RetiredMemory::release_done() {
  Kept done;
  const std::lock_guard lock(mutex_);
  while (!kept_.empty() && kept_.front().first->is_done()) {
    done.push_back(std::move(kept_.front()));
    kept_.pop_front();
  }
}

bool RetiredMemory::release_all() {
  Kept all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(kept_);
  }
  if (all.empty()) return false;
  try {
    const Event& last = *all.back().first;
    allocated_.wait_for(last);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): as above
  }
  return true;
}

Storage allocate_in_torch(MemoryKind kind, size_t size_bytes, int device) {
  const bool on_gpu = kind == MemoryKind::kDevice && device >= 0;
  const bool pinned = kind == MemoryKind::kPinned && device >= 0;
  const auto size = static_cast<int64_t>(size_bytes);
  AtenTensorHandle made = nullptr;
  const AOTITorchError error = (pinned ? pinned_function() : &aoti_torch_empty_strided)(
      1, &size, &kDense, aoti_torch_dtype_uint8(),
      on_gpu ? aoti_torch_device_type_cuda() : aoti_torch_device_type_cpu(), on_gpu ? device : 0,
      &made);
  if (error != AOTI_TORCH_SUCCESS) return {};
  auto memory = std::make_shared<const TorchMemory>(TorchTensor(made));
  void* data = nullptr;
  check_torch(aoti_torch_get_data_ptr(made, &data));
  return {data, size_bytes, kind, std::move(memory)};
}

void retire_through(const Storage& storage, std::shared_ptr<RetiredMemory> retired) {
  memory_of(storage).retire_through(std::move(retired));
}

TorchTensor tensor_of(const BatchTensor& tensor) {
  const Shape& shape = tensor.shape;
  const Shape strides = kernels::packed_strides(shape);
  AtenTensorHandle made = nullptr;
  check_torch(aoti_torch__alloc_from_pool(memory_of(tensor.storage).bytes(), tensor.offset,
                                          torch_dtype(tensor.dtype), shape.ndim(), shape.begin(),
                                          strides.begin(), &made));
  return TorchTensor(made);
}

void copy_bytes(const Storage& to, const Storage& from, int64_t bytes) {
  const TorchTensor target = first_bytes(to, bytes), source = first_bytes(from, bytes);
  check_torch(aoti_torch_copy_(target.get(), source.get(), /*non_blocking=*/1));
}

}  // namespace torchdali::gpu
