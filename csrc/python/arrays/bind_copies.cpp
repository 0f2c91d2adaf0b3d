// SPDX-License-Identifier: Apache-2.0
// What an external source does with the arrays of a batch: tensors over their memory, and copies in
// memory that is reused.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/memory/storage_pool.h"
#include "python/arrays/numpy_arrays.h"
#include "python/arrays/torch_tensors.h"
#include "python/bind.h"

namespace torchdali {
namespace {

// Tensors over the memory of a list of NumPy arrays; None unless all are packed arrays of one type
// with the same number of dimensions.
nb::object tensors_of_arrays(const nb::list& arrays) {
  std::vector<SampleView> views;
  views.reserve(arrays.size());
  for (const nb::handle array : arrays) {
    const auto found = view_array(array);
    if (!found || !found->packed) return nb::none();
    const SampleView& view = found->view;
    if (!views.empty() &&
        (view.dtype != views[0].dtype || view.shape.ndim() != views[0].shape.ndim()))
      return nb::none();
    views.push_back(view);
  }
  return make_list(views.size(),
                   [&](size_t i) { return to_tensor(views[i], keep_alive(arrays[i])); });
}

// Copies of packed tensors of the host. Those of a list share a block of memory.
class TensorCopies {
 public:
  nb::object copy(nb::handle tensor) {
    nb::list list;
    list.append(tensor);
    return copy_all(list)[0];
  }
  nb::list copy_all(const nb::list& tensors) {
    std::vector<SampleView> copies;
    copies.reserve(tensors.size());
    size_t total = 0;
    for (const nb::handle tensor : tensors) {
      const ArrayView array = view_tensor(tensor);
      TORCHDALI_ASSERT(array.packed && array.gpu < 0, "only packed tensors of the host");
      copies.push_back(array.view);
      total += aligned_bytes(array.view);
    }
    const std::shared_ptr<const void> owner = fill(copies, total);
    return make_list(copies.size(), [&](size_t i) { return to_tensor(copies[i], owner); });
  }
  void release_unused() { pool_.release_unused(); }

 private:
  static constexpr size_t kFew = 4;  // batches in flight
  static size_t aligned_bytes(const SampleView& view) {
    constexpr size_t kAlignment = 64;
    return (static_cast<size_t>(view.size_bytes()) + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::shared_ptr<const void> fill(std::vector<SampleView>& copies, size_t total) {
    const nb::gil_scoped_release release;
    const Storage storage = pool_.acquire(total);
    auto* to = static_cast<std::byte*>(storage.data());
    for (SampleView& copy : copies) {
      const void* from = std::exchange(copy.data, to);
      if (const int64_t bytes = copy.size_bytes(); bytes > 0)
        std::memcpy(to, from, static_cast<size_t>(bytes));
      to += aligned_bytes(copy);
    }
    return storage.block();
  }
  StoragePool pool_{kFew, true};
};

}  // namespace

void bind_copies(nb::module_& m) {
  m.def("tensors_of_arrays", &tensors_of_arrays, nb::arg("arrays"));
  nb::class_<TensorCopies>(m, "TensorCopies")
      .def(nb::init<>())
      .def("copy", &TensorCopies::copy, nb::arg("tensor"))
      .def("copy_all", &TensorCopies::copy_all, nb::arg("tensors"))
      .def("release_unused", &TensorCopies::release_unused);
}

}  // namespace torchdali
