// SPDX-License-Identifier: Apache-2.0
#include "python/functions/values.h"

#include <ATen/DLConvertor.h>
#include <pybind11/gil_safe_call_once.h>
#include <pybind11/numpy.h>
#include <torch/csrc/autograd/python_variable.h>

#include <array>

#include "kernels/window/strided_copy.h"
#include "python/functions/callbacks.h"
#include "python/torch_tensors.h"

namespace torchdali {
namespace {

// The numbers of NumPy's types (NPY_TYPES in ndarraytypes.h), whose order is part of its ABI.
enum NumpyType : int {
  kNpyBool,
  kNpyByte,
  kNpyUByte,
  kNpyShort,
  kNpyUShort,
  kNpyInt,
  kNpyUInt,
  kNpyLong,
  kNpyULong,
  kNpyLongLong,
  kNpyULongLong,
  kNpyFloat,
  kNpyDouble,
  kNpyHalf = 23
};

DType from_numpy_type(int number) {
  static_assert(sizeof(long) == 8 && sizeof(int) == 4);
  switch (number) {
    case kNpyBool: return DType::kBool;
    case kNpyByte: return DType::kInt8;
    case kNpyUByte: return DType::kUInt8;
    case kNpyShort: return DType::kInt16;
    case kNpyUShort: return DType::kUInt16;
    case kNpyInt: return DType::kInt32;
    case kNpyUInt: return DType::kUInt32;
    case kNpyLong:
    case kNpyLongLong: return DType::kInt64;
    case kNpyULong:
    case kNpyULongLong: return DType::kUInt64;
    case kNpyFloat: return DType::kFloat;
    case kNpyDouble: return DType::kFloat64;
    case kNpyHalf: return DType::kFloat16;
    default: return DType::kNone;
  }
}

using NumpyTypes = std::array<py::dtype, kNumDTypes>;

const py::dtype& numpy_dtype(DType dtype) {
  // Creating a dtype may release the GIL. With a plain static variable, another thread would wait
  // for the variable while it holds the GIL. Never freed, since the interpreter may end before
  // static objects do.
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<NumpyTypes> types;
  types.call_once_and_store_result([] {
    constexpr int kNumbers[kNumDTypes] = {kNpyUByte, kNpyUShort, kNpyUInt,   kNpyULong,
                                          kNpyByte,  kNpyShort,  kNpyInt,    kNpyLong,
                                          kNpyHalf,  kNpyFloat,  kNpyDouble, kNpyBool};
    NumpyTypes made;
    for (size_t i = 0; i < kNumDTypes; ++i) made[i] = py::dtype(kNumbers[i]);
    return made;
  });
  return types.get_stored()[static_cast<size_t>(dtype)];
}

ForeignView from_tensor(const at::Tensor& given, c10::Device device) {
  TORCHDALI_CHECK_KIND(kUnsupported, given.device() == device, "a tensor on device ",
                       given.device().str(), " was returned, the pipeline's is ",
                       device.is_cpu() ? "the CPU" : device.str());
  const bool plain = given.layout() == at::kStrided && !given.is_neg() && !given.is_conj();
  const at::Tensor t = plain ? given : given.to_dense().resolve_neg().resolve_conj();
  TORCHDALI_CHECK_KIND(kType, t.dim() <= kMaxDims, "a tensor of ", t.dim(), " dimensions");
  ForeignView out;
  out.view.data = t.data_ptr();
  out.view.dtype = from_scalar_type(t.scalar_type());
  out.view.shape = Shape({t.sizes().data(), t.sizes().size()});
  (void)checked_size_bytes(out.view);
  out.strides = Shape({t.strides().data(), t.strides().size()});
  out.packed = t.is_contiguous();
  out.owner = py::cast(t);
  return out;
}

DType from_dlpack_type(DLDataType type) {
  if (type.lanes != 1) return DType::kNone;
  int log = 0;
  while (log < 3 && (8 << log) != type.bits) ++log;
  if ((8 << log) != type.bits) return DType::kNone;
  switch (type.code) {
    case kDLUInt: return static_cast<DType>(static_cast<int>(DType::kUInt8) + log);
    case kDLInt: return static_cast<DType>(static_cast<int>(DType::kInt8) + log);
    case kDLFloat:
      return log == 0 ? DType::kNone
                      : static_cast<DType>(static_cast<int>(DType::kFloat16) + log - 1);
    case kDLBool: return log == 0 ? DType::kBool : DType::kNone;
    default: return DType::kNone;
  }
}

// Keeps the capsule, which owns its tensor, instead of consuming it.
ForeignView from_capsule(py::handle capsule) {
  TORCHDALI_CHECK_KIND(kType, PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0,
                       "a capsule that holds no DLPack tensor, or one that was taken already");
  const auto& t =
      static_cast<const DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))
          ->dl_tensor;
  TORCHDALI_CHECK_KIND(kUnsupported, t.device.device_type == kDLCPU,
                       "a DLPack tensor on device type ", static_cast<int>(t.device.device_type),
                       " was returned, the pipeline's is the CPU");
  ForeignView out;
  out.view.dtype = from_dlpack_type(t.dtype);
  TORCHDALI_CHECK_KIND(kType, out.view.dtype != DType::kNone, "DALI has no element type for ",
                       static_cast<int>(t.dtype.bits), " bits with DLPack's type code ",
                       static_cast<int>(t.dtype.code));
  TORCHDALI_CHECK(t.ndim >= 0 && t.ndim <= kMaxDims, "a DLPack tensor with ", t.ndim,
                  " dimensions, possible are 0 to ", kMaxDims);
  out.view.data = static_cast<char*>(t.data) + t.byte_offset;
  for (int i = 0; i < t.ndim; ++i) {
    TORCHDALI_CHECK(t.shape[i] >= 0, "a DLPack tensor with a negative extent");
    out.view.shape.push_back(t.shape[i]);
  }
  (void)checked_size_bytes(out.view);
  int64_t packed = out.view.volume();
  for (int i = 0; i < t.ndim; ++i) {  // no strides: packed
    packed = t.shape[i] == 0 ? 0 : packed / t.shape[i];
    out.strides.push_back(t.strides == nullptr ? packed : t.strides[i]);
  }
  out.packed = t.strides == nullptr || kernels::is_packed(out.view.shape, out.strides);
  out.owner = py::reinterpret_borrow<py::object>(capsule);
  return out;
}

py::object to_capsule(const at::Tensor& tensor) {
  DLManagedTensor* managed = at::toDLPack(tensor);
  // DLPack's protocol: a consumer renames the capsule. If no one consumed it, the capsule frees the
  // tensor.
  PyObject* capsule = PyCapsule_New(managed, "dltensor", [](PyObject* self) {
    if (PyCapsule_IsValid(self, "dltensor") == 0) return;
    auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(self, "dltensor"));
    if (m->deleter != nullptr) m->deleter(m);
  });
  if (capsule == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace

ValueMaker::ValueMaker(ValueKind kind, std::shared_ptr<const void> owner)
    : kind_(kind), owner_(std::move(owner)) {
  if (kind_ == ValueKind::kNumpy)
    base_ = py::capsule(new std::shared_ptr<const void>(owner_),
                        [](void* p) { delete static_cast<std::shared_ptr<const void>*>(p); });
}

py::object ValueMaker::operator()(const SampleView& view) const {
  switch (kind_) {
    case ValueKind::kTorch: return py::cast(to_tensor(view, owner_));
    case ValueKind::kDlpack: return to_capsule(to_tensor(view, owner_));
    case ValueKind::kNumpy: break;
  }
  return py::array(numpy_dtype(view.dtype),
                   py::array::ShapeContainer(view.shape.begin(), view.shape.end()), {}, view.data,
                   base_);
}

py::object make_device_value(ValueKind kind, const at::Tensor& tensor) {
  if (kind == ValueKind::kDlpack) return to_capsule(tensor);
  if (kind == ValueKind::kTorch || tensor.is_cpu()) return py::cast(tensor);
  return callback("_device_array")(tensor);
}

ForeignView ForeignView::slice(int64_t index) const {
  ForeignView out = *this;
  out.view.data = view.as<char>() + index * strides[0] * itemsize(view.dtype);
  out.view.shape = Shape(view.shape.span().subspan(1));
  out.strides = Shape(strides.span().subspan(1));
  out.packed = kernels::is_packed(out.view.shape, out.strides);
  return out;
}

ForeignView to_view(py::handle object, c10::Device device) {
  if (THPVariable_Check(object.ptr())) return from_tensor(py::cast<at::Tensor>(object), device);
  if (device.is_cpu() && py::isinstance<py::array>(object)) {
    const auto array = py::reinterpret_borrow<py::array>(object);
    const py::dtype type = array.dtype();
    ForeignView out;
    out.view.dtype = from_numpy_type(type.num());
    const int64_t item = itemsize(out.view.dtype);
    bool plain =
        out.view.dtype != DType::kNone && type.byteorder() != '>' && array.ndim() <= kMaxDims;
    for (int i = 0; plain && i < static_cast<int>(array.ndim()); ++i) {
      plain = array.strides(i) % item == 0;
      out.view.shape.push_back(array.shape(i));
      out.strides.push_back(array.strides(i) / item);
    }
    if (plain) {
      out.view.data = const_cast<void*>(array.data());  // NOLINT: read only
      out.packed = kernels::is_packed(out.view.shape, out.strides);
      out.owner = array;
      return out;
    }
  }
  if (device.is_cpu() && PyCapsule_IsValid(object.ptr(), "dltensor_versioned") == 0 &&
      PyCapsule_CheckExact(object.ptr()) != 0)
    return from_capsule(object);
  // Takes everything that external_source takes, with the same errors.
  const py::object convert = callback("_as_tensor");
  ForeignView out = from_tensor(
      py::cast<at::Tensor>(convert(object, device.is_cpu() ? -1 : device.index())), device);
  if (!device.is_cpu()) out.owner = py::make_tuple(out.owner, object);
  return out;
}

}  // namespace torchdali
