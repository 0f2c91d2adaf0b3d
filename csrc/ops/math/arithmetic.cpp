// SPDX-License-Identifier: Apache-2.0
// The operator of expressions on data nodes: one step, or the steps of a fused expression
// (executor/graph/fuse_expressions.cpp). This file determines types, shapes and layouts for each
// sample; ops/math/arithmetic_evaluation.h computes.
#include <array>
#include <vector>

#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/math/arithmetic_gpu.h"
#include "ops/math/arithmetic_evaluation.h"

namespace torchdali {
namespace {

ArithmeticProgram program_of(const OpSpec& spec) {
  return make_arithmetic_program(spec.get<Expression>("steps"), spec.num_inputs);
}

// Determines type, shape and layout of the result of a step.
void infer_step(const ArithmeticProgram& program, const SampleContext& ctx,
                std::span<ArithmeticValue> values, size_t step) {
  const ArithmeticStep& s = program.steps[step];
  ArithmeticValue& value = values[step] = {};
  DType dtypes[kMaxOperands];
  for (int i = 0; i < s.rule->num_operands; ++i) {
    const SampleView operand = operand_view(ctx, values, s.operands[i]);
    dtypes[i] = operand.dtype;
    if (i == 0) value.view = operand;
    else broadcast_operand(*s.rule, value.view, operand);
  }
  value.types = arithmetic_types(*s.rule, {dtypes, static_cast<size_t>(s.rule->num_operands)});
  value.view.dtype = value.types.result;
  value.view.data = nullptr;
  // The operand with the layout may have fewer axes than the result.
  if (value.view.layout.size() != value.view.shape.ndim()) value.view.layout = {};
  value.volume = value.view.volume();
}
// The same for all steps. The result of the last one is that of the expression.
void infer_steps(const ArithmeticProgram& program, const SampleContext& ctx,
                 std::span<ArithmeticValue> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    try {
      infer_step(program, ctx, values, i);
    } catch (Error& e) {
      if (i + 1 < values.size()) e.set_producer(static_cast<int>(i));
      throw;
    }
  }
}

class Arithmetic final : public Operator {
 public:
  explicit Arithmetic(const OpSpec& spec) : program_(program_of(spec)) {}

  void run(SampleContext& ctx) const override {
    const auto values = ctx.scratch<ArithmeticValue>(program_.steps.size());
    infer_steps(program_, ctx, values);
    const SampleView& result = values.back().view;
    const SampleView& out = ctx.output(0, result.dtype, result.shape, result.layout);
    if (out.volume() > 0) evaluate(program_, ctx, values, out);
  }

 private:
  ArithmeticProgram program_;
};

// Assigns a register to the result of each step, until the last step that uses it.
std::vector<uint8_t> assign_registers(const ArithmeticProgram& program) {
  const size_t count = program.steps.size();
  std::vector<size_t> last_use(count);
  const auto each_used = [&](size_t step, auto&& fn) {
    const ArithmeticStep& s = program.steps[step];
    for (int k = 0; k < s.rule->num_operands; ++k)
      if (s.operands[k].kind == ExpressionOperand::Kind::kStep)
        fn(static_cast<size_t>(s.operands[k].index));
  };
  for (size_t i = 0; i < count; ++i) each_used(i, [&](size_t used) { last_use[used] = i; });
  std::vector<uint8_t> registers(count), free;
  for (int i = gpu::kMaxArithmeticResults; i-- > 0;) free.push_back(static_cast<uint8_t>(i));
  for (size_t i = 0; i < count; ++i) {
    each_used(i, [&](size_t used) {
      if (last_use[used] != i) return;
      free.push_back(registers[used]);
      last_use[used] = count;  // x * x frees it once
    });
    TORCHDALI_CHECK_KIND(kUnsupported, !free.empty(), "an expression of ", count,
                         " operations needs more than ", gpu::kMaxArithmeticResults,
                         " results at the same time, which is not possible on the GPU",
                         to_fix("use fn.copy of some of them"));
    registers[i] = free.back();
    free.pop_back();
  }
  return registers;
}

// Sets the axes of the result, merged where all inputs are contiguous, and the strides of each
// input.
void set_axes(const Shape& shape, std::span<const Shape> inputs, gpu::ArithmeticTask& task,
              std::span<gpu::ArithmeticInput> strides) {
  int ndim = 0;  // of the task; innermost first, until the end
  std::vector<int64_t> next(inputs.size(), 1);
  std::vector<std::array<int64_t, kMaxDims>> found(inputs.size());
  std::array<int64_t, kMaxDims> extents{};
  for (int i = 1; i <= shape.ndim(); ++i) {
    const int64_t extent = shape[shape.ndim() - i];
    if (extent == 1) continue;
    bool joins = ndim > 0;
    std::vector<int64_t> stride(inputs.size());
    for (size_t k = 0; k < inputs.size(); ++k) {
      const int64_t own = i <= inputs[k].ndim() ? inputs[k][inputs[k].ndim() - i] : 1;
      stride[k] = own == 1 ? 0 : next[k];
      next[k] *= own;
      joins = joins && stride[k] == found[k][static_cast<size_t>(ndim - 1)] *
                                        extents[static_cast<size_t>(ndim - 1)];
    }
    if (joins) {
      extents[static_cast<size_t>(ndim - 1)] *= extent;
      continue;
    }
    extents[static_cast<size_t>(ndim)] = extent;
    for (size_t k = 0; k < inputs.size(); ++k) found[k][static_cast<size_t>(ndim)] = stride[k];
    ++ndim;
  }
  TORCHDALI_CHECK_KIND(kUnsupported, ndim <= gpu::kMaxAxes, "operands broadcast to ", shape,
                       " along ", ndim, " axes, on the GPU at most ", gpu::kMaxAxes,
                       " are possible", to_fix("fn.reshape them"));
  task.ndim = ndim;
  for (int a = 0; a < ndim; ++a) {
    const auto from = static_cast<size_t>(ndim - 1 - a);
    task.extent[a] = extents[from];
    for (size_t k = 0; k < inputs.size(); ++k) strides[k].stride[a] = found[k][from];
  }
}

class ArithmeticGpu final : public gpu::KernelOperator<gpu::ArithmeticKernel> {
 public:
  explicit ArithmeticGpu(const OpSpec& spec)
      : program_(program_of(spec)), registers_(assign_registers(program_)) {
    for (ArithmeticStep& step : program_.steps)
      for (ExpressionOperand& operand : step.operands)
        if (operand.kind == ExpressionOperand::Kind::kConstant) {
          operand.index = static_cast<int>(constants_.size());
          constants_.push_back(operand.bits);
        }
    const auto too_many = [](size_t count) { return count > gpu::kMaxArithmeticSources; };
    TORCHDALI_CHECK_KIND(
        kUnsupported,
        !too_many(static_cast<size_t>(spec.num_inputs)) && !too_many(constants_.size()),
        "an expression with more than ", gpu::kMaxArithmeticSources,
        " inputs or constants is not possible on the GPU", to_fix("use fn.copy of a part of it"));
  }

  void run(SampleContext& ctx) const override {
    std::vector<ArithmeticValue> values(program_.steps.size());
    infer_steps(program_, ctx, values);
    const SampleView& result = values.back().view;
    Task task;
    task.out = ctx.output(0, result.dtype, result.shape, result.layout).data;
    task.size = values.back().volume;
    if (task.size == 0) return;
    std::vector<gpu::ArithmeticInput> inputs;
    std::vector<Shape> shapes;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      inputs.push_back({.data = ctx.input(i).data, .stride = {}});
      shapes.push_back(ctx.input(i).shape);
    }
    set_axes(result.shape, shapes, task, inputs);
    const std::vector<gpu::ArithmeticInstruction> instructions = compile(ctx, values);
    task.num_instructions = static_cast<int>(instructions.size());
    gpu::Blob& blob = this->blob(ctx);
    task.instructions = blob.keep(std::span(instructions));
    task.inputs = blob.keep(std::span<const gpu::ArithmeticInput>(inputs));
    task.constants = blob.keep_once(std::span(constants_));
    tasks(ctx).add(ctx, task);
  }

 private:
  std::vector<gpu::ArithmeticInstruction> compile(const SampleContext& ctx,
                                                  std::span<const ArithmeticValue> values) const {
    std::vector<gpu::ArithmeticInstruction> instructions(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const ArithmeticStep& step = program_.steps[i];
      const ArithmeticTypes& types = values[i].types;
      gpu::ArithmeticInstruction& made = instructions[i];
      made.op = types.op;
      made.mixed_signs = types.mixed_signs;
      made.result = types.result;
      made.num_operands = static_cast<uint8_t>(step.rule->num_operands);
      made.to = registers_[i];
      for (int k = 0; k < step.rule->num_operands; ++k) {
        const auto& operand = step.operands[types.swapped ? step.rule->num_operands - 1 - k : k];
        made.operands[k] = types.operands[k];
        made.sources[k] = source(operand);
        made.sources[k].dtype = operand_view(ctx, values, operand).dtype;
      }
    }
    return instructions;
  }
  gpu::ArithmeticSource source(const ExpressionOperand& operand) const {
    using From = ExpressionOperand::Kind;
    using To = gpu::ArithmeticSource::Kind;
    const bool is_step = operand.kind == From::kStep;
    const auto index = static_cast<size_t>(operand.index);
    return {.kind = is_step                        ? To::kResult
                    : operand.kind == From::kInput ? To::kInput
                                                   : To::kConstant,
            .index = is_step ? registers_[index] : static_cast<uint8_t>(index)};
  }

  ArithmeticProgram program_;  // the index of a constant is that in constants_
  std::vector<uint8_t> registers_;
  std::vector<uint64_t> constants_;
};

TORCHDALI_OPERATOR("arithmetic")
    .doc("Computes an expression, element by element.")
    .optional_input("first", "Any layout, any element type.")
    .optional_input("second", "What can be broadcast with the first.")
    .optional_input("third", "What can be broadcast with the others.")
    .output("result", "The shape that all operands are broadcast to.")
    .expression_arg("steps",
                    "The operations in order. Operands are inputs, results of earlier steps and "
                    "constants.")
    .hidden()
    .sequences()
    .volumes()
    .image_role(ImageRole::kPixelwise)
    .cpu<Arithmetic>()
    .gpu<ArithmeticGpu>();

}  // namespace
}  // namespace torchdali
