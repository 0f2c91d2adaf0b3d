// SPDX-License-Identifier: Apache-2.0
// BatchError: an error about a batch as a whole.
#pragma once

#include "core/error.h"

namespace torchdali {

// The batch fails, whatever happens to single samples that fail (OnError): it is not known which
// sample is wrong.
class BatchError : public Error {
 public:
  explicit BatchError(const Error& error) : Error(error) {}
};

}  // namespace torchdali
