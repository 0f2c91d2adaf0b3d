// SPDX-License-Identifier: Apache-2.0
#include "executor/executor.h"

#include <sched.h>

#include <new>

#include "executor/rewrite.h"

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

// Outputs that the user has let go are kept for the iterations in flight and a few more.
constexpr size_t kKeptStorages = 6;

Plan prepare(Graph graph, const ExecutorOptions& options) {
  TORCHDALI_CHECK(options.max_batch_size > 0, "`batch_size` must be positive, got ",
                  options.max_batch_size);
  TORCHDALI_CHECK(options.num_threads > 0, "`num_threads` must be positive, got ",
                  options.num_threads);
  verify(graph);
  if (options.fuse) graph = rewrite(std::move(graph));
  return make_plan(std::move(graph), options.max_batch_size, options.num_threads);
}

}  // namespace

class Executor::Iteration final : public Job, public IterationData {
 public:
  explicit Iteration(Executor& executor) : executor_(executor) {}
  int num_tasks(int) const override { return batch_size; }
  void run(int, int task, int worker) override { executor_.runners_[worker]->run(*this, task); }

 private:
  Executor& executor_;
};

Executor::Executor(Graph graph, const ExecutorOptions& options)
    : plan_(prepare(std::move(graph), options)), options_(options) {
  for (int i = 0; i < plan_.num_batches; ++i)
    pools_.push_back(std::make_shared<StoragePool>(kKeptStorages));
  for (int i = 0; i < options.num_threads; ++i)
    runners_.push_back(std::make_unique<SampleRunner>(plan_));
  scheduler_ =
      std::make_unique<Scheduler>(options.num_threads, std::vector<StageTraits>(1),
                                  options.set_affinity ? allowed_cpus() : std::vector<int>{});
}

bool Executor::schedule() {
  // Where one source failed or had no data, those before it keep the batch that they gave.
  if (next_ == nullptr) {
    next_ = std::make_shared<Iteration>(*this);
    next_->source_batches.resize(plan_.graph.nodes.size());
    next_->batch_size = options_.max_batch_size;
  }
  for (int n : plan_.sources) {
    std::unique_ptr<SourceBatch>& batch = next_->source_batches[n];
    if (batch != nullptr) continue;
    const Node& node = plan_.graph.nodes[n];
    try {
      batch = static_cast<Source&>(*plan_.operators[n]).next_batch(options_.max_batch_size);
    } catch (const Error& e) {
      throw OperatorError(e, node);
    } catch (const std::bad_alloc&) {
      throw OperatorError(Error(ErrorKind::kRuntime, "out of memory"), node);
    }
    if (batch == nullptr) return false;
  }
  const std::shared_ptr<Iteration> iteration = std::move(next_);
  for (int n : plan_.sources) {
    const SourceBatch& batch = *iteration->source_batches[n];
    if (n == plan_.sources.front()) iteration->batch_size = batch.size;
    if (batch.size != iteration->batch_size) {
      const std::string& first = plan_.graph.nodes[plan_.sources.front()].name;
      throw OperatorError(
          Error(ErrorKind::kRuntime, str_cat("gives a batch of ", batch.size, " samples, but `",
                                             first, "` gives ", iteration->batch_size)),
          plan_.graph.nodes[n]);
    }
  }
  iteration->first_sample_id = next_sample_id_;
  next_sample_id_ += iteration->batch_size;
  for (const auto& pool : pools_)
    iteration->batches.push_back(std::make_unique<Batch>(iteration->batch_size, pool));
  scheduler_->submit(iteration);
  return true;
}

std::shared_ptr<const IterationData> Executor::wait(std::chrono::milliseconds timeout) {
  const auto job = scheduler_->wait(timeout);
  if (job == nullptr) return nullptr;
  auto iteration = std::static_pointer_cast<Iteration>(job);
  for (const auto& batch : iteration->batches) batch->finish();
  return iteration;
}

void Executor::release_unused_memory() {
  for (const auto& pool : pools_) pool->release_unused();
}

void Executor::reset() {
  next_ = nullptr;
  for (int n : plan_.sources) static_cast<Source&>(*plan_.operators[n]).reset();
}

Operator& Executor::find(const std::string& name) {
  for (size_t n = 0; n < plan_.graph.nodes.size(); ++n)
    if (plan_.graph.nodes[n].name == name) return *plan_.operators[n];
  raise(ErrorKind::kValue, "the pipeline has no operator named `", name, "`");
}

void Executor::feed(const std::string& name, std::unique_ptr<FedBatch> batch) {
  auto* source = dynamic_cast<FedSource*>(&find(name));
  TORCHDALI_CHECK(source != nullptr, "`", name, "` is not an external_source");
  TORCHDALI_CHECK(batch->size <= options_.max_batch_size, "`", name, "`: a batch of ", batch->size,
                  " samples was fed to a pipeline whose batch size is at most ",
                  options_.max_batch_size);
  source->feed(std::move(batch));
}

std::optional<ReaderMeta> Executor::reader_meta(const std::string& name) {
  auto* source = dynamic_cast<Source*>(&find(name));
  return source == nullptr ? std::nullopt : source->meta();
}

}  // namespace torchdali
