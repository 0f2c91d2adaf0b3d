// SPDX-License-Identifier: Apache-2.0
// Index files whose lines are two numbers, as those of TFRecord and RecordIO are.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace torchdali::io {

// Calls `add(first, second, line)` for each line, which are counted from 1. Empty lines are
// skipped. Raises kData with the name of the index and the line if one is not two numbers of 0 or
// more.
void read_index_lines(std::string_view text, std::string_view name,
                      const std::function<void(int64_t, int64_t, int64_t)>& add);

}  // namespace torchdali::io
