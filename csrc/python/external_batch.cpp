// SPDX-License-Identifier: Apache-2.0
#include "python/external_batch.h"

#include <utility>

#include "python/torch_tensors.h"

namespace torchdali {
namespace {

SampleView view_of(const at::Tensor& t, const Layout& layout) {
  return {.data = t.data_ptr(),
          .dtype = from_scalar_type(t.scalar_type()),
          .shape = Shape({t.sizes().data(), t.sizes().size()}),
          .layout = layout};
}

}  // namespace

std::unique_ptr<ExternalBatch> to_external_batch(const py::object& data,
                                                 const std::string& layout_letters,
                                                 const std::vector<std::string>& source_names) {
  const Layout layout{std::string_view(layout_letters)};
  auto batch = std::make_unique<ExternalBatch>();
  auto owner = std::make_shared<ExternalTensors>();
  const auto add = [&](const at::Tensor& t) {
    TORCHDALI_CHECK_KIND(kType, (t.is_cpu() || t.is_cuda()) && t.layout() == at::kStrided,
                         "data must be dense tensors");
    batch->on_device = t.is_cuda();
    auto& kept = owner->tensors;
    kept.push_back(t.is_contiguous() && !t.is_neg() && !t.is_conj() ? t : t.contiguous());
    return view_of(kept.back(), {});
  };
  if (py::isinstance<py::list>(data)) {
    for (const auto item : py::cast<py::list>(data))
      batch->samples.push_back(add(py::cast<at::Tensor>(item)));
  } else {
    owner->whole = true;
    const SampleView whole = add(py::cast<at::Tensor>(data));
    TORCHDALI_CHECK(whole.shape.ndim() > 0, "a batch needs at least one dimension, the samples");
    SampleView sample{.data = whole.data,
                      .dtype = whole.dtype,
                      .shape = Shape(whole.shape.span().subspan(1)),
                      .layout = {}};
    // Of an empty tensor, torch accepts any other extents; Executor::feed() checks them.
    const int64_t bytes = owner->tensors[0].numel() == 0 ? 0 : sample.size_bytes();
    for (int64_t i = 0; i < whole.shape[0];
         ++i, sample.data = static_cast<char*>(sample.data) + bytes)
      batch->samples.push_back(sample);
  }
  for (SampleView& s : batch->samples) s.layout = layout;
  batch->size = static_cast<int>(batch->samples.size());
  batch->owner = std::move(owner);
  if (source_names.empty()) return batch;
  TORCHDALI_CHECK(std::ssize(source_names) == batch->size, "a batch of ", batch->size,
                  " samples has ", source_names.size(), " names of sources");
  auto names = std::make_shared<SampleNames>();
  for (const std::string& one : source_names) names->add([&](std::string& text) { text += one; });
  batch->names = std::move(names);
  return batch;
}

}  // namespace torchdali
