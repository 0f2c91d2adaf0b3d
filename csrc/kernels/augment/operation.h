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
  kPermuteChannels,
  kCount,
};

struct Step {
  Operation operation = Operation::kIdentity;
  float magnitude = 0;
};

constexpr bool is_geometric(Operation operation) {
  return (operation >= Operation::kShearX && operation <= Operation::kRotate) ||
         operation == Operation::kTranslateXPart || operation == Operation::kTranslateYPart;
}
// Which of 3 channels of the input becomes channel `c`, in the permutation of a number from 0 to 5
// in lexicographic order: two bits for each.
constexpr int permuted_channel(int number, int c) {
  constexpr int64_t kPermutations = int64_t{0x24} | int64_t{0x18} << 6 | int64_t{0x21} << 12 |
                                    int64_t{0x09} << 18 | int64_t{0x12} << 24 | int64_t{0x06} << 30;
  return static_cast<int>(kPermutations >> (6 * number + 2 * c)) & 3;
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
