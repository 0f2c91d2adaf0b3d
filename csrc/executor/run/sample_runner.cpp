// SPDX-License-Identifier: Apache-2.0
#include "executor/run/sample_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/memory/stream_copy.h"

namespace torchdali {

namespace {

bool takes_two(const ExecutionPlan& plan) {
  const auto& stages = plan.sample_stages;
  return std::any_of(stages.begin(), stages.end(),
                     [](const SampleStage& s) { return s.takes_two >= 0; });
}

}  // namespace

SampleRunner::SampleRunner(const ExecutionPlan& plan, Meters& meters, int worker)
    : SampleRunner(plan, meters, worker, takes_two(plan)) {}

SampleRunner::SampleRunner(const ExecutionPlan& plan, Meters& meters, int worker, bool has_second)
    : plan_(plan),
      meters_(meters),
      meter_(*meters.workers[worker]),
      values_(plan.num_slots),
      owners_(plan.num_slots),
      block_bytes_(plan.num_slots) {
  ctx_.values_ = values_.data();
  ctx_.memory_ = this;
  if (has_second) second_.reset(new SampleRunner(plan, meters, worker, false));
}

void SampleRunner::run(IterationData& iteration, int stage_index, int sample) {
  if (iteration.bad.contains(sample)) return;
  if (second_ && second_->has_begun(iteration, stage_index, sample)) {
    second_->run(iteration, stage_index, sample);
    return;
  }
  const crash::Scope scope(crash::Work{.sample = &ctx_});
  work_ = &crash::work();
  try {
    run_stage(iteration, stage_index, sample);
  } catch (const OperatorError& e) {
    if (e.on_error == OnError::kRaise) throw;
    iteration.bad.add(e);
  }
}

// Frees what a sample holds that was begun and will not be continued.
void SampleRunner::forget() {
  begun_ = {};
  release_scratch();
  for (int slot = 0; slot < plan_.num_slots; ++slot) release(slot);
}

bool SampleRunner::begin_two(IterationData& iteration, int stage_index, int first, int second) {
  if (plan_.sample_stages[stage_index].takes_two < 0) return false;
  // The events of a trace must not overlap on one thread.
  if (trace::enabled() || iteration.bad.contains(first) || iteration.bad.contains(second))
    return false;
  const crash::Scope scope(crash::Work{});
  SampleRunner *a = this, *b = second_.get();
  if (b->has_begun(iteration, stage_index, first)) std::swap(a, b);
  if (!a->has_begun(iteration, stage_index, first)) a->begin(iteration, stage_index, first);
  b->begin(iteration, stage_index, second);
  if (!a->is_waiting() || !b->is_waiting()) return a->is_waiting();
  crash::work() = {.task = &a->step_->task};
  const int64_t start = now_ns();
  a->step_->op->continue_two(*a->begun_.rest, *b->begun_.rest);
  const int64_t half = (now_ns() - start) / 2;
  a->begun_.shared_ns += half;
  b->begun_.shared_ns += half;
  return a->is_waiting();
}

// Runs the steps before the one that takes two, and begins that.
void SampleRunner::begin(IterationData& iteration, int stage_index, int sample) {
  if (begun_.sample >= 0) forget();
  const SampleStage& stage = plan_.sample_stages[stage_index];
  enter(iteration, stage, sample);
  work_ = &crash::work();
  work_->sample = &ctx_;
  begun_.iteration = iteration.id;
  begun_.stage = stage_index;
  begun_.sample = sample;
  begun_.timed = meter_.stages[stage_index].next();
  const auto steps = static_cast<size_t>(stage.takes_two);
  const int64_t start = stamp_ns_ = now_ns();
  try {
    if (begun_.timed) run_steps<true>(stage, 0, steps);
    else run_steps<false>(stage, 0, steps);
    const Step& step = plan_.steps[stage.steps[steps]];
    enter(step);
    if (guards_hold(step)) begun_.rest = step.op->begin(ctx_);
  } catch (...) {
    begun_.error = std::current_exception();
  }
  begun_.own_ns = now_ns() - start;
}

void SampleRunner::enter(IterationData& iteration, const SampleStage& stage, int sample) {
  iteration_ = &iteration;
  ctx_.index_in_batch_ = sample;
  ctx_.batch_size_ = iteration.batch_size;
  ctx_.sample_id_ = iteration.sample_id(sample);
  ctx_.seeds_ = iteration.seeds;
  ctx_.source_batches_ = iteration.source_batches;
  for (const int slot : stage.loads) values_[slot] = iteration.kept[plan_.kept[slot]][sample];
}

void SampleRunner::run_stage(IterationData& iteration, int stage_index, int sample) {
  const SampleStage& stage = plan_.sample_stages[stage_index];
  SampleStageMeter& meter = meter_.stages[stage_index];
  const size_t steps = stage.steps.size();
  if (has_begun(iteration, stage_index, sample)) {
    const Begun begun = std::exchange(begun_, {});
    if (begun.error) std::rethrow_exception(begun.error);
    const auto from = static_cast<size_t>(stage.takes_two);
    stamp_ns_ = now_ns() - begun.shared_ns;
    const int64_t start = stamp_ns_ - begun.own_ns;
    if (begun.timed) run_steps<true>(stage, from, steps, begun.rest.get());
    else run_steps<false>(stage, from, steps, begun.rest.get());
    if (begun.timed) meter.was_timed(stamp_ns_ - start, steps + 1);
    return;
  }
  if (begun_.sample >= 0) forget();
  enter(iteration, stage, sample);
  if (meter.next() || trace::enabled()) run_timed(stage, meter);
  else run_steps<false>(stage, 0, steps);
}

void SampleRunner::run_timed(const SampleStage& stage, SampleStageMeter& meter) {
  const int64_t start = stamp_ns_ = now_ns();
  const auto trace_sample = [&] {
    if (!trace::enabled()) return;
    // The sources that the last steps descend from have the name of the sample.
    for (auto step = stage.steps.rbegin(); step != stage.steps.rend(); ++step) {
      ctx_.sources_ = plan_.steps[*step].sources;
      if (!ctx_.source_name().empty()) break;
    }
    trace::add({.start_ns = start,
                .ns = now_ns() - start,
                .iteration = iteration_->number,
                .sample = ctx_.index_in_batch_,
                .label = meters_.sample_label,
                .owner = meters_.owner},
               ctx_.source_name());
  };
  try {
    run_steps<true>(stage, 0, stage.steps.size());
  } catch (...) {
    trace_sample();
    throw;
  }
  meter.was_timed(stamp_ns_ - start, stage.steps.size() + 1);
  trace_sample();
}

void SampleRunner::note_step(int step, bool traced) {
  const int64_t start = stamp_ns_;
  stamp_ns_ = now_ns();
  int64_t bytes = 0;
  for (const int slot : step_->outputs) bytes += values_[slot].size_bytes();
  StepMeter& meter = meter_.steps[step];
  meter.timed.add(1);
  meter.ns.add(stamp_ns_ - start);
  meter.max_ns.raise(stamp_ns_ - start);
  meter.bytes.add(bytes);
  if (traced)
    trace::add({.start_ns = start,
                .ns = stamp_ns_ - start,
                .bytes = bytes,
                .iteration = iteration_->number,
                .sample = ctx_.index_in_batch_,
                .label = meters_.steps[step],
                .owner = meters_.owner});
}

OperatorError SampleRunner::fail(const Error& cause, const SampleStage& stage) {
  const auto failed = static_cast<int>(step_ - plan_.steps.data());
  for (auto later = stage.steps.rbegin(); *later != failed; ++later)
    meter_.steps[*later].skipped.add(1);
  OperatorError error(cause, plan_.graph.nodes[step_->node]);
  error.sample = ctx_.index_in_batch_;
  error.batch_size = iteration_->batch_size;
  error.source = ctx_.source_name();
  release_scratch();
  for (int slot = 0; slot < plan_.num_slots; ++slot) release(slot);
  return error;
}

void SampleRunner::enter(const Step& step) {
  step_ = &step;
  work_->task = &step.task;
  ctx_.inputs_ = step.inputs;
  ctx_.arguments_ = step.arguments;
  ctx_.outputs_ = step.outputs;
  ctx_.seed_ = step.seed;
  ctx_.sources_ = step.sources;
  ctx_.state_ = iteration_->states.empty() ? nullptr : iteration_->states[step.node].get();
}

template <bool kTimed>
void SampleRunner::run_steps(const SampleStage& stage, size_t from, size_t to, BegunSample* begun) {
  IterationData& iteration = *iteration_;
  const bool traced = kTimed && trace::enabled();
  with_errors_as([&](const Error& cause) { return fail(cause, stage); },
                 [&] {
                   for (size_t i = from; i < to; ++i) {
                     const int index = stage.steps[i];
                     const Step& step = plan_.steps[index];
                     enter(step);
                     if (guards_hold(step)) {
                       if (begun != nullptr && i == from) step.op->end(ctx_, *begun);
                       else step.op->run(ctx_);
                       if (!plan_.kept_in.empty()) keep(step);
                       if (!iteration.memory.empty()) record_memory(step);
                       if constexpr (kTimed) note_step(index, traced);
                     } else {
                       meter_.steps[index].skipped.add(1);
                     }
                     if (!scratch_.empty()) release_scratch();
                     for (int slot : step.last_uses) release(slot);
                   }
                 });
}

bool SampleRunner::guards_hold(const Step& step) const {
  // An inner predicate has a value only if the outer ones hold.
  return std::all_of(step.guards.begin(), step.guards.end(), [&](const Step::Guard& g) {
    return *values_[g.slot].as<const bool>() == g.value;
  });
}

void SampleRunner::keep(const Step& step) {
  for (int slot : step.outputs)
    if (const int kept = plan_.kept[slot]; kept >= 0)
      iteration_->kept[kept][ctx_.index_in_batch_] = values_[slot];
}

void SampleRunner::record_memory(const Step& step) {
  for (int slot : step.outputs) {
    iteration_->memory[slot].add(values_[slot].size_bytes());
    // A view shares the block of another value and reserves nothing.
    const ScratchPool::Block* block = owners_[slot];
    if (block != nullptr && block->users == 1)
      raise_to(block_bytes_[slot], static_cast<int64_t>(block->size));
  }
}

void SampleRunner::allocate_output(int output, SampleView& view) {
  const int slot = step_->outputs[output], batch = step_->batches[output];
  if (batch >= 0) {
    allocate_in_batch(batch, view);
    return;
  }
  release(slot);
  owners_[slot] = pool_.acquire(checked_size_bytes(view));
  view.data = owners_[slot]->memory.get();
}

void SampleRunner::allocate_in_batch(int batch, SampleView& view) {
  try {
    iteration_->batches[batch]->allocate(ctx_.index_in_batch_, view);
  } catch (Error& e) {
    const bool in_branch = !step_->guards.empty() || merges_branches(plan_, *step_);
    if (in_branch) add_branch_rule(e);
    throw;
  }
}

void SampleRunner::alias_output(int output, int input) {
  const int slot = step_->outputs[output], batch = step_->batches[output];
  SampleView& view = values_[slot];
  if (batch >= 0) {  // outputs of the pipeline own their memory
    const void* from = view.data;
    // A branch may have written it there.
    if (from != nullptr && iteration_->batches[batch]->sample(ctx_.index_in_batch_).data == from)
      return;
    allocate_in_batch(batch, view);
    copy_to_output(output, view.data, from, view.size_bytes());
    return;
  }
  ScratchPool::Block* owner = input < 0 ? nullptr : owners_[step_->inputs[input]];
  if (owner != nullptr) ++owner->users;
  owners_[slot] = owner;
}

// Of the pipeline's outputs, those of large batches: they do not stay in the caches until the user
// reads them.
bool SampleRunner::is_read_later(int output, int64_t bytes) const {
  constexpr int64_t kLargeBatch = int64_t{16} << 20;
  return step_->batches[output] >= 0 && bytes * ctx_.batch_size() >= kLargeBatch;
}

void SampleRunner::copy_to_output(int output, void* to, const void* from, int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  if (is_read_later(output, values_[step_->outputs[output]].size_bytes()))
    stream_copy(to, from, size);
  else if (size > 0) std::memcpy(to, from, size);
}

void* SampleRunner::allocate_scratch(size_t bytes) {
  scratch_.push_back(pool_.acquire(bytes));
  return scratch_.back()->memory.get();
}

void SampleRunner::release(int slot) {
  if (owners_[slot] == nullptr) return;
  pool_.release(owners_[slot]);
  owners_[slot] = nullptr;
}

void SampleRunner::release_scratch() {
  for (ScratchPool::Block* b : scratch_) pool_.release(b);
  scratch_.clear();
}

}  // namespace torchdali
