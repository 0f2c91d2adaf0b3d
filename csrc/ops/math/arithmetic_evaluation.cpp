// SPDX-License-Identifier: Apache-2.0
#include "ops/math/arithmetic_evaluation.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/math/arithmetic_broadcast.h"

namespace torchdali {
namespace {

using OperandKind = ExpressionOperand::Kind;
using kernels::ArithmeticOp;

// Elements; 8 kB of float, so that the three or four tiles of a step fit into 32 kB of L1 cache.
constexpr int64_t kTile = 1024;
constexpr int64_t kWidest = 8;      // bytes of an element
constexpr int64_t kAlignment = 64;  // elements; at least a cache line

// The memory of an operand or a result of a loop.
struct LoopOperand {
  std::byte* base = nullptr;
  int64_t step = 0;    // bytes from one element of the result to the next; 0: one tile for all
  int64_t period = 0;  // elements after which it repeats; 0: never
  bool scalar = false;

  std::byte* at(int64_t i) const { return base + (period > 0 ? i % period : i) * step; }
};

// One pass over a tile.
struct TilePass {
  kernels::ArithmeticFn fn = nullptr;
  kernels::ArithmeticConvertFn convert = nullptr;
  const kernels::Broadcast* broadcast = nullptr;
  const void* source = nullptr;  // of the broadcast
  int64_t itemsize = 0;          // of the broadcast
  LoopOperand operands[kMaxOperands];
  LoopOperand out;
};

std::byte* bytes_of(void* data) { return static_cast<std::byte*>(data); }

// Makes the passes of one loop, then runs them.
class Loop {
 public:
  Loop(const ArithmeticProgram& program, SampleContext& ctx, std::span<ArithmeticValue> values,
       int root)
      : program_(program), ctx_(ctx), values_(values), root_(root), volume_(values[root].volume) {
    size_t members = 0;
    for (int i = 0; i <= root; ++i) members += values[i].group == root;
    // Each operand may be converted and broadcast, each result converted.
    passes_ = ctx.scratch<TilePass>(members * (2 * kMaxOperands + 2));
    free_ = ctx.scratch<std::byte*>(members * (kMaxOperands + 2));
  }

  void run(std::byte* out) {
    for (int i = 0; i <= root_; ++i)
      if (values_[i].group == root_) add_step(i, out);
    const int64_t tile = kTile / unit_ * unit_;
    for (int64_t i = 0; i < volume_; i += tile) {
      const int64_t count = std::min(tile, volume_ - i);
      for (const TilePass& p : passes_.first(num_passes_)) {
        std::byte* to = p.out.at(i);
        if (p.broadcast != nullptr) p.broadcast->fill(to, p.source, p.itemsize, i, count);
        else if (p.convert != nullptr) p.convert(to, p.operands[0].at(i), count);
        else p.fn(to, p.operands[0].at(i), p.operands[1].at(i), p.operands[2].at(i), count);
      }
    }
  }

 private:
  TilePass& add_pass(LoopOperand out) {
    TilePass& pass = passes_[num_passes_++];
    pass = {};
    pass.out = out;
    return pass;
  }
  std::byte* take_tile() {
    if (num_free_ > 0) return free_[--num_free_];
    return ctx_.scratch<std::byte>(std::min(kTile, volume_) * kWidest).data();
  }
  void give_back(std::byte* tile) { free_[num_free_++] = tile; }

  void add_step(int index, std::byte* out) {
    ArithmeticValue& value = values_[index];
    const ArithmeticStep& step = program_.steps[index];
    const ArithmeticTypes& types = value.types;
    const int count = step.rule->num_operands;
    std::byte* temporary[2 * kMaxOperands];
    int num_temporary = 0;
    const auto temporary_tile = [&] { return temporary[num_temporary++] = take_tile(); };

    LoopOperand operands[kMaxOperands];
    for (int i = 0; i < count; ++i) {
      const ExpressionOperand& operand = step.operands[types.swapped ? count - 1 - i : i];
      operands[i] = load_operand(operand, types.operands[i], temporary_tile);
    }
    const kernels::ArithmeticFn fn = choose(types, operands, count);

    const LoopOperand result = index == root_ ? LoopOperand{out, itemsize(value.view.dtype)}
                                              : LoopOperand{value.tile = take_tile()};
    const kernels::ArithmeticConvertFn convert =
        kernels::arithmetic_converter(types.result, types.computed);
    const LoopOperand computed = convert == nullptr ? result : LoopOperand{temporary_tile()};
    TilePass& pass = add_pass(computed);
    pass.fn = fn;
    std::copy_n(operands, kMaxOperands, pass.operands);
    if (convert != nullptr) {
      TilePass& last = add_pass(result);
      last.convert = convert;
      last.operands[0] = computed;
    }
    while (num_temporary > 0) give_back(temporary[--num_temporary]);
    for (int i = 0; i < count; ++i) {
      const ExpressionOperand& operand = step.operands[i];
      if (operand.kind != OperandKind::kStep || values_[operand.index].group != root_) continue;
      ArithmeticValue& used = values_[operand.index];
      if (--used.uses == 0) give_back(used.tile);
    }
  }

  // The loop that fits the operands; puts them in its order.
  kernels::ArithmeticFn choose(const ArithmeticTypes& types, LoopOperand* operands, int count) {
    ArithmeticOp op = types.op;
    if (!types.mixed_signs && count == 2) {
      const bool swap = (op == ArithmeticOp::kGt || op == ArithmeticOp::kGeq) ? !operands[1].scalar
                                                                              : operands[0].scalar;
      if (swap && swap_operands(op)) std::swap(operands[0], operands[1]);
    }
    const kernels::ArithmeticKernel kernel =
        types.mixed_signs ? kernels::mixed_sign_comparison(op)
                          : kernels::arithmetic_kernel(op, types.operands[0]);
    if (count == 2 && operands[1].scalar && kernel.scalar_b != nullptr) return kernel.scalar_b;
    if (count == 2 && operands[0].scalar && kernel.scalar_a != nullptr) return kernel.scalar_a;
    TORCHDALI_ASSERT(kernel.arrays != nullptr, "no loop for operation ", static_cast<int>(op));
    for (int i = 0; i < count; ++i) {
      if (!operands[i].scalar) continue;
      // Filled once, because nothing else writes there until the loop has ended.
      std::byte* tile = ctx_.scratch<std::byte>(std::min(kTile, volume_) * kWidest).data();
      kernels::fill_scalar(tile, operands[i].base, itemsize(types.operands[i]),
                           std::min(kTile, volume_));
      operands[i] = {tile};
    }
    return kernel.arrays;
  }

  // Replaces `op` by the operation with exchanged operands, if it exists.
  static bool swap_operands(ArithmeticOp& op) {
    switch (op) {
      case ArithmeticOp::kAdd:
      case ArithmeticOp::kMul:
      case ArithmeticOp::kBitAnd:
      case ArithmeticOp::kBitOr:
      case ArithmeticOp::kBitXor:
      case ArithmeticOp::kEq:
      case ArithmeticOp::kNeq: return true;
      case ArithmeticOp::kLt: op = ArithmeticOp::kGt; return true;
      case ArithmeticOp::kLeq: op = ArithmeticOp::kGeq; return true;
      case ArithmeticOp::kGt: op = ArithmeticOp::kLt; return true;
      case ArithmeticOp::kGeq: op = ArithmeticOp::kLeq; return true;
      default: return false;
    }
  }

  // `wanted`: the type of the loop.
  LoopOperand load_operand(const ExpressionOperand& operand, DType wanted,
                           const auto& temporary_tile) {
    const SampleView view = operand_view(ctx_, values_, operand);
    const kernels::ArithmeticConvertFn convert = kernels::arithmetic_converter(wanted, view.dtype);
    if (operand.kind == OperandKind::kStep && values_[operand.index].group == root_)
      return converted({values_[operand.index].tile}, convert, temporary_tile);
    if (view.volume() == volume_)
      return converted({bytes_of(view.data), itemsize(view.dtype)}, convert, temporary_tile);
    return repeated(view, wanted, convert, temporary_tile);
  }

  LoopOperand converted(LoopOperand from, kernels::ArithmeticConvertFn convert,
                        const auto& temporary_tile) {
    if (convert == nullptr) return from;
    TilePass& pass = add_pass({temporary_tile()});
    pass.convert = convert;
    pass.operands[0] = from;
    return pass.out;
  }

  // An operand with fewer elements than the result: converted as a whole, then repeated.
  LoopOperand repeated(const SampleView& view, DType wanted, kernels::ArithmeticConvertFn convert,
                       const auto& temporary_tile) {
    const int64_t volume = view.volume(), size = itemsize(wanted);
    std::byte* data = bytes_of(view.data);
    if (convert != nullptr) {
      data = ctx_.scratch<std::byte>(volume * size).data();
      convert(data, view.data, volume);
    }
    if (volume == 1) return {.base = data, .scalar = true};
    const kernels::Broadcast broadcast(view.shape, values_[root_].view.shape);
    const int64_t period = broadcast.period();
    if (period <= kTile) {  // long enough for a tile that begins anywhere in the pattern
      const int64_t length = period + std::min(kTile, volume_);
      std::byte* pattern = ctx_.scratch<std::byte>(length * size).data();
      broadcast.fill(pattern, data, size, 0, period);
      for (int64_t filled = period; filled < length; filled *= 2)
        std::memcpy(pattern + filled * size, pattern, std::min(filled, length - filled) * size);
      // If tiles contain whole patterns, all begin at the same element, and aligned.
      if (const int64_t unit = std::lcm(unit_, period); unit <= kTile) unit_ = unit;
      return {.base = pattern, .step = size, .period = period};
    }
    auto* kept = ctx_.scratch<kernels::Broadcast>(1).data();
    *kept = broadcast;
    TilePass& pass = add_pass({temporary_tile()});
    pass.broadcast = kept;
    pass.source = data;
    pass.itemsize = size;
    return pass.out;
  }

  const ArithmeticProgram& program_;
  SampleContext& ctx_;
  std::span<ArithmeticValue> values_;
  const int root_;
  const int64_t volume_;
  std::span<TilePass> passes_;
  size_t num_passes_ = 0;
  std::span<std::byte*> free_;
  size_t num_free_ = 0;
  int64_t unit_ = kAlignment;  // tiles are multiples of it
};

}  // namespace

SampleView operand_view(const SampleContext& ctx, std::span<const ArithmeticValue> values,
                        const ExpressionOperand& operand) {
  switch (operand.kind) {
    case OperandKind::kInput: return ctx.input(operand.index);
    case OperandKind::kStep: return values[operand.index].view;
    case OperandKind::kConstant: break;
  }
  // Views have no const data, but operands are only read.
  return {.data = const_cast<uint64_t*>(&operand.bits),
          .dtype = operand.dtype,
          .shape = {},
          .layout = {}};
}

void evaluate(const ArithmeticProgram& program, SampleContext& ctx,
              std::span<ArithmeticValue> values, const SampleView& out) {
  // A step is computed in the loop of the steps that use it. If these are in several loops, or have
  // a larger shape, it is computed once and stored.
  const int last = static_cast<int>(values.size()) - 1;
  for (int i = last; i >= 0; --i) {
    ArithmeticValue& value = values[i];
    if (value.group < 0) value.group = i;
    const ArithmeticStep& step = program.steps[i];
    for (int k = 0; k < step.rule->num_operands; ++k) {
      if (step.operands[k].kind != OperandKind::kStep) continue;
      const int used_index = step.operands[k].index;
      ArithmeticValue& used = values[used_index];
      const int group = used.volume == values[value.group].volume ? value.group : used_index;
      used.group = used.group < 0 || used.group == group ? group : used_index;
    }
  }
  for (int i = 0; i <= last; ++i) {
    const ArithmeticStep& step = program.steps[i];
    for (int k = 0; k < step.rule->num_operands; ++k) {
      if (step.operands[k].kind != OperandKind::kStep) continue;
      ArithmeticValue& used = values[step.operands[k].index];
      used.uses += used.group == values[i].group;
    }
  }
  for (int i = 0; i <= last; ++i) {
    ArithmeticValue& value = values[i];
    if (value.group != i) continue;
    value.view.data =
        i == last ? out.data
                  : ctx.scratch<std::byte>(value.volume * itemsize(value.view.dtype)).data();
    Loop(program, ctx, values, i).run(bytes_of(value.view.data));
  }
}

}  // namespace torchdali
