// SPDX-License-Identifier: Apache-2.0
// The outputs of an iteration in which samples failed: without them, or with copies of others.
#pragma once

#include <memory>
#include <span>

#include "core/source_batch.h"
#include "python/bind.h"

namespace torchdali {

// The samples `rows` of an output, each in memory of its own. `data`: a tensor whose first axis is
// the samples, or a list of tensors.
nb::object select_rows(const nb::object& data, std::span<const int> rows);
std::shared_ptr<const SampleNames> select_names(const std::shared_ptr<const SampleNames>& names,
                                                std::span<const int> rows);

}  // namespace torchdali
