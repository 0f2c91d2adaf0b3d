// SPDX-License-Identifier: Apache-2.0
#include "python/external_batch.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/dtype.h"
#include "core/memory/storage.h"
#include "kernels/window/strided_copy.h"
#include "kernels/window/transpose.h"
#include "python/arrays/torch_tensors.h"
#include "python/dropped_objects.h"

namespace torchdali {

namespace {

// A tensor with the elements of an array of the host, packed. torch copies permuted axes slowly.
nb::object pack(const ArrayView& array) {
  const SampleView& from = array.view;
  const int ndim = from.shape.ndim();
  // The axes as they are in memory, the one with the largest stride first.
  std::array<int, kMaxDims> axes{};
  std::iota(axes.begin(), axes.begin() + ndim, 0);
  std::sort(axes.begin(), axes.begin() + ndim, [&](int a, int b) {
    const int64_t stride_a = array.strides[a], stride_b = array.strides[b];
    return stride_a > stride_b || (stride_a == stride_b && a < b);
  });
  Shape shape = from.shape, strides = from.shape;
  std::array<int, kMaxDims> perm{};
  for (int i = 0; i < ndim; ++i) {
    shape[i] = from.shape[axes[i]];
    strides[i] = array.strides[axes[i]];
    perm[axes[i]] = i;
  }
  SampleView to = from;
  std::shared_ptr<const void> owner;
  {
    const nb::gil_scoped_release release;
    const Storage storage = Storage::on_host(static_cast<size_t>(from.size_bytes()));
    to.data = storage.data();
    if (kernels::is_packed(shape, strides)) {
      kernels::transpose_axes(to.data, from.data, shape, {perm.data(), static_cast<size_t>(ndim)},
                              itemsize(from.dtype));
    } else {
      dispatch_dtype(to.dtype, [&]<class T>() {
        kernels::copy_strided(to.as<T>(), from.as<const T>(), to.shape, array.strides);
      });
    }
    owner = storage.block();
  }
  return to_tensor(to, std::move(owner));
}

}  // namespace

nb::object to_object(const ExternalBatch& batch) {
  return nb::borrow(static_cast<const PyObject*>(batch.owner.get()));
}

std::unique_ptr<ExternalBatch> to_external_batch(nb::object data, const std::string& layout_letters,
                                                 const std::vector<std::string>& source_names) {
  if (nb::isinstance<PyFedPart>(data)) {
    const auto part = nb::cast<PyFedPart>(data);
    return part.data->batch(part.index);
  }
  const Layout layout{std::string_view(layout_letters)};
  auto batch = std::make_unique<ExternalBatch>();
  // Makes the tensor contiguous, with its values in memory.
  const auto view_of = [&](nb::object& tensor) {
    ArrayView array = view_tensor(tensor);
    const bool negated = is_negated(tensor, array.view.dtype);
    if (!array.packed && !negated && array.gpu < 0 && array.view.volume() > 0) {
      tensor = pack(array);
      array = view_tensor(tensor);
    } else if (!array.packed || negated) {
      tensor = tensor.attr("resolve_neg")().attr("contiguous")();
      array = view_tensor(tensor);
    }
    batch->on_device = array.gpu >= 0;
    return array.view;
  };
  if (nb::isinstance<nb::list>(data)) {
    const auto given = nb::borrow<nb::list>(data);
    batch->samples.reserve(given.size());
    data = make_list(given.size(), [&](size_t i) {
      nb::object tensor = given[i];
      batch->samples.push_back(view_of(tensor));
      return tensor;
    });
  } else {
    const SampleView whole = view_of(data);
    TORCHDALI_CHECK(whole.shape.ndim() > 0, "a batch needs at least one dimension, the samples");
    SampleView sample{.data = whole.data,
                      .dtype = whole.dtype,
                      .shape = Shape(whole.shape.span().subspan(1)),
                      .layout = {}};
    // Of an empty tensor, torch accepts any other extents; Executor::feed() checks them.
    const int64_t bytes = whole.volume() == 0 ? 0 : sample.size_bytes();
    for (int64_t i = 0; i < whole.shape[0];
         ++i, sample.data = static_cast<char*>(sample.data) + bytes)
      batch->samples.push_back(sample);
  }
  for (SampleView& s : batch->samples) s.layout = layout;
  batch->size = static_cast<int>(batch->samples.size());
  batch->owner = keep_data(data);
  if (source_names.empty()) return batch;
  TORCHDALI_CHECK(std::ssize(source_names) == batch->size, "a batch of ", batch->size,
                  " samples has ", source_names.size(), " names of sources");
  auto names = std::make_shared<SampleNames>();
  for (const std::string& one : source_names) names->add([&](std::string& text) { text += one; });
  batch->names = std::move(names);
  return batch;
}

}  // namespace torchdali
