// SPDX-License-Identifier: Apache-2.0
#include "python/output_rows.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace torchdali {
namespace {

// A type of the same size that torch indexes.
at::ScalarType indexable(at::ScalarType type) {
  switch (type) {
    case at::kUInt16: return at::kShort;
    case at::kUInt32: return at::kInt;
    case at::kUInt64: return at::kLong;
    default: return type;
  }
}

}  // namespace

py::object select_rows(const py::object& data, std::span<const int> rows) {
  if (!py::isinstance<py::list>(data)) {
    const auto tensor = py::cast<at::Tensor>(data);
    const std::vector<int64_t> indices(rows.begin(), rows.end());
    const at::ScalarType type = tensor.scalar_type();
    const at::Tensor chosen = at::index_select(tensor.view(indexable(type)), 0,
                                               at::tensor(indices, at::kLong).to(tensor.device()));
    return py::cast(chosen.view(type));
  }
  const auto all = py::cast<py::list>(data);
  py::list chosen;
  int last = -1;
  for (const int row : rows) {
    const auto tensor = py::cast<at::Tensor>(all[static_cast<size_t>(row)]);
    chosen.append(row == last ? at::clone(tensor) : tensor);
    last = row;
  }
  return chosen;
}

std::shared_ptr<const SampleNames> select_names(const std::shared_ptr<const SampleNames>& names,
                                                std::span<const int> rows) {
  if (names == nullptr) return nullptr;
  std::string_view root;
  for (const int row : rows) {
    const std::string_view whole = (*names)[row], info = names->info(row);
    if (whole.size() - info.size() > root.size())
      root = whole.substr(0, whole.size() - info.size());
  }
  auto chosen = std::make_shared<SampleNames>(root);
  for (const int row : rows) chosen->add([&](std::string& text) { text += (*names)[row]; });
  return chosen;
}

}  // namespace torchdali
