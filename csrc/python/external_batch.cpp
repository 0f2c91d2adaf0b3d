// SPDX-License-Identifier: Apache-2.0
#include "python/external_batch.h"

#include <utility>

#include "python/arrays/torch_tensors.h"
#include "python/dropped_objects.h"

namespace torchdali {

nb::object to_object(const ExternalBatch& batch) {
  return nb::borrow(static_cast<const PyObject*>(batch.owner.get()));
}

std::unique_ptr<ExternalBatch> to_external_batch(nb::object data, const std::string& layout_letters,
                                                 const std::vector<std::string>& source_names) {
  const Layout layout{std::string_view(layout_letters)};
  auto batch = std::make_unique<ExternalBatch>();
  // Makes the tensor contiguous, with its values in memory.
  const auto view_of = [&](nb::object& tensor) {
    ArrayView array = view_tensor(tensor);
    if (!array.packed || is_negated(tensor, array.view.dtype)) {
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
