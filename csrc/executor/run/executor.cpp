// SPDX-License-Identifier: Apache-2.0
#include "executor/run/executor.h"

#include <sched.h>

#include <algorithm>
#include <numeric>

#include "core/threads/interruption.h"
#include "executor/graph/operator_error.h"
#include "executor/graph/passes.h"
#include "executor/run/batch_runner.h"

namespace torchdali {
namespace {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) cpus.push_back(i);
  return cpus;
}

ExecutionPlan prepare(Graph graph, const ExecutorOptions& options) {
  TORCHDALI_CHECK(options.max_batch_size > 0, "`batch_size` must be positive, got ",
                  options.max_batch_size);
  TORCHDALI_CHECK(options.num_threads > 0, "`num_threads` must be positive, got ",
                  options.num_threads);
  for (Node& node : graph.nodes) node.on_error = node.on_error.value_or(options.on_error);
  verify(graph);
  graph = rewrite(std::move(graph), options.fuse);
  return make_execution_plan(std::move(graph), options.max_batch_size, options.num_threads);
}

}  // namespace

class Executor::Iteration final : public Job, public IterationData {
 public:
  explicit Iteration(Executor& executor) : executor_(executor) { id = executor.made_++; }
  void cancel() override { cancelled = true; }
  // Sample stages and batch stages alternate.
  int num_tasks(int stage) const override {
    const auto& stages = executor_.plan_.sample_stages;
    if (stage % 2 == 0) return stages[stage / 2].steps.empty() ? 0 : batch_size;
    return batch_size == 0 ? 0 : 1;
  }
  bool takes_two(int stage) const override {
    return stage % 2 == 0 && executor_.plan_.sample_stages[stage / 2].takes_two >= 0;
  }
  bool begin_two(int stage, int first, int second, int worker) override {
    const InterruptionScope scope(cancelled);
    return executor_.runners_[worker]->begin_two(*this, stage / 2, first, second);
  }
  std::span<const int> order(int stage) const override {
    if (stage % 2 == 0) return largest_first_;
    return {};
  }
  void start_largest_first(const std::vector<uint32_t>& sizes) {
    largest_first_.resize(static_cast<size_t>(batch_size));
    std::iota(largest_first_.begin(), largest_first_.end(), 0);
    std::sort(largest_first_.begin(), largest_first_.end(), [&](int a, int b) {
      const uint32_t size_a = sizes[static_cast<size_t>(a)], size_b = sizes[static_cast<size_t>(b)];
      return size_a > size_b || (size_a == size_b && a < b);
    });
  }
  void run(int stage, int task, int worker) override {
    const InterruptionScope scope(cancelled);
    if (stage % 2 == 0) executor_.runners_[worker]->run(*this, stage / 2, task);
    else
      run_batch_stage(executor_.plan_, *this, stage / 2, executor_.options_.device.get(),
                      executor_.meters_, worker);
  }

 private:
  Executor& executor_;
  std::vector<int> largest_first_;  // empty: sizes are unknown
};

Executor::Executor(Graph graph, const ExecutorOptions& options, const Executor* workers)
    : plan_(prepare(std::move(graph), options)),
      options_(options),
      meters_(plan_, options.num_threads) {
  taken_.positions.resize(plan_.sources.size());
  if (options.memory_stats) memory_.resize(plan_.num_slots);
  TORCHDALI_CHECK_KIND(kUnsupported, plan_.last_device_stage < 0 || options.device != nullptr,
                       "the pipeline has operators on the GPU, and there is none");
  for (const MemoryKind kind : plan_.memory_kinds)
    pools_.push_back(std::make_shared<StoragePool>(static_cast<size_t>(options.kept_storages),
                                                   options.keeps_more, kind, options.device.get()));
  for (int i = 0; i < options.num_threads; ++i)
    runners_.push_back(std::make_unique<SampleRunner>(plan_, meters_, i));
  std::vector<StageTraits> stages(1);
  for (const BatchStage& stage : plan_.batch_stages) {
    stages.push_back({.ordered = stage.ordered});
    stages.emplace_back();
  }
  if (plan_.first_device_stage >= 0)
    stages[2 * static_cast<size_t>(plan_.first_device_stage) + 1].most = options.gpu_depth;
  stages_ = std::make_shared<JobStages>(std::move(stages));
  if (workers != nullptr) {
    TORCHDALI_ASSERT(workers->options_.num_threads == options.num_threads, "");
    scheduler_ = workers->scheduler_;
    shares_scheduler_ = true;
    return;
  }
  scheduler_ =
      std::make_shared<Scheduler>(options.inline_only ? 0 : options.num_threads,
                                  options.set_affinity ? allowed_cpus() : std::vector<int>{});
}

// Other executors may share the scheduler, so its end cannot be relied on.
Executor::~Executor() {
  if (!has_no_jobs()) scheduler_->cancel();
}

std::vector<int> Executor::accept(const std::vector<FedBatch>& fed) {
  std::vector<int> nodes;
  nodes.reserve(fed.size());
  for (const auto& [name, batch, failed] : fed) {
    const int node = nodes.emplace_back(find(name));
    const auto* source = dynamic_cast<const ExternalSource*>(plan_.operators[node].get());
    TORCHDALI_CHECK(source != nullptr, "`", name, "` is not an external_source");
    TORCHDALI_ASSERT(
        !plan_.graph.nodes[node].on_gpu || batch->on_device || options_.device->index() < 0, name);
    TORCHDALI_CHECK(batch->size <= options_.max_batch_size, "`", name, "`: a batch of ",
                    batch->size, " samples was fed to a pipeline whose batch size is at most ",
                    options_.max_batch_size);
    for (int i = 0; i < batch->size; ++i) {
      const auto fail = [&](const Error& cause) {
        OperatorError error(cause, plan_.graph.nodes[node]);
        error.sample = i;
        error.batch_size = batch->size;
        return error;
      };
      with_errors_as(fail, [&] { (void)checked_size_bytes(batch->samples[i]); });
    }
    source->accept(*batch);
  }
  return nodes;
}

void Executor::prepare_next() {
  if (next_ != nullptr) return;
  next_ = std::make_shared<Iteration>(*this);
  next_->source_batches.resize(plan_.graph.nodes.size());
}

bool Executor::get_source_batches(bool externals) {
  for (int n : plan_.sources) {
    std::unique_ptr<SourceBatch>& batch = next_->source_batches[n];
    if (batch != nullptr) continue;
    if (!externals && dynamic_cast<ExternalSource*>(&source(n)) != nullptr) continue;
    with_operator_errors(plan_.graph.nodes[n], [&] {
      const crash::Scope scope(plan_.steps[n].task);
      const int64_t start = now_ns();
      batch = source(n).next_batch(options_.max_batch_size);
      note_source(n, start);
    });
    if (batch == nullptr) return false;
  }
  return true;
}

void Executor::set_batch_size(Iteration& iteration, const std::vector<int>& nodes,
                              const std::vector<FedBatch>& fed) const {
  std::vector<int> sized = plan_.sources;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (fed[i].all_failed()) std::erase(sized, nodes[i]);
  for (const int n : sized) {
    const SourceBatch& batch = *iteration.source_batches[n];
    if (n == sized.front()) iteration.batch_size = batch.size;
    if (batch.size == iteration.batch_size) continue;
    const std::string& first = plan_.graph.nodes[sized.front()].name;
    throw OperatorError(
        Error(ErrorKind::kRuntime, str_cat("gives a batch of ", batch.size, " samples, but `",
                                           first, "` gives ", iteration.batch_size)),
        plan_.graph.nodes[n]);
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (fed[i].all_failed())
      set_size(static_cast<ExternalBatch&>(*iteration.source_batches[nodes[i]]),
               iteration.batch_size);
}

bool Executor::schedule(std::vector<FedBatch> fed, std::vector<uint64_t> sample_ids) {
  const std::vector<int> nodes = accept(fed);
  if (epoch_plan_) {
    const int size = epoch_plan_->batch_at(epoch_position_, options_.max_batch_size);
    if (size == 0) return false;
    for (int i = 0; i < size; ++i)
      sample_ids.push_back(epoch_plan_->sample_id(epoch_position_ + i));
    epoch_position_ += size;
  }
  // What readers gave for an iteration that was not scheduled is in `next_`. What the user passed
  // in comes with every attempt.
  prepare_next();
  for (size_t i = 0; i < nodes.size(); ++i)
    next_->source_batches[nodes[i]] = std::move(fed[i].batch);
  if (!get_source_batches(true)) return false;
  const std::shared_ptr<Iteration> iteration = std::move(next_);
  iteration->turn = begun_++;
  begin(*iteration, nodes, fed, std::move(sample_ids));
  for (int n : plan_.sources) {
    const std::vector<uint32_t>& sizes = iteration->source_batches[n]->sizes;
    if (sizes.empty()) continue;
    iteration->start_largest_first(sizes);
    break;
  }
  iteration->number = scheduled_++;
  next_sample_id_ += iteration->batch_size;
  submit(iteration);
  return true;
}

void Executor::begin(Iteration& iteration, const std::vector<int>& nodes,
                     const std::vector<FedBatch>& fed, std::vector<uint64_t> sample_ids) {
  iteration.batch_size =
      sample_ids.empty() ? options_.max_batch_size : static_cast<int>(sample_ids.size());
  set_batch_size(iteration, nodes, fed);
  for (size_t i = 0; i < nodes.size(); ++i)
    add_failed(fed[i], plan_.graph.nodes[nodes[i]], iteration.batch_size, iteration.bad);
  for (int n : plan_.sources)
    if (sample_ids.empty()) sample_ids = std::move(iteration.source_batches[n]->sample_ids);
  TORCHDALI_ASSERT(
      sample_ids.empty() || static_cast<int>(sample_ids.size()) >= iteration.batch_size, "");
  iteration.sample_ids = std::move(sample_ids);
  iteration.first_sample_id = next_sample_id_;
  for (const auto& pool : pools_)
    iteration.batches.push_back(std::make_shared<Batch>(iteration.batch_size, pool));
  if (!plan_.batch_stages.empty()) iteration.states.resize(plan_.graph.nodes.size());
  iteration.kept.resize(plan_.kept_in.size());
  for (auto& views : iteration.kept) views.resize(static_cast<size_t>(iteration.batch_size));
  if (options_.memory_stats)
    iteration.memory = std::vector<IterationMemory>(static_cast<size_t>(plan_.num_slots));
}

void Executor::submit(std::shared_ptr<Iteration> iteration) {
  in_flight_.push_back(iteration);
  scheduler_->submit(std::move(iteration), stages_, meters_.owner);
}

std::shared_ptr<const IterationData> Executor::run(std::vector<FedBatch> fed, int batch_size,
                                                   std::vector<uint64_t> seeds) {
  const std::vector<int> nodes = accept(fed);
  for (size_t i = 0; i < nodes.size(); ++i)
    TORCHDALI_CHECK_KIND(
        kUnsupported, !fed[i].batch->on_device || plan_.graph.nodes[nodes[i]].on_gpu,
        "a tensor on a GPU was passed where one on the CPU is needed", to_fix("pass tensor.cpu()"));
  for (const int n : plan_.sources)
    TORCHDALI_ASSERT(std::find(nodes.begin(), nodes.end(), n) != nodes.end(), n);
  const auto iteration = std::make_shared<Iteration>(*this);
  iteration->source_batches.resize(plan_.graph.nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    iteration->source_batches[nodes[i]] = std::move(fed[i].batch);
  std::vector<uint64_t> sample_ids(static_cast<size_t>(batch_size));
  std::iota(sample_ids.begin(), sample_ids.end(), 0);
  begin(*iteration, nodes, fed, std::move(sample_ids));
  iteration->seeds = std::move(seeds);
  if (iteration->batch_size > 1 && scheduler_->num_threads() > 0) {
    submit(iteration);
    return nullptr;
  }
  for (int stage = 0; stage < stages_->size(); ++stage)
    for (int i = 1, task = 0, next = 1; i <= iteration->num_tasks(stage); task = next, next = ++i) {
      const bool has_next = i < iteration->num_tasks(stage);
      if (has_next && iteration->begin_two(stage, task, next, 0)) std::swap(task, next);
      iteration->run(stage, task, 0);
    }
  for (const auto& batch : iteration->batches)
    if (batch != nullptr) batch->finish();
  return iteration;
}

bool Executor::skip() {
  prepare_next();
  if (!get_source_batches(false)) return false;
  next_ = nullptr;
  ++begun_;
  return true;
}

void Executor::note_source(int node, int64_t start) {
  const int64_t ns = now_ns() - start;
  SourceMeter& meter = meters_.sources[node];
  meter.batches.add(1);
  meter.ns.add(ns);
  meter.max_ns.raise(ns);
  if (trace::enabled())
    trace::add({.start_ns = start,
                .ns = ns,
                .iteration = scheduled_,
                .label = meters_.source_labels[node],
                .owner = meters_.owner});
}

std::shared_ptr<const IterationData> Executor::wait(std::chrono::milliseconds timeout) {
  if (held_ != nullptr) return held_;
  std::shared_ptr<Job> job;
  try {
    job = scheduler_->wait(timeout);
  } catch (...) {  // a failed iteration counts as taken
    mark_taken();
    throw;
  }
  if (job == nullptr) return nullptr;
  held_ = std::static_pointer_cast<Iteration>(job);
  holds_ = true;
  for (const auto& batch : held_->batches)
    if (batch != nullptr && !held_->bad.any()) batch->finish();
  if (options_.memory_stats) add_memory(*held_);
  return held_;
}

void Executor::settle() {
  if (held_ == nullptr) return;
  mark_taken();
  held_ = nullptr;
  holds_ = false;
}

int64_t Executor::oldest() const { return in_flight_.empty() ? -1 : in_flight_.front()->turn; }

void Executor::cancel() {
  if (has_no_jobs()) return;
  scheduler_->cancel();
  in_flight_.clear();
  held_ = nullptr;
  holds_ = false;
}

void Executor::hand_over(const IterationData& iteration) const {
  if (iteration.on_device != nullptr) options_.device->hand_over(*iteration.on_device);
}

void Executor::mark_taken() {
  const IterationData& iteration = *in_flight_.front();
  ++taken_.iterations;
  taken_.samples = iteration.first_sample_id + static_cast<uint64_t>(iteration.batch_size);
  for (size_t i = 0; i < plan_.sources.size(); ++i)
    taken_.positions[i] = iteration.source_batches[plan_.sources[i]]->end;
  in_flight_.pop_front();
}

ExecutorState Executor::state() {
  ExecutorState state{.iterations = taken_.iterations, .samples = taken_.samples, .sources = {}};
  for (size_t i = 0; i < plan_.sources.size(); ++i) {
    const int n = plan_.sources[i];
    SourceState of_source = source(n).state(taken_.positions[i]);
    if (!of_source.empty()) state.sources.emplace(plan_.graph.nodes[n].name, std::move(of_source));
  }
  return state;
}

void Executor::restore(const ExecutorState& state) {
  TORCHDALI_ASSERT(taken_.iterations == 0 && in_flight_.empty(), "restore() of a running pipeline");
  for (size_t i = 0; i < plan_.sources.size(); ++i) {
    const int n = plan_.sources[i];
    const auto found = state.sources.find(plan_.graph.nodes[n].name);
    with_operator_errors(plan_.graph.nodes[n], [&] {
      taken_.positions[i] =
          source(n).restore(found == state.sources.end() ? SourceState{} : found->second);
    });
  }
  taken_.iterations = state.iterations;
  taken_.samples = next_sample_id_ = state.samples;
}

void Executor::reset() {
  next_ = nullptr;
  for (int n : plan_.sources) source(n).reset();
}

void Executor::set_epoch_plan(const EpochPlan& plan) {
  cancel();
  next_ = nullptr;
  for (size_t i = 0; i < plan_.sources.size(); ++i) {
    const int n = plan_.sources[i];
    with_operator_errors(plan_.graph.nodes[n], [&] {
      if (source(n).set_epoch_plan(plan)) taken_.positions[i] = 0;
    });
  }
  if (!plan_.sources.empty()) return;
  epoch_plan_ = plan;
  epoch_position_ = 0;
}

int Executor::find(const std::string& name) const {
  for (size_t n = 0; n < plan_.graph.nodes.size(); ++n)
    if (plan_.graph.nodes[n].name == name) return static_cast<int>(n);
  raise(ErrorKind::kValue, "the pipeline has no operator named `", name, "`");
}

std::optional<ReaderMeta> Executor::reader_meta(const std::string& name) {
  auto* source = dynamic_cast<Source*>(plan_.operators[find(name)].get());
  return source == nullptr ? std::nullopt : source->meta();
}

}  // namespace torchdali
