// SPDX-License-Identifier: Apache-2.0
// The functions of torchdali/pipeline/_callbacks.py.
#pragma once

#include "python/bind.h"

namespace torchdali {

inline nb::object callback(const char* name) {
  return nb::module_::import_("torchdali.pipeline._callbacks").attr(name);
}

}  // namespace torchdali
