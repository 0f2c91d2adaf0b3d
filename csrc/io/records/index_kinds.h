// SPDX-License-Identifier: Apache-2.0
// The kinds of containers that have an index, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/records/index_files.h"

namespace torchdali::io {

std::vector<std::string> index_kind_names();
// Raises kValue for another name.
const IndexKind& find_index_kind(std::string_view name);

}  // namespace torchdali::io
