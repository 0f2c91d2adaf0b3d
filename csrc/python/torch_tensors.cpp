// SPDX-License-Identifier: Apache-2.0
#include "python/torch_tensors.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/TensorImpl.h>

#include <utility>

namespace torchdali {
namespace {

constexpr at::ScalarType kScalarTypes[kNumDTypes] = {
    at::kByte, at::kUInt16, at::kUInt32, at::kUInt64, at::kChar,   at::kShort,
    at::kInt,  at::kLong,   at::kHalf,   at::kFloat,  at::kDouble, at::kBool};

c10::IntArrayRef sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// Memory that torch has allocated stays in the storage that torch made, because torch's allocators
// find streams that use the memory by it.
at::Tensor view_of_torch(const BatchTensor& tensor) {
  const auto& bytes = *static_cast<const at::Tensor*>(tensor.storage.owner().get());
  const auto key = bytes.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(bytes.storage()), c10::DispatchKeySet(key),
      c10::scalarTypeToTypeMeta(to_scalar_type(tensor.dtype)));
  made.unsafeGetTensorImpl()->set_sizes_contiguous(sizes_of(tensor.shape));
  made.unsafeGetTensorImpl()->set_storage_offset(tensor.offset / itemsize(tensor.dtype));
  return made;
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

at::Tensor to_tensor(const SampleView& view, std::shared_ptr<const void> owner) {
  return at::from_blob(
      view.data, sizes_of(view.shape), [owner = std::move(owner)](void*) {},
      at::TensorOptions(to_scalar_type(view.dtype)));
}

at::Tensor to_tensor(const BatchTensor& tensor) {
  if (tensor.storage.kind() != MemoryKind::kHost) return view_of_torch(tensor);
  const SampleView view{.data = static_cast<char*>(tensor.storage.data()) + tensor.offset,
                        .dtype = tensor.dtype,
                        .shape = tensor.shape,
                        .layout = {}};
  return to_tensor(view, tensor.storage.block());
}

std::vector<at::Tensor> to_tensors(const Batch& batch) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(static_cast<size_t>(batch.size()));
  for (int i = 0; i < batch.size(); ++i) tensors.push_back(to_tensor(batch.tensor(i)));
  return tensors;
}

}  // namespace torchdali
