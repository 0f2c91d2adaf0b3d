// SPDX-License-Identifier: Apache-2.0
#include "executor/batch_runner.h"

#include <algorithm>
#include <new>

namespace torchdali {
namespace {

class StepContext final : public BatchContext {
 public:
  StepContext(const Plan& plan, const Step& step, IterationData& iteration)
      : plan_(plan), step_(step), iteration_(iteration) {
    seed_ = step.seed;
    batch_size_ = iteration.batch_size;
    for (int slot : step.inputs) inputs_.emplace_back(kept(slot));
    for (int sample = 0; sample < batch_size_; ++sample)
      if (guards_hold(sample)) samples_.push_back(sample);
  }

  std::shared_ptr<const void> input_owner(int i) const override {
    const int slot = step_.inputs[static_cast<size_t>(i)];
    const Plan::Output& at = plan_.kept_in[static_cast<size_t>(plan_.kept[slot])];
    if (at.batch >= 0) return iteration_.batches[at.batch];
    return static_cast<const FedBatch&>(*iteration_.source_batches[at.fed_node]).owner;
  }

  SampleView& output(int i, int k, DType dtype, const Shape& shape, const Layout& layout) override {
    check_layout(layout, shape);
    const int slot = step_.outputs[static_cast<size_t>(i)];
    const int sample = index_in_batch(k);
    SampleView& view = kept(slot)[static_cast<size_t>(sample)];
    view = {.data = nullptr, .dtype = dtype, .shape = shape, .layout = layout};
    iteration_.batches[step_.batches[static_cast<size_t>(i)]]->allocate(sample, view);
    if (!iteration_.memory.empty()) iteration_.memory[slot].add(view.size_bytes());
    return view;
  }

  uint64_t sample_id(int k) const override { return iteration_.sample_id(index_in_batch(k)); }
  bool cancelled() const override { return iteration_.cancelled; }

 private:
  std::vector<SampleView>& kept(int slot) const {
    return iteration_.kept[static_cast<size_t>(plan_.kept[static_cast<size_t>(slot)])];
  }
  bool guards_hold(int sample) const {
    return std::all_of(step_.guards.begin(), step_.guards.end(), [&](const Step::Guard& g) {
      return *kept(g.slot)[static_cast<size_t>(sample)].as<const bool>() == g.value;
    });
  }

  const Plan& plan_;
  const Step& step_;
  IterationData& iteration_;
};

void run_step(const Plan& plan, const Step& step, IterationData& iteration) {
  const auto fail = [&](const Error& cause) {
    OperatorError error(cause, plan.graph.nodes[step.node]);
    error.batch_size = iteration.batch_size;
    if (error.sample >= 0)
      if (const auto* names = find_names(step.sources, iteration.source_batches))
        error.source = (**names)[error.sample];
    return error;
  };
  try {
    StepContext ctx(plan, step, iteration);
    if (ctx.size() > 0)
      iteration.states[static_cast<size_t>(step.node)] =
          plan.operators[static_cast<size_t>(step.node)]->prepare_batch(ctx);
  } catch (const Error& e) {
    throw fail(e);
  } catch (const std::bad_alloc&) {
    throw fail(Error(ErrorKind::kRuntime, "out of memory"));
  } catch (const std::exception& e) {
    throw fail(Error(ErrorKind::kInternal, e.what()));
  }
}

}  // namespace

void run_batch_stage(const Plan& plan, IterationData& iteration, int stage) {
  for (int step : plan.batch_stages[static_cast<size_t>(stage)].steps)
    run_step(plan, plan.steps[static_cast<size_t>(step)], iteration);
}

}  // namespace torchdali
