// SPDX-License-Identifier: Apache-2.0
// One sample in a chain on the CPU: the contexts of the members, and the memory of the values
// between them.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "executor/chain/chain_member.h"

namespace torchdali {

// Scratch memory of one run of a chain, which its members reuse.
class ChainBlocks {
 public:
  struct Block {
    std::span<std::byte> memory;
    bool used = true;
  };
  explicit ChainBlocks(SampleContext& ctx) : ctx_(ctx) {}
  Block* acquire(size_t bytes) {
    Block* best = nullptr;
    for (Block& b : blocks_)
      if (!b.used && b.memory.size() >= bytes &&
          (best == nullptr || b.memory.size() < best->memory.size()))
        best = &b;
    if (best == nullptr) best = &blocks_.emplace_back(Block{ctx_.scratch<std::byte>(bytes)});
    best->used = true;
    return best;
  }

 private:
  SampleContext& ctx_;
  std::deque<Block> blocks_;
};

// One worker thread. Member: PreparedMember, or a class derived from it.
template <class Member>
class ChainSample {
 public:
  ChainSample(const std::vector<Member>& members, size_t num_values, SampleContext& ctx)
      : members_(members), ctx_(ctx), blocks_(ctx), values_(num_values), value_(ctx.input(0)) {
    contexts_.reserve(members.size());
    for (size_t k = 0; k < members.size(); ++k) {
      MemberContext& member = contexts_.emplace_back(*this, k);
      enter_member(members[k], ctx, values_, member, member.ctx);
    }
  }

  // The context and the memory of a member.
  class MemberContext final : public SampleMemory {
   public:
    MemberContext(ChainSample& sample, size_t index)
        : ctx(sample.ctx_), sample_(sample), index_(index) {}
    void allocate_output(int output, SampleView& view) override {
      if (output > 0) view.data = allocate_scratch(checked_size_bytes(view));  // unused
      else if (rows != nullptr) view.data = rows;
      else sample_.allocate(index_, view);
    }
    void alias_output(int output, int input) override {
      if (output == 0 && rows == nullptr) sample_.alias(index_, input);
    }
    void* allocate_scratch(size_t bytes) override {
      if (used_ < scratch_.size() && scratch_[used_]->memory.size() < bytes) {
        scratch_[used_]->used = false;
        scratch_[used_] = sample_.blocks_.acquire(bytes);
      } else if (used_ == scratch_.size()) {
        scratch_.push_back(sample_.blocks_.acquire(bytes));
      }
      return scratch_[used_++]->memory.data();
    }
    bool is_read_later(int /*output*/, int64_t /*bytes*/) const override {
      return rows == nullptr && sample_.is_last(index_) && sample_.ctx_.is_read_later(0);
    }
    // The next rows of the sample reuse the scratch memory.
    void begin_rows(void* target) {
      rows = target;
      used_ = 0;
    }
    void end() {
      for (ChainBlocks::Block* b : scratch_) b->used = false;
      scratch_.clear();
      begin_rows(nullptr);
    }

    SampleContext ctx;
    void* rows = nullptr;  // memory of the output, if that is some rows of an image

   private:
    ChainSample& sample_;
    size_t index_;
    std::vector<ChainBlocks::Block*> scratch_;
    size_t used_ = 0;
  };

  const std::vector<Member>& members() const { return members_; }
  MemberContext& context(size_t k) { return contexts_[k]; }
  ChainBlocks& blocks() { return blocks_; }
  // The input of the next member.
  const SampleView& value() const { return value_; }
  // The input of member `k` that is the chain's value, and its last output.
  SampleView& taken(size_t k) { return values_[members_[k].value]; }
  SampleView& made(size_t k) { return values_[members_[k].made]; }
  // Input `i` of member `k`.
  const SampleView& input(size_t k, size_t i) const { return values_[members_[k].slots[i]]; }

  // Calls fn(). Its errors and crashes are attributed to member `k`.
  template <class Fn>
  void with_errors_of(size_t k, Fn&& fn) {
    const crash::PartScope scope(members_[k].task);
    try {
      fn();
    } catch (Error& e) {
      attribute_error(members_[k], e);
      throw;
    }
  }

  // Makes the output of member `k` the chain's value.
  void advance(size_t k) {
    if (owner_.block != nullptr && owner_.block != made_.block) owner_.block->used = false;
    owner_ = made_;
    value_ = values_[members_[k].made];
  }

  // Runs member `k` as the executor does outside of chains.
  void run_alone(size_t k) {
    values_[members_[k].value] = value_;
    with_errors_of(k, [&] { members_[k].op->run(contexts_[k].ctx); });
    contexts_[k].end();
    advance(k);
  }

 private:
  bool is_last(size_t k) const { return k + 1 == members_.size(); }
  void allocate(size_t k, SampleView& view) {
    made_ = {};
    if (is_last(k)) {
      view.data = ctx_.output(0, view.dtype, view.shape, view.layout).data;
    } else {
      made_.block = blocks_.acquire(checked_size_bytes(view));
      view.data = made_.block->memory.data();
    }
  }
  void alias(size_t k, int input) {
    const Member& m = members_[k];
    made_ = {};
    if (input >= 0 && m.inputs[input] == kChainValue) made_ = owner_;
    else if (input >= 0) made_.input = m.inputs[input];
    if (!is_last(k)) return;
    SampleView& view = values_[m.made];
    if (made_.block == nullptr) {
      ctx_.share_input(0, made_.input, view);
      return;
    }
    const SampleView from = view;
    view.data = ctx_.output(0, view.dtype, view.shape, view.layout).data;
    if (view.size_bytes() > 0) std::memcpy(view.data, from.data, view.size_bytes());
  }

  // The owner of the memory of a value: an input of the chain, a block, or, if neither, the batch.
  struct Owner {
    int input = -1;
    ChainBlocks::Block* block = nullptr;
  };

  const std::vector<Member>& members_;
  SampleContext& ctx_;
  ChainBlocks blocks_;
  std::vector<SampleView> values_;
  std::vector<MemberContext> contexts_;  // must not reallocate, since contexts refer to them
  SampleView value_;
  Owner owner_ = {.input = 0}, made_;  // of value_, and of the last output of the current member
};

}  // namespace torchdali
