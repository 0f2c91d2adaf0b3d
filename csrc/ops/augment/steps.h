// SPDX-License-Identifier: Apache-2.0
// The operations of fn.augment and their magnitudes, as a sample has them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/argument.h"
#include "kernels/augment/augment_image.h"
#include "kernels/augment/operation.h"

namespace torchdali {

using kernels::Operation;
using kernels::Step;

// Immutable; any thread.
class StepArgs {
 public:
  static constexpr int kMost = 16;
  explicit StepArgs(const OpSpec& spec)
      : operations_(spec, "operations"), magnitudes_(spec, "magnitudes"), order_(spec, "order") {}

  // The operations that change the image, in the order in which they run.
  int read(const SampleContext& ctx, const kernels::ImageExtents& image, Step* steps) const {
    thread_local std::vector<int64_t> operations;
    thread_local std::vector<float> magnitudes;
    const auto codes = operations_(ctx, operations);
    const auto by = magnitudes_(ctx, magnitudes);
    TORCHDALI_CHECK(codes.size() <= kMost, "`operations` has ", codes.size(),
                    " numbers, expected at most ", kMost);
    TORCHDALI_CHECK(by.size() == codes.size() || by.size() == 1, "`magnitudes` has ", by.size(),
                    " numbers, expected one for each of the ", codes.size(), " operations");
    // The permutation number `order` of the positions, in lexicographic order.
    int left[kMost];
    const int total = static_cast<int>(codes.size());
    for (int i = 0; i < total; ++i) left[i] = i;
    int64_t rest = order_(ctx), permutations = 1;
    for (int i = 2; i < total; ++i) permutations *= i;
    TORCHDALI_CHECK(rest >= 0 && (rest == 0 || rest < permutations * total), "`order` is ", rest,
                    ", expected the number of a permutation of ", total, " operations");
    int count = 0;
    for (int i = 0; i < total; ++i) {
      int* at = left + i + rest / permutations;
      rest %= permutations;
      if (i + 1 < total) permutations /= total - 1 - i;
      std::rotate(left + i, at, at + 1);
      const auto k = static_cast<size_t>(left[i]);
      TORCHDALI_CHECK(codes[k] >= 0 && codes[k] < static_cast<int64_t>(Operation::kCount),
                      "`operations` has ", codes[k], ", expected 0 to ",
                      static_cast<int>(Operation::kCount) - 1);
      const Step step{static_cast<Operation>(codes[k]), by[by.size() == 1 ? 0 : k]};
      TORCHDALI_CHECK(std::isfinite(step.magnitude), "`magnitudes` has ", step.magnitude,
                      ", expected finite numbers");
      if (changes(step, image)) steps[count++] = step;
    }
    return count;
  }

 private:
  static bool changes(const Step& step, const kernels::ImageExtents& image) {
    switch (step.operation) {
      case Operation::kIdentity: return false;
      case Operation::kColor: check_factor(step); return image.channels == 3 && step.magnitude != 1;
      case Operation::kBrightness:
      case Operation::kContrast:
      case Operation::kSharpness: check_factor(step); return step.magnitude != 1;
      case Operation::kHue:
        TORCHDALI_CHECK(std::abs(step.magnitude) <= 0.5f, "the hue turns by ", step.magnitude,
                        ", expected -0.5 to 0.5");
        return image.channels == 3;
      case Operation::kGray: return image.channels == 3;
      case Operation::kPermuteChannels:
        TORCHDALI_CHECK(step.magnitude >= 0 && step.magnitude <= 5 &&
                            step.magnitude == std::floor(step.magnitude),
                        "the permutation of channels is ", step.magnitude,
                        ", expected a whole number from 0 to 5");
        return image.channels == 3 && step.magnitude != 0;
      case Operation::kPosterize:
        TORCHDALI_CHECK(step.magnitude >= 0 && step.magnitude <= 8, "posterizing keeps ",
                        step.magnitude, " bits, expected 0 to 8");
        return true;
      default: return true;
    }
  }
  static void check_factor(const Step& step) {
    TORCHDALI_CHECK(step.magnitude >= 0, "a factor is ", step.magnitude, ", expected at least 0");
  }

  ListArg<int64_t> operations_;
  ListArg<float> magnitudes_;
  Arg<int64_t> order_;
};

}  // namespace torchdali
