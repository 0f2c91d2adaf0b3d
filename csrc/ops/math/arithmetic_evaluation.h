// SPDX-License-Identifier: Apache-2.0
// Evaluates the steps of an expression for one sample, in tiles that stay in the L1 cache. The
// result of a step is stored as a whole only if it is smaller than the values that it is combined
// with.
#pragma once

#include <span>

#include "core/operator.h"
#include "ops/math/arithmetic_program.h"

namespace torchdali {

// The result of a step, for one sample.
struct ArithmeticValue {
  SampleView view;  // has data only if the result is stored
  ArithmeticTypes types;
  int64_t volume = 0;
  // The step whose loop computes it; the step itself if the result is stored.
  int group = -1;
  int uses = 0;  // in that loop, to come
  std::byte* tile = nullptr;
};

// The view of an operand. The result of a step has what is known so far.
SampleView operand_view(const SampleContext& ctx, std::span<const ArithmeticValue> values,
                        const ExpressionOperand& operand);

// Computes the last step into `out`, which is not empty. `values` have types and shapes.
void evaluate(const ArithmeticProgram& program, SampleContext& ctx,
              std::span<ArithmeticValue> values, const SampleView& out);

}  // namespace torchdali
