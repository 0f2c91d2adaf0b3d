// SPDX-License-Identifier: Apache-2.0
#include "python/arrays/output_rows.h"

#include <string_view>
#include <vector>

#include "python/functions/callbacks.h"

namespace torchdali {

nb::object select_rows(const nb::object& data, std::span<const int> rows) {
  return callback("_select_rows")(data, std::vector<int>(rows.begin(), rows.end()));
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
