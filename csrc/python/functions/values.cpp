// SPDX-License-Identifier: Apache-2.0
#include "python/functions/values.h"

#include "kernels/window/strided_copy.h"
#include "python/arrays/dlpack_exchange.h"
#include "python/arrays/numpy_arrays.h"
#include "python/functions/callbacks.h"

namespace torchdali {
namespace {

std::string place_name(int gpu) { return gpu < 0 ? "the CPU" : str_cat("GPU ", gpu); }

ForeignView foreign(const ArrayView& array, nb::object owner) {
  (void)checked_size_bytes(array.view);
  ForeignView made;
  static_cast<ArrayView&>(made) = array;
  made.owner = std::move(owner);
  return made;
}

void check_device(nb::handle tensor, int gpu) {
  const auto device = nb::cast<std::string>(nb::str(nb::object(tensor.attr("device"))));
  TORCHDALI_CHECK_KIND(kUnsupported, device == (gpu < 0 ? "cpu" : str_cat("cuda:", gpu)),
                       "a tensor on device ", device, " was returned, the pipeline's is ",
                       place_name(gpu));
}

ForeignView from_tensor(nb::object tensor, int gpu) {
  const auto plain_view = [&] {
    tensor = callback("_plain_tensor")(tensor);
    return view_tensor(tensor);
  };
  ArrayView array;
  try {
    array = view_tensor(tensor);
  } catch (const nb::python_error&) {  // the tensor is sparse, or elsewhere
    check_device(tensor, gpu);
    array = plain_view();
  }
  if (array.gpu != gpu) check_device(tensor, gpu);
  if (is_negated(tensor, array.view.dtype)) array = plain_view();
  return foreign(array, std::move(tensor));
}

// Keeps the capsule, which owns its tensor, instead of consuming it.
ForeignView from_capsule(nb::handle capsule) {
  TORCHDALI_CHECK_KIND(kType, PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0,
                       "a capsule that holds no DLPack tensor, or one that was taken already");
  const auto& held =
      *static_cast<const dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  ArrayView array = dlpack::view_of(held.tensor);
  TORCHDALI_CHECK_KIND(kUnsupported, array.gpu < 0, "a DLPack tensor on ", place_name(array.gpu),
                       " was returned, the pipeline's is the CPU");
  return foreign(array, nb::borrow(capsule));
}

}  // namespace

ValueMaker::ValueMaker(ValueKind kind, std::shared_ptr<const void> owner)
    : kind_(kind), owner_(std::move(owner)) {
  if (kind_ == ValueKind::kNumpy)
    base_ = nb::capsule(new std::shared_ptr<const void>(owner_), [](void* p) noexcept {
      delete static_cast<std::shared_ptr<const void>*>(p);
    });
}

nb::object ValueMaker::operator()(const SampleView& view) const {
  switch (kind_) {
    case ValueKind::kTorch: return to_tensor(view, owner_);
    case ValueKind::kDlpack:
      return dlpack::to_capsule(dlpack::export_view<dlpack::ManagedTensor>(view, owner_));
    case ValueKind::kNumpy: break;
  }
  return to_array(view, base_);
}

nb::object make_device_value(ValueKind kind, const nb::object& tensor) {
  if (kind == ValueKind::kTorch) return tensor;
  return callback(kind == ValueKind::kDlpack ? "_to_capsule" : "_device_array")(tensor);
}

ForeignView ForeignView::slice(int64_t index) const {
  ForeignView out = *this;
  out.view.data = view.as<char>() + index * strides[0] * itemsize(view.dtype);
  out.view.shape = Shape(view.shape.span().subspan(1));
  out.strides = Shape(strides.span().subspan(1));
  out.packed = kernels::is_packed(out.view.shape, out.strides);
  return out;
}

ForeignView to_view(nb::handle object, int gpu) {
  if (is_tensor(object)) return from_tensor(nb::borrow(object), gpu);
  if (gpu < 0) {
    if (auto array = view_array(object)) return foreign(*array, nb::borrow(object));
    if (PyCapsule_CheckExact(object.ptr()) != 0 &&
        PyCapsule_IsValid(object.ptr(), "dltensor_versioned") == 0)
      return from_capsule(object);
  }
  // Takes everything that external_source takes, with the same errors.
  ForeignView out = from_tensor(callback("_as_tensor")(object, gpu), gpu);
  if (gpu >= 0) out.owner = nb::make_tuple(out.owner, object);
  return out;
}

}  // namespace torchdali
