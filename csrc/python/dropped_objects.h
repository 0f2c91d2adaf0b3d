// SPDX-License-Identifier: Apache-2.0
// The data of sources, which threads without the GIL drop.
#pragma once

#include <memory>

#include "python/bind.h"

namespace torchdali {

// A reference to `object` that any thread may drop without waiting for the GIL. The object is
// released by the next call of release_dropped().
std::shared_ptr<void> keep_data(nb::handle object);
// Needs the GIL. Whatever runs or closes a pipeline calls it.
void release_dropped();

}  // namespace torchdali
