// SPDX-License-Identifier: Apache-2.0
// Batches that the user passes to an external source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/source.h"
#include "python/bind.h"

namespace torchdali {

// The batch of one iteration, of data for several.
struct PyFedPart {
  std::shared_ptr<const FedData> data;
  int64_t index = 0;
};

// The data of a batch as it came, made contiguous.
nb::object to_object(const ExternalBatch& batch);

// `data`: a PyFedPart, a list of tensors, or one whose first axis is the samples. Tensors that are
// not contiguous are copied. `source_names`: of the samples, for errors; may be empty.
std::unique_ptr<ExternalBatch> to_external_batch(nb::object data, const std::string& layout_letters,
                                                 const std::vector<std::string>& source_names);

}  // namespace torchdali
