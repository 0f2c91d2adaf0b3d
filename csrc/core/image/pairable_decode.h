// SPDX-License-Identifier: Apache-2.0
// Decoding an image at the same time as another one, on one thread: the codes of one do not wait
// for those of the other. docs/design/jpeg.md.
#pragma once

#include "core/error.h"

namespace torchdali {

class PairableDecode {
 public:
  virtual ~PairableDecode() = default;
  // Decodes both. Called once. `other` is of the same kind.
  virtual void run_with(PairableDecode& other) = 0;
  // Whether the pixels have been written. If not, the image has to be decoded by itself.
  virtual bool is_complete() const = 0;
};

// Decodes both if there are two. Raises nothing: what fails is not complete.
inline void decode_together(PairableDecode* a, PairableDecode* b) {
  if (a == nullptr || b == nullptr) return;
  try {
    a->run_with(*b);
  } catch (const Error&) {  // of memory
    return;
  }
}

}  // namespace torchdali
