// SPDX-License-Identifier: Apache-2.0
#include "python/arrays/torch_tensors.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "python/arrays/dlpack_exchange.h"
#include "python/arrays/gpu_tensors.h"

namespace torchdali {
namespace {

nb::handle tensor_class() {
  static PyObject* found = nullptr;  // guarded by the GIL; importing may release that
  if (found == nullptr)
    found = nb::object(nb::module_::import_("torch").attr("Tensor")).release().ptr();
  return found;
}

// Names the type as torch does.
ArrayView checked_view(const dlpack::Tensor& found, nb::handle tensor) {
  try {
    return dlpack::view_of(found);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kType) throw;
    raise(ErrorKind::kType, "tensors of type ",
          nb::cast<std::string>(nb::str(nb::object(tensor.attr("dtype")))), " are not supported");
  }
}

}  // namespace

bool is_tensor(nb::handle object) {
  const nb::handle type = tensor_class();
  if (object.type().is(type)) return true;
  const int is = PyObject_IsInstance(object.ptr(), type.ptr());
  if (is < 0) throw nb::python_error();
  return is != 0;
}

bool is_negated(nb::handle tensor, DType dtype) {
  const bool can_be =
      dtype == DType::kFloat || dtype == DType::kFloat64 || dtype == DType::kFloat16;
  return can_be && nb::cast<bool>(tensor.attr("is_neg")());
}

ArrayView view_tensor(nb::handle tensor) {
  dlpack::Tensor found;
  if (dlpack::torch_table().view_object(tensor.ptr(), &found) != 0) throw nb::python_error();
  return checked_view(found, tensor);
}

nb::object to_tensor(const SampleView& view, std::shared_ptr<const void> owner) {
  void* made = nullptr;
  if (dlpack::torch_table().import_object(
          dlpack::export_view<dlpack::VersionedTensor>(view, std::move(owner)), &made) != 0)
    throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(made));
}

nb::object to_tensor(const BatchTensor& tensor) {
  if (tensor.storage.kind() != MemoryKind::kHost) return to_tensors({&tensor, 1})[0];
  const SampleView view{.data = static_cast<char*>(tensor.storage.data()) + tensor.offset,
                        .dtype = tensor.dtype,
                        .shape = tensor.shape,
                        .layout = {}};
  return to_tensor(view, tensor.storage.block());
}

nb::list to_tensors(std::span<const BatchTensor> tensors) {
  const auto on_host = [](const BatchTensor& t) { return t.storage.kind() == MemoryKind::kHost; };
  if (std::any_of(tensors.begin(), tensors.end(), on_host))
    return make_list(tensors.size(), [&](size_t i) { return to_tensor(tensors[i]); });
  PyObject* made = to_python_tensors(tensors);
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::list>(made);
}

nb::list to_tensors(const Batch& batch) {
  std::vector<BatchTensor> tensors;
  tensors.reserve(static_cast<size_t>(batch.size()));
  for (int i = 0; i < batch.size(); ++i) tensors.push_back(batch.tensor(i));
  return to_tensors(tensors);
}

}  // namespace torchdali
