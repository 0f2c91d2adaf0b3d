// SPDX-License-Identifier: Apache-2.0
#include "executor/run/batch_runner.h"

#include <algorithm>

#include "core/batch_context.h"
#include "core/source.h"
#include "executor/graph/operator_error.h"
#include "gpu/copy_axes.h"
#include "gpu/device.h"
#include "gpu/placeholder.h"

namespace torchdali {

class StepContext final : public BatchContext, private SampleMemory {
 public:
  StepContext(const ExecutionPlan& plan, const Step& step, IterationData& iteration,
              gpu::Device* device)
      : plan_(plan), step_(step), iteration_(iteration), device_(device) {
    seed_ = step.seed;
    seeds_ = iteration.seeds;
    batch_size_ = iteration.batch_size;
    for (int slot : step.inputs) inputs_.emplace_back(kept(slot));
    for (int sample = 0; sample < batch_size_; ++sample)
      if (!iteration.bad.contains(sample) && guards_hold(sample)) samples_.push_back(sample);
  }

  std::shared_ptr<const void> input_owner(int i) const override {
    const ValueBatch& at = input_batch_of(i);
    if (at.batch >= 0) return iteration_.batches[at.batch];
    return static_cast<const ExternalBatch&>(*iteration_.source_batches[at.external_node]).owner;
  }

  SampleView& output(int i, int k, DType dtype, const Shape& shape, const Layout& layout) override {
    check_layout(layout, shape);
    const int slot = step_.outputs[static_cast<size_t>(i)];
    const int sample = index_in_batch(k);
    SampleView& view = kept(slot)[static_cast<size_t>(sample)];
    view = {.data = nullptr, .dtype = dtype, .shape = shape, .layout = layout};
    output_batch(i).allocate(sample, view);
    if (!iteration_.memory.empty()) iteration_.memory[slot].add(view.size_bytes());
    return view;
  }

  // An OperatorError of this step, with what is known about the sample.
  OperatorError describe(const Error& cause) const {
    if (const auto* known = dynamic_cast<const OperatorError*>(&cause)) return *known;
    OperatorError error(cause, plan_.graph.nodes[static_cast<size_t>(step_.node)]);
    error.batch_size = batch_size_;
    if (error.sample >= 0)
      if (const auto* names = find_names(step_.sources, iteration_.source_batches))
        error.source = (**names)[error.sample];
    return error;
  }
  void fail(int k, const Error& cause) override {
    Error of_sample = cause;
    of_sample.set_sample(index_in_batch(k));
    const OperatorError error = describe(of_sample);
    if (error.on_error == OnError::kRaise) throw OperatorError(error);
    iteration_.bad.add(error);
    samples_.erase(samples_.begin() + k);
  }
  void fail_all(const Error& cause) override {
    const OperatorError error = describe(cause);
    if (error.on_error == OnError::kRaise || size() == 0) throw OperatorError(error);
    while (size() > 0) fail(size() - 1, cause);
  }

  uint64_t sample_id(int k) const override { return iteration_.sample_id(index_in_batch(k)); }
  std::shared_ptr<const SampleNames> names() const override {
    const auto* names = find_names(step_.sources, iteration_.source_batches);
    return names == nullptr ? nullptr : *names;
  }
  void set_names(std::shared_ptr<const SampleNames> names) override {
    auto batch = std::make_unique<SourceBatch>();
    batch->names = std::move(names);
    iteration_.source_batches[static_cast<size_t>(step_.node)] = std::move(batch);
  }
  bool cancelled() const override { return iteration_.cancelled; }
  gpu::Device& device() const override { return *device_; }
  const Batch* input_batch(int i) const override {
    const int batch = input_batch_of(i).batch;
    return batch < 0 ? nullptr : iteration_.batches[static_cast<size_t>(batch)].get();
  }
  bool is_external_on_device(int i) const override {
    const int node = input_batch_of(i).external_node;
    return node >= 0 &&
           static_cast<const ExternalBatch&>(*iteration_.source_batches[node]).on_device;
  }
  // The size of the outputs, if the batch stage makes them.
  int64_t output_bytes() const {
    int64_t bytes = 0;
    const auto traits = step_.op->batch_traits();
    if (!traits || !traits->makes_outputs) return bytes;
    for (const int slot : step_.outputs)
      for (const int sample : samples_)
        bytes += kept(slot)[static_cast<size_t>(sample)].size_bytes();
    return bytes;
  }
  Batch& output_batch(int i) override {
    return *iteration_.batches[static_cast<size_t>(step_.batches[static_cast<size_t>(i)])];
  }
  void adopt_output(int i) override {
    std::vector<SampleView>& views = kept(step_.outputs[static_cast<size_t>(i)]);
    for (const int sample : samples_)
      views[static_cast<size_t>(sample)] = output_batch(i).sample(sample);
    record_memory(i);
  }

  // The slots of the context are the inputs, then the arguments, then the outputs.
  SampleContext& sample(int k, BatchState& state) override {
    const size_t inputs = step_.inputs.size(), arguments = step_.arguments.size();
    const int sample = index_in_batch(k);
    if (slots_.empty()) {
      values_.resize(inputs + arguments + step_.outputs.size());
      for (size_t i = 0; i < values_.size(); ++i) slots_.push_back(static_cast<int>(i));
      shared_from_.assign(step_.outputs.size(), std::vector<int>(samples_.size(), -1));
    }
    size_t next = 0;
    for (const int slot : step_.inputs) values_[next++] = kept(slot)[static_cast<size_t>(sample)];
    for (const int slot : step_.arguments)
      values_[next++] = kept(slot)[static_cast<size_t>(sample)];
    k_ = static_cast<size_t>(k);
    ctx_.use(values_.data(), slots_, static_cast<int>(inputs), static_cast<int>(arguments), *this);
    ctx_.index_in_batch_ = sample;
    ctx_.batch_size_ = batch_size_;
    ctx_.sample_id_ = iteration_.sample_id(sample);
    ctx_.seed_ = step_.seed;
    ctx_.seeds_ = iteration_.seeds;
    ctx_.sources_ = step_.sources;
    ctx_.source_batches_ = iteration_.source_batches;
    ctx_.state_ = &state;
    crash::work().sample = &ctx_;
    return ctx_;
  }
  void make_outputs() override {
    for (size_t i = 0; i < step_.outputs.size(); ++i) {
      std::vector<SampleView*> views(samples_.size());
      for (size_t k = 0; k < views.size(); ++k)
        views[k] = &kept(step_.outputs[i])[static_cast<size_t>(samples_[k])];
      try {
        make_output(static_cast<int>(i), views);
      } catch (Error& e) {
        if (merges_branches(plan_, step_)) add_branch_rule(e);
        throw;
      }
      record_memory(static_cast<int>(i));
    }
    std::vector<gpu::CopyTask> tasks;
    for (const Copy& one : copies_)
      add_copy(one.from,
               {.data = address(one.output, one.sample, one.to),
                .dtype = DType::kUInt8,
                .shape = Shape{one.bytes},
                .layout = {}},
               tasks);
    gpu::queue_copies(*device_, tasks);
  }
  void* address(int i, int index_in_batch, const void* placeholder) const override {
    const SampleView& view =
        kept(step_.outputs[static_cast<size_t>(i)])[static_cast<size_t>(index_in_batch)];
    return static_cast<char*>(view.data) + gpu::OutputPlaceholder::offset(placeholder);
  }

 private:
  void allocate_output(int output, SampleView& view) override {
    (void)checked_size_bytes(view);
    view.data = gpu::OutputPlaceholder::at();
    kept(step_.outputs[static_cast<size_t>(output)])[position()] = view;
  }
  void alias_output(int output, int input) override {
    const auto i = static_cast<size_t>(output);
    kept(step_.outputs[i])[position()] = values_[step_.inputs.size() + step_.arguments.size() + i];
    shared_from_[i][k_] = input;
  }
  void copy_to_output(int output, void* to, const void* from, int64_t bytes) override {
    copies_.push_back({output, ctx_.index_in_batch(), to, from, bytes});
  }
  // Operators use scratch to compute arguments. It is valid until the end of the stage.
  void* allocate_scratch(size_t bytes) override {
    scratch_.push_back(std::make_unique<std::byte[]>(bytes + 64));
    const auto address = reinterpret_cast<uintptr_t>(scratch_.back().get());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);  // NOLINT(performance-no-int-to-ptr)
  }

  void make_output(int i, std::span<SampleView* const> views) {
    const std::vector<int>& from =
        shared_from_.empty() ? std::vector<int>() : shared_from_[static_cast<size_t>(i)];
    Batch& batch = output_batch(i);
    const auto is_view = [](int input) { return input >= 0; };
    // Outputs of the pipeline own their memory, since the user may change it.
    const bool own = plan_.is_output[static_cast<size_t>(step_.batches[static_cast<size_t>(i)])];
    if (!own && !from.empty() && std::all_of(from.begin(), from.end(), is_view)) {
      std::vector<const Batch*> wholes;
      wholes.reserve(from.size());
      for (const int input : from) wholes.push_back(input_batch(input));
      if (std::find(wholes.begin(), wholes.end(), nullptr) == wholes.end()) {
        batch.share(wholes, samples_, views);
        return;
      }
    }
    std::vector<const void*> sources;
    for (const SampleView* view : views) sources.push_back(view->data);
    batch.allocate_all(samples_, views);
    if (std::none_of(from.begin(), from.end(), is_view)) return;
    std::vector<gpu::CopyTask> tasks;
    for (size_t k = 0; k < views.size(); ++k)
      if (is_view(from[k])) add_copy(sources[k], *views[k], tasks);
    gpu::queue_copies(*device_, tasks);
  }
  static void add_copy(const void* from, const SampleView& to, std::vector<gpu::CopyTask>& tasks) {
    const int64_t bytes = to.size_bytes(), size = itemsize(to.dtype);
    if (bytes > 0)
      tasks.push_back(gpu::make_copy(from, to.data, bytes, size, gpu::dense_axes(to.shape, size)));
  }
  void record_memory(int i) {
    if (iteration_.memory.empty()) return;
    const int slot = step_.outputs[static_cast<size_t>(i)];
    for (const int sample : samples_)
      iteration_.memory[slot].add(kept(slot)[static_cast<size_t>(sample)].size_bytes());
  }

  size_t position() const { return static_cast<size_t>(samples_[k_]); }
  const ValueBatch& input_batch_of(int i) const {
    const int slot = step_.inputs[static_cast<size_t>(i)];
    return plan_.kept_in[static_cast<size_t>(plan_.kept[static_cast<size_t>(slot)])];
  }
  std::vector<SampleView>& kept(int slot) const {
    return iteration_.kept[static_cast<size_t>(plan_.kept[static_cast<size_t>(slot)])];
  }
  bool guards_hold(int sample) const {
    return std::all_of(step_.guards.begin(), step_.guards.end(), [&](const Step::Guard& g) {
      return *kept(g.slot)[static_cast<size_t>(sample)].as<const bool>() == g.value;
    });
  }

  const ExecutionPlan& plan_;
  const Step& step_;
  IterationData& iteration_;
  gpu::Device* const device_;
  // The current sample.
  SampleContext ctx_;
  size_t k_ = 0;
  std::vector<SampleView> values_;
  std::vector<int> slots_;
  struct Copy {  // to a placeholder
    int output, sample;
    const void *to, *from;
    int64_t bytes;
  };
  std::vector<Copy> copies_;
  std::vector<std::vector<int>> shared_from_;  // per output and sample: the input it is a view of
  std::vector<std::unique_ptr<std::byte[]>> scratch_;
};

namespace {

// Runs a step of a batch stage for the samples that are good.
void try_step(const ExecutionPlan& plan, int index, IterationData& iteration, gpu::Device* device,
              Meters& meters, int worker) {
  const Step& step = plan.steps[static_cast<size_t>(index)];
  StepContext ctx(plan, step, iteration, device);
  with_errors_as(
      [&](const Error& cause) { return ctx.describe(cause); },
      [&] {
        const int64_t start = now_ns();
        const crash::Scope scope(step.task);
        if (ctx.size() > 0)
          iteration.states[static_cast<size_t>(step.node)] =
              plan.operators[static_cast<size_t>(step.node)]->prepare_batch(ctx);
        const int64_t ns = now_ns() - start, bytes = ctx.output_bytes();
        StepMeter& meter =
            meters.workers[static_cast<size_t>(worker)]->steps[static_cast<size_t>(index)];
        meter.batches.add(1);
        meter.batch_samples.add(ctx.size());
        meter.batch_ns.add(ns);
        meter.batch_bytes.add(bytes);
        meter.max_batch_ns.raise(ns);
        if (trace::enabled())
          trace::add({.start_ns = start,
                      .ns = ns,
                      .bytes = bytes > 0 ? bytes : -1,
                      .iteration = iteration.number,
                      .label = meters.stages[static_cast<size_t>(index)],
                      .owner = meters.owner});
      });
}

// If a sample fails that may fail, the step starts again without it. Operators that must not start
// again call BatchContext::fail().
void run_step(const ExecutionPlan& plan, int index, IterationData& iteration, gpu::Device* device,
              Meters& meters, int worker) {
  for (bool done = false; !done;) {
    try {
      try_step(plan, index, iteration, device, meters, worker);
      done = true;
    } catch (const OperatorError& e) {
      if (e.on_error == OnError::kRaise || e.sample < 0 || iteration.bad.contains(e.sample)) throw;
      iteration.bad.add(e);
    }
  }
}

}  // namespace

void run_batch_stage(const ExecutionPlan& plan, IterationData& iteration, int stage,
                     gpu::Device* device, Meters& meters, int worker) {
  for (int step : plan.batch_stages[static_cast<size_t>(stage)].steps)
    run_step(plan, step, iteration, device, meters, worker);
  if (stage != plan.last_device_stage) return;
  iteration.on_device = device->mark();
  // Returned to the allocator of the stream, which reuses the memory after the work queued so far.
  for (const int batch : plan.intermediates)
    iteration.batches[static_cast<size_t>(batch)] = nullptr;
}

}  // namespace torchdali
