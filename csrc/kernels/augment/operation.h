// SPDX-License-Identifier: Apache-2.0
// The operations of fn.augment.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// The numbers are those of the documentation of fn.augment.
enum class Operation : int8_t {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert,
  kHue,
  kGray,
  kTranslateXPart,
  kTranslateYPart,
  kCount,
};

struct Step {
  Operation operation = Operation::kIdentity;
  float magnitude = 0;
};

constexpr bool is_geometric(Operation operation) {
  return (operation >= Operation::kShearX && operation <= Operation::kRotate) ||
         operation >= Operation::kTranslateXPart;
}
// Whether results depend on all pixels.
constexpr bool needs_statistics(Operation operation) {
  return operation == Operation::kContrast || operation == Operation::kAutoContrast ||
         operation == Operation::kEqualize;
}
// Whether a pixel of the result depends on that pixel of the input only.
constexpr bool is_pixelwise(Operation operation) {
  return !is_geometric(operation) && !needs_statistics(operation) &&
         operation != Operation::kSharpness;
}

}  // namespace torchdali::kernels
