// SPDX-License-Identifier: Apache-2.0
#include "python/arrays/dlpack_exchange.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/window/strided_copy.h"

namespace torchdali::dlpack {
namespace {

constexpr const char* kTable = "__dlpack_c_exchange_api__";
constexpr Version kVersion{1, 0};

DType from_data_type(DataType type) {
  if (type.lanes != 1 || type.bits < 8 || type.bits > 64 || !std::has_single_bit(type.bits))
    return DType::kNone;
  const int log = std::countr_zero(type.bits) - 3;
  const auto nth = [&](DType first) { return static_cast<DType>(static_cast<int>(first) + log); };
  switch (type.code) {
    case kUInt: return nth(DType::kUInt8);
    case kInt: return nth(DType::kInt8);
    case kFloat:
      return log == 0 ? DType::kNone
                      : static_cast<DType>(static_cast<int>(DType::kFloat16) + log - 1);
    case kBool: return log == 0 ? DType::kBool : DType::kNone;
    default: return DType::kNone;
  }
}

DataType to_data_type(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * itemsize(dtype));
  if (dtype == DType::kBool) return {kBool, bits, 1};
  if (dtype >= DType::kFloat16) return {kFloat, bits, 1};
  return {dtype >= DType::kInt8 ? kInt : kUInt, bits, 1};
}

// What a capsule of an old torch, or one that the user's function returned, holds.
ManagedTensor* tensor_in(nb::handle capsule) {
  return static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
}

nb::object torch_dlpack(const char* function, nb::handle argument) {
  return nb::module_::import_("torch.utils.dlpack").attr(function)(argument);
}

// Calls fn() and returns 0, or -1 with the Python exception that it raised.
template <class Fn>
int guarded(Fn&& fn) {
  try {
    fn();
    return 0;
  } catch (nb::python_error& e) {
    e.restore();
    return -1;
  }
}

// The shape that `out` refers to is valid until the next call on this thread.
int view_by_capsule(void* object, Tensor* out) {
  return guarded([&] {
    const nb::object capsule = torch_dlpack("to_dlpack", static_cast<PyObject*>(object));
    const ManagedTensor* held = tensor_in(capsule);
    if (held == nullptr) throw nb::python_error();
    thread_local std::vector<int64_t> extents;
    const Tensor& t = held->tensor;
    extents.assign(t.shape, t.shape + t.ndim);
    extents.insert(extents.end(), t.strides, t.strides + t.ndim);
    *out = t;
    out->shape = extents.data();
    out->strides = extents.data() + t.ndim;
  });
}

int import_by_capsule(VersionedTensor* tensor, void** out) {
  return guarded([&] {
    auto* old = new ManagedTensor{tensor->tensor, tensor, [](ManagedTensor* self) {
                                    auto* newer = static_cast<VersionedTensor*>(self->context);
                                    newer->deleter(newer);
                                    delete self;
                                  }};
    *out = torch_dlpack("from_dlpack", to_capsule(old)).release().ptr();
  });
}

constexpr ExchangeTable kCapsules{.version = kVersion,
                                  .previous = nullptr,
                                  .allocate = nullptr,
                                  .export_object = nullptr,
                                  .import_object = import_by_capsule,
                                  .view_object = view_by_capsule,
                                  .current_stream = nullptr};

const ExchangeTable& find_table() {
  const nb::object type = nb::module_::import_("torch").attr("Tensor");
  if (!nb::hasattr(type, kTable)) return kCapsules;
  const auto* table = static_cast<const ExchangeTable*>(
      PyCapsule_GetPointer(nb::object(type.attr(kTable)).ptr(), "dlpack_exchange_api"));
  if (table == nullptr) throw nb::python_error();
  while (table != nullptr && table->version.major != kVersion.major) table = table->previous;
  return table == nullptr ? kCapsules : *table;
}

}  // namespace

ArrayView view_of(const Tensor& tensor) {
  ArrayView made;
  made.view.dtype = from_data_type(tensor.dtype);
  TORCHDALI_CHECK_KIND(kType, made.view.dtype != DType::kNone, "DALI has no element type for ",
                       static_cast<int>(tensor.dtype.bits), " bits with DLPack's type code ",
                       static_cast<int>(tensor.dtype.code));
  const int ndim = tensor.ndim;
  TORCHDALI_CHECK(ndim >= 0 && ndim <= kMaxDims, "an array with ", ndim,
                  " dimensions, possible are 0 to ", kMaxDims);
  TORCHDALI_CHECK(ndim == 0 || tensor.shape != nullptr, "an array without a shape");
  made.view.shape = Shape({tensor.shape, static_cast<size_t>(ndim)});
  for (const int64_t extent : made.view.shape)
    TORCHDALI_CHECK(extent >= 0, "an array with a negative extent");
  if (tensor.strides == nullptr) made.strides = kernels::packed_strides(made.view.shape);
  else made.strides = Shape({tensor.strides, static_cast<size_t>(ndim)});
  made.packed = kernels::is_packed(made.view.shape, made.strides);
  made.view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (tensor.device.type == kCuda) made.gpu = tensor.device.index;
  else
    TORCHDALI_CHECK_KIND(kUnsupported,
                         tensor.device.type == kCpu || tensor.device.type == kCudaHost,
                         "an array on DLPack's device type ", tensor.device.type);
  return made;
}

template <class Managed>
Managed* export_view(const SampleView& view, std::shared_ptr<const void> owner) {
  struct Export {
    Managed managed{};
    std::shared_ptr<const void> owner;
    int64_t shape[kMaxDims], strides[kMaxDims];
  };
  auto* made = new Export;
  made->owner = std::move(owner);
  const int ndim = view.shape.ndim();
  const Shape strides = kernels::packed_strides(view.shape);
  std::copy_n(view.shape.begin(), ndim, made->shape);
  std::copy_n(strides.begin(), ndim, made->strides);
  Managed& managed = made->managed;
  managed.tensor = {.data = view.data,
                    .device = {kCpu, 0},
                    .ndim = ndim,
                    .dtype = to_data_type(view.dtype),
                    .shape = made->shape,
                    .strides = made->strides,
                    .byte_offset = 0};
  managed.context = made;
  managed.deleter = [](Managed* self) { delete static_cast<Export*>(self->context); };
  if constexpr (requires { managed.version; }) managed.version = kVersion;
  return &managed;
}

template ManagedTensor* export_view(const SampleView&, std::shared_ptr<const void>);
template VersionedTensor* export_view(const SampleView&, std::shared_ptr<const void>);

nb::object to_capsule(ManagedTensor* tensor) {
  // DLPack's protocol: a consumer renames the capsule.
  PyObject* capsule = PyCapsule_New(tensor, "dltensor", [](PyObject* self) {
    if (PyCapsule_IsValid(self, "dltensor") == 0) return;
    ManagedTensor* held = tensor_in(self);
    if (held->deleter != nullptr) held->deleter(held);
  });
  if (capsule == nullptr) throw nb::python_error();
  return nb::steal(capsule);
}

const ExchangeTable& torch_table() {
  static const ExchangeTable* table = nullptr;  // guarded by the GIL; finding it may release that
  if (table == nullptr) table = &find_table();
  return *table;
}

}  // namespace torchdali::dlpack
