// SPDX-License-Identifier: Apache-2.0
// Runs the steps of an expression over one sample, in tiles that stay in the L1 cache: no step's
// result is ever a whole array, but where it is smaller than what it is combined with.
#pragma once

#include <span>

#include "core/operator.h"
#include "ops/math/arithmetic_program.h"

namespace torchdali {

// The result of a step, for one sample.
struct ArithmeticValue {
  SampleView view;  // data: where it had to be stored
  ArithmeticTypes types;
  int64_t volume = 0;
  // The step whose loop computes it; itself where it is stored.
  int group = -1;
  int uses = 0;  // in that loop, to come
  std::byte* tile = nullptr;
};

// An operand as the engine has it; of a step, what is known so far.
SampleView operand_view(const ArithmeticProgram& program, const SampleContext& ctx,
                        std::span<const ArithmeticValue> values, const ArithmeticOperand& operand);

// Computes the last step into `out`, which is not empty. `values` have types and shapes.
void evaluate(const ArithmeticProgram& program, SampleContext& ctx,
              std::span<ArithmeticValue> values, const SampleView& out);

}  // namespace torchdali
