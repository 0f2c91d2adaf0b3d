// SPDX-License-Identifier: Apache-2.0
// Decoding an image at the same time as others, on one thread: the codes of one do not wait for
// those of the other. docs/design/jpeg.md.
#pragma once

namespace torchdali {

class PairableDecode {
 public:
  virtual ~PairableDecode() = default;
  // Decodes both until one of them is done. `other` is of the same kind, and neither is done.
  // Raises nothing.
  virtual void run_with(PairableDecode& other) = 0;
  // Whether it has no more use for another one.
  virtual bool is_done() const = 0;
  // Decodes the rest. Returns whether the pixels have been written. If not, the image has to be
  // decoded in another way.
  virtual bool finish() = 0;
};

}  // namespace torchdali
