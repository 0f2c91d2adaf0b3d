// SPDX-License-Identifier: Apache-2.0
#include "python/py_executor.h"

#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "python/arrays/output_rows.h"
#include "python/arrays/torch_tensors.h"
#include "python/deferred_destroyer.h"
#include "python/dropped_objects.h"
#include "python/executor_facts.h"
#include "python/external_batch.h"
#include "python/functions/generators_turn.h"
#include "python/one_thread.h"
#include "python/plan_facts.h"
#include "python/to_graph.h"

namespace torchdali {
namespace {

// How often a wait checks for Ctrl-C.
constexpr auto kSignalPeriod = std::chrono::milliseconds(50);

// A switch for comparisons and for debugging; docs/design/fusion.md.
bool fusion_enabled() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read only
  const char* value = std::getenv("TORCHDALI_FUSION");
  return value == nullptr || std::string_view(value) != "0";
}

bool cancel_for(Executor& executor, std::chrono::milliseconds timeout) {
  const nb::gil_scoped_release release;
  const GeneratorsTurn::Pause pause;
  return executor.cancel(timeout);
}

// None if no sample has a name.
nb::object to_python(std::shared_ptr<const SampleNames> names) {
  return names == nullptr ? nb::none() : nb::cast(PySampleNames{std::move(names)});
}

nb::tuple to_output(const Executor& executor, const IterationData& iteration, int index) {
  const nb::object names = to_python(executor.names(iteration, index));
  if (const Batch* batch = executor.output(iteration, index)) {
    const auto dense = batch->dense();
    const nb::object data = dense ? to_tensor(*dense) : to_tensors(*batch);
    return nb::make_tuple(data, batch->layout().str(), names);
  }
  const ExternalBatch& batch = executor.external_output(iteration, index);
  const Layout layout = batch.samples.empty() ? Layout() : batch.samples[0].layout;
  return nb::make_tuple(to_object(batch), layout.str(), names);
}

// An output of an iteration in which samples failed.
nb::tuple to_output(const Executor& executor, const IterationData& iteration, int index,
                    std::span<const int> rows) {
  const nb::object names = to_python(select_names(executor.names(iteration, index), rows));
  const Batch* batch = executor.output(iteration, index);
  if (batch != nullptr) {
    // The tensors of samples that failed may not exist.
    const auto dense = batch->dense();
    nb::object data;
    if (dense) {
      data = select_rows(to_tensor(*dense), rows);
    } else {
      data =
          make_list(static_cast<size_t>(iteration.batch_size), [](size_t) { return nb::none(); });
      for (const int row : rows) data[row] = to_tensor(batch->tensor(row));
      data = select_rows(data, rows);
    }
    return nb::make_tuple(data, batch->layout().str(), names);
  }
  const ExternalBatch& external = executor.external_output(iteration, index);
  const Layout layout = external.samples.empty() ? Layout() : external.samples[0].layout;
  return nb::make_tuple(select_rows(to_object(external), rows), layout.str(), names);
}

nb::list list_of(const nb::object& one) {
  nb::list list;
  list.append(one);
  return list;
}

std::map<int, Error> to_errors(const PyExecutor::Failed& failed) {
  std::map<int, Error> errors;
  for (const auto& [sample, failure] : failed) {
    const auto& [message, exception] = failure;
    Error error(ErrorKind::kRuntime, message);
    error.set_cause(keep_alive(exception));
    errors.emplace(sample, std::move(error));
  }
  return errors;
}

}  // namespace

// Releases the GIL, and the turn of a function that waits for another pipeline; counts the thread.
class PyExecutor::WithoutGil {
 public:
  explicit WithoutGil(PyExecutor& executor) : count_(executor) {}

 private:
  struct Count {
    explicit Count(PyExecutor& e) : executor(e) { ++executor.threads_in_engine_; }
    ~Count() { --executor.threads_in_engine_; }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    PyExecutor& executor;
  };
  Count count_;
  nb::gil_scoped_release release_;
  GeneratorsTurn::Pause pause_;
};

PyExecutor::PyExecutor(const nb::list& nodes, const nb::list& outputs, int batch_size,
                       int num_threads, bool set_affinity, bool memory_stats, bool fuse,
                       const PyExecutor* workers, const PyDevice* device, int gpu_depth,
                       bool guess_layouts, const std::string& on_error, bool inline_only,
                       int kept_storages, bool keeps_more) {
  Graph graph = to_graph(nodes, outputs);
  for (Node& node : graph.nodes) node.guesses_layouts = guess_layouts;
  const ExecutorOptions options{.max_batch_size = batch_size,
                                .num_threads = num_threads,
                                .inline_only = inline_only,
                                .kept_storages = kept_storages,
                                .keeps_more = keeps_more,
                                .set_affinity = set_affinity,
                                .fuse = fuse && fusion_enabled(),
                                .memory_stats = memory_stats,
                                .on_error = on_error_of(on_error),
                                .device = device == nullptr ? nullptr : device->device,
                                .gpu_depth = gpu_depth};
  const Executor* shared = workers == nullptr ? nullptr : &workers->executor();
  const nb::gil_scoped_release release;
  executor_ = std::make_shared<Executor>(std::move(graph), options, shared);
}

PyExecutor::~PyExecutor() {  // NOLINT(bugprone-exception-escape): only if Python itself is broken
  if (executor_ != nullptr && process_id() == process_ && executor_->on_worker()) {
    DeferredDestroyer::instance().destroy(std::move(executor_));
    return;
  }
  try {
    close();
  } catch (nb::python_error& e) {
    if (e.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();  // raised again by the caller
    else e.discard_as_unraisable("torchdali: closing a pipeline");
  }
}

void PyExecutor::schedule(const std::vector<Fed>& fed, std::vector<uint64_t> sample_ids) {
  release_dropped();
  (void)executor();
  const std::shared_ptr<Executor> e = executor_;
  std::vector<FedBatch> batches;
  batches.reserve(fed.size());
  for (const auto& [name, data, layout, source_names, failed] : fed) {
    std::vector<std::string> names;
    names.reserve(source_names.size());
    for (const nb::bytes& one : source_names) names.push_back(text_of(one));
    batches.push_back({name, to_external_batch(data, layout, names), to_errors(failed)});
  }
  bool more;
  {
    const WithoutGil without_gil(*this);
    more = e->schedule(std::move(batches), std::move(sample_ids));
  }
  if (!more) throw nb::stop_iteration();
}

nb::list PyExecutor::divide(const std::string& name, const nb::object& data) {
  (void)executor();
  const std::shared_ptr<Executor> e = executor_;
  std::unique_ptr<ExternalBatch> fed = to_external_batch(data, "", {});
  std::shared_ptr<const FedData> divided;
  {
    const WithoutGil without_gil(*this);
    divided = torchdali::divide(e->plan(), name, std::move(fed));
  }
  return make_list(static_cast<size_t>(divided->batches()),
                   [&](size_t i) { return nb::cast(PyFedPart{divided, static_cast<int64_t>(i)}); });
}

void PyExecutor::skip() {
  (void)executor();
  const std::shared_ptr<Executor> e = executor_;
  bool more;
  {
    const WithoutGil without_gil(*this);
    more = e->skip();
  }
  if (!more) throw nb::stop_iteration();
}

std::shared_ptr<const IterationData> PyExecutor::next_iteration() {
  TORCHDALI_CHECK_KIND(kRuntime, executor().pending() > 0, "no iteration is scheduled");
  const std::shared_ptr<Executor> e = executor_;
  while (true) {
    std::shared_ptr<const IterationData> iteration;
    {
      const WithoutGil without_gil(*this);
      iteration = e->wait(kSignalPeriod);
    }
    if (iteration != nullptr) return iteration;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    (void)executor();  // another thread or a signal handler may have closed it
  }
}

std::shared_ptr<const IterationData> PyExecutor::run_fed(std::vector<FedBatch> fed, int batch_size,
                                                         std::vector<uint64_t> seeds) {
  Executor& e = executor();
  std::shared_ptr<const IterationData> iteration;
  {
    const WithoutGil without_gil(*this);
    iteration = e.run(std::move(fed), batch_size, std::move(seeds));
  }
  if (iteration == nullptr) {
    try {
      iteration = next_iteration();
    } catch (nb::python_error&) {  // Ctrl-C
      e.cancel();
      throw;
    }
    e.settle();
  }
  release_dropped();
  e.hand_over(*iteration);
  return iteration;
}

nb::list PyExecutor::run(const std::vector<Input>& inputs, int batch_size,
                         std::vector<uint64_t> seeds, bool single) {
  (void)executor();
  const std::shared_ptr<Executor> e = executor_;
  std::vector<FedBatch> batches;
  batches.reserve(inputs.size());
  for (const auto& [name, data, layout] : inputs)
    batches.push_back(
        {name,
         to_external_batch(nb::isinstance<nb::list>(data) ? data : list_of(data), layout, {}),
         {}});
  const auto iteration = run_fed(std::move(batches), batch_size, std::move(seeds));
  nb::list outputs;
  for (int i = 0; i < e->num_outputs(); ++i) {
    const Batch* batch = e->output(*iteration, i);
    const std::optional<BatchTensor> dense = single ? batch->tensor(0) : batch->dense();
    const nb::object data = dense ? to_tensor(*dense) : nb::object(to_tensors(*batch));
    outputs.append(nb::make_tuple(data, batch->layout().str()));
  }
  return outputs;
}

nb::object PyExecutor::run_plain(const std::string& input, const nb::object& sample,
                                 const std::string& layout) {
  (void)executor();
  const std::shared_ptr<Executor> e = executor_;
  std::vector<FedBatch> batches;
  batches.push_back({input, to_external_batch(list_of(sample), layout, {}), {}});
  const auto iteration = run_fed(std::move(batches), 1, {0});
  return to_tensor(e->output(*iteration, 0)->tensor(0));
}

nb::list PyExecutor::wait() {
  const std::shared_ptr<Executor> kept = executor_;  // another thread may close it meanwhile
  const std::shared_ptr<const IterationData> iteration = next_iteration();
  Executor& e = *kept;
  release_dropped();
  e.hand_over(*iteration);
  bad_samples_ = nb::none();
  nb::list outputs;
  if (!iteration->bad.any()) {
    for (int i = 0; i < e.num_outputs(); ++i) outputs.append(to_output(e, *iteration, i));
    return outputs;
  }
  const BadSamples::Rows rows = iteration->bad.rows(iteration->batch_size);
  for (int i = 0; i < e.num_outputs(); ++i)
    outputs.append(to_output(e, *iteration, i, rows.values));
  nb::list exceptions;
  for (const OperatorError& error : iteration->bad.errors()) exceptions.append(to_exception(error));
  bad_samples_ = nb::make_tuple(exceptions, rows.samples, rows.values);
  return outputs;
}

void PyExecutor::set_holds(bool holds) {
  TORCHDALI_CHECK(!holds, "`holds` can only be set to False");
  // A pipeline that was closed in the meantime holds nothing.
  if (executor_ != nullptr && process_id() == process_) executor_->settle();
  release_dropped();
}

nb::object PyExecutor::reader_meta(const std::string& name) {
  const auto meta = executor().reader_meta(name);
  if (!meta) return nb::none();
  nb::dict d;
  d["epoch_size"] = meta->epoch_size;
  d["epoch_size_padded"] = meta->epoch_size_padded;
  d["number_of_shards"] = meta->number_of_shards;
  d["shard_id"] = meta->shard_id;
  d["pad_last_batch"] = meta->pad_last_batch;
  d["stick_to_shard"] = meta->stick_to_shard;
  return d;
}

bool PyExecutor::reader_shuffles(const std::string& name) {
  const auto meta = executor().reader_meta(name);
  return meta && meta->shuffles;
}

nb::dict PyExecutor::state() {
  const ExecutorState state = executor().state();
  nb::dict d;
  d["iterations"] = state.iterations;
  d["samples"] = state.samples;
  d["sources"] = state.sources;
  return d;
}

void PyExecutor::restore(int64_t iterations, uint64_t samples,
                         std::map<std::string, SourceState> sources) {
  executor().restore({.iterations = iterations, .samples = samples, .sources = std::move(sources)});
}

nb::dict PyExecutor::memory_statistics() const { return memory_facts(executor()); }
nb::dict PyExecutor::measures() const { return measure_facts(executor()); }
nb::list PyExecutor::plan() const { return plan_facts(executor().plan()); }

void PyExecutor::set_epoch_plan(const EpochPlan& plan) {
  Executor& e = executor();
  const nb::gil_scoped_release release;
  const GeneratorsTurn::Pause pause;
  e.set_epoch_plan(plan);
  int readers = 0;
  bool buckets = false;
  for (const int n : e.plan().sources)
    if (const auto meta = e.reader_meta(e.plan().graph.nodes[n].name)) {
      ++readers;
      buckets = buckets || meta->buckets;
    }
  TORCHDALI_CHECK(!buckets || readers == 1, "`bucket_by` with ", readers,
                  " readers: each would be in the order of its own lengths",
                  to_fix("read with one reader, or without `bucket_by`"));
}

void PyExecutor::cancel() {
  Executor& e = executor();
  const nb::gil_scoped_release release;
  const GeneratorsTurn::Pause pause;
  e.cancel();
}

void PyExecutor::close() {
  if (executor_ == nullptr) return;
  // A forked child has the memory but none of the threads, and mutexes may be locked forever: there
  // is nothing to join, and nothing can be freed safely.
  if (process_id() != process_) {
    new std::shared_ptr<Executor>(std::move(executor_));  // leaked on purpose
    return;
  }
  (void)executor();  // raises inside of a function of the pipeline
  std::shared_ptr<Executor> e = std::move(executor_);
  std::optional<nb::python_error> interrupted;
  while (!cancel_for(*e, kSignalPeriod)) {
    if (PyErr_CheckSignals() == 0) continue;
    // The first Ctrl-C interrupts functions that hang in Python. The second one gives up on
    // functions that hang outside of Python.
    const bool again = interrupted.has_value();
    interrupted.emplace();
    if (again) {
      new std::shared_ptr<Executor>(e);  // leaked on purpose
      break;
    }
    for (const auto thread : e->threads())
      PyThreadState_SetAsyncExc(static_cast<unsigned long>(thread), PyExc_KeyboardInterrupt);
  }
  {
    const nb::gil_scoped_release release;  // the workers may destroy Python objects
    const GeneratorsTurn::Pause pause;
    // A daemon thread that waits for an iteration must return to Python before the executor ends.
    while (threads_in_engine_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    e.reset();
  }
  release_dropped();
  if (interrupted) throw std::move(*interrupted);  // NOLINT(performance-move-const-arg)
}

Executor& PyExecutor::executor() const {
  TORCHDALI_CHECK_KIND(kRuntime, executor_ != nullptr, "the pipeline is closed");
  TORCHDALI_CHECK_KIND(kRuntime, process_id() == process_,
                       "a pipeline cannot be used in a process that was forked after it was "
                       "built; build it there");
  check_not_on_worker(*executor_);
  return *executor_;
}

}  // namespace torchdali
