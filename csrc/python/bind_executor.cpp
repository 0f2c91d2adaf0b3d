// SPDX-License-Identifier: Apache-2.0
// Executor: graphs in, batches of torch tensors out. Waiting happens without the GIL.
#include "executor/run/executor.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "python/bind.h"
#include "python/plan_facts.h"

namespace torchdali {
namespace {

// How soon a wait notices Ctrl-C.
constexpr auto kSignalPeriod = std::chrono::milliseconds(50);

// A switch to compare and to find faults with; docs/design/fusion.md.
bool fusion_enabled() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read only
  const char* value = std::getenv("TORCHDALI_FUSION");
  return value == nullptr || std::string_view(value) != "0";
}

Edge to_edge(py::handle pair) {
  const auto [node, output] = py::cast<std::pair<int, int>>(pair);
  return {node, output};
}

std::string to_bytes(py::handle text) {
  return py::cast<std::string>(text.attr("encode")("utf-8", "surrogateescape"));
}

Node to_node(const py::dict& d) {
  Node node;
  const auto op = py::cast<std::string>(d["op"]);
  node.schema = find_schema(op);
  TORCHDALI_CHECK(node.schema != nullptr, "there is no operator ", op);
  node.name = py::cast<std::string>(d["name"]);
  node.seed = py::cast<uint64_t>(d["seed"]);
  node.on_gpu = py::cast<bool>(d["on_gpu"]);
  node.location = to_bytes(d["location"]);
  for (const auto e : py::cast<py::list>(d["inputs"])) node.inputs.push_back(to_edge(e));
  for (const auto& [name, e] : py::cast<py::dict>(d["arg_inputs"]))
    node.argument_inputs.emplace(py::cast<std::string>(name), to_edge(e));
  for (const auto& [edge, value] : py::cast<std::vector<std::pair<py::object, bool>>>(d["guards"]))
    node.guards.push_back({to_edge(edge), value});
  for (const auto& [name, value] : py::cast<py::dict>(d["args"])) {
    const auto arg = py::cast<std::string>(name);
    node.args.emplace(arg, to_arg_value(value, arg));
  }
  return node;
}

SampleView view_of(const at::Tensor& t, const Layout& layout) {
  return {.data = t.data_ptr(),
          .dtype = from_scalar_type(t.scalar_type()),
          .shape = Shape({t.sizes().data(), t.sizes().size()}),
          .layout = layout};
}

// What keeps a FedBatch's memory alive: one tensor a sample, or (`whole`) one with all of them.
struct FedTensors {
  std::vector<at::Tensor> tensors;
  bool whole = false;
};

// Where tensors cannot be read as they lie (strides), they are copied.
std::unique_ptr<FedBatch> to_fed_batch(const py::object& data, const std::string& layout_letters) {
  const Layout layout{std::string_view(layout_letters)};
  auto batch = std::make_unique<FedBatch>();
  auto owner = std::make_shared<FedTensors>();
  const auto add = [&](const at::Tensor& t) {
    TORCHDALI_CHECK_KIND(kType, (t.is_cpu() || t.is_cuda()) && t.layout() == at::kStrided,
                         "data must be dense tensors");
    batch->on_device = t.is_cuda();
    auto& kept = owner->tensors;
    kept.push_back(t.is_contiguous() && !t.is_neg() && !t.is_conj() ? t : t.contiguous());
    return view_of(kept.back(), {});
  };
  if (py::isinstance<py::list>(data)) {
    for (const auto item : py::cast<py::list>(data))
      batch->samples.push_back(add(py::cast<at::Tensor>(item)));
  } else {
    owner->whole = true;
    const SampleView whole = add(py::cast<at::Tensor>(data));
    TORCHDALI_CHECK(whole.shape.ndim() > 0, "a batch needs at least one dimension, the samples");
    SampleView sample{.data = whole.data,
                      .dtype = whole.dtype,
                      .shape = Shape(whole.shape.span().subspan(1)),
                      .layout = {}};
    // Executor::feed() checks extents that torch lets pass, beside one of 0.
    const int64_t bytes = owner->tensors[0].numel() == 0 ? 0 : sample.size_bytes();
    for (int64_t i = 0; i < whole.shape[0];
         ++i, sample.data = static_cast<char*>(sample.data) + bytes)
      batch->samples.push_back(sample);
  }
  for (SampleView& s : batch->samples) s.layout = layout;
  batch->size = static_cast<int>(batch->samples.size());
  batch->owner = std::move(owner);
  return batch;
}

// Ends executors whose last owner went on one of their own workers, which cannot wait for itself:
// the garbage collector runs wherever it likes.
class Undertaker {
 public:
  void take(std::shared_ptr<Executor> executor) {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([executor = std::move(executor)]() mutable { executor.reset(); });
  }
  void join() {
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

Undertaker& undertaker() {
  static auto* const one = new Undertaker;  // joined at the interpreter's exit, never destroyed
  return *one;
}

class PyExecutor {
 public:
  PyExecutor(const py::list& nodes, const py::list& outputs, int batch_size, int num_threads,
             bool set_affinity, bool memory_stats, bool fuse, const PyExecutor* workers,
             std::shared_ptr<gpu::Device> device, int gpu_depth) {
    Graph graph;
    for (const auto d : nodes) graph.nodes.push_back(to_node(py::cast<py::dict>(d)));
    for (const auto e : outputs) graph.outputs.push_back(to_edge(e));
    const ExecutorOptions options{.max_batch_size = batch_size,
                                  .num_threads = num_threads,
                                  .set_affinity = set_affinity,
                                  .fuse = fuse && fusion_enabled(),
                                  .memory_stats = memory_stats,
                                  .device = std::move(device),
                                  .gpu_depth = gpu_depth};
    const Executor* shared = workers == nullptr ? nullptr : &workers->executor();
    const py::gil_scoped_release release;
    executor_ = std::make_shared<Executor>(std::move(graph), options, shared);
  }
  ~PyExecutor() {  // NOLINT(bugprone-exception-escape): but where Python itself is broken
    if (executor_ != nullptr && getpid() == process_ && executor_->on_worker()) {
      undertaker().take(std::move(executor_));
      return;
    }
    try {
      close();
    } catch (py::error_already_set& e) {
      if (e.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();  // for the code around
      else e.discard_as_unraisable("torchdali: closing a pipeline");
    }
  }

  void schedule(std::vector<uint64_t> sample_ids) {
    (void)executor();
    const std::shared_ptr<Executor> e = executor_;
    bool more;
    {
      const Outside outside(*this);
      more = e->schedule(std::move(sample_ids));
    }
    if (!more) throw py::stop_iteration();
  }

  py::list wait() {
    TORCHDALI_CHECK_KIND(kRuntime, executor().pending() > 0, "no iteration is scheduled");
    const std::shared_ptr<Executor> kept = executor_;
    Executor& e = *kept;
    std::shared_ptr<const IterationData> iteration;
    while (iteration == nullptr) {
      {
        const Outside outside(*this);
        iteration = e.wait(kSignalPeriod);
      }
      if (iteration != nullptr) break;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      (void)executor();  // not closed by another thread, or by the signal's handler
    }
    e.hand_over(*iteration);
    py::list out;
    for (int i = 0; i < e.num_outputs(); ++i) {
      const py::object names = py::cast(e.names(*iteration, i));
      if (const Batch* batch = e.output(*iteration, i)) {
        const auto dense = batch->dense();
        const py::object data = dense ? py::cast(*dense) : py::cast(batch->tensors());
        out.append(py::make_tuple(data, py::cast(batch->layout().str()), names));
      } else {
        const FedBatch& fed = e.fed_output(*iteration, i);
        const auto& kept = *static_cast<const FedTensors*>(fed.owner.get());
        const py::object data = kept.whole ? py::cast(kept.tensors[0]) : py::cast(kept.tensors);
        const Layout layout = fed.samples.empty() ? Layout() : fed.samples[0].layout;
        out.append(py::make_tuple(data, py::cast(layout.str()), names));
      }
    }
    return out;
  }

  void feed(const std::string& name, const py::object& data, const std::string& layout,
            const std::vector<std::string>& source_names) {
    auto batch = to_fed_batch(data, layout);
    if (!source_names.empty()) {
      TORCHDALI_CHECK(std::ssize(source_names) == batch->size, "a batch of ", batch->size,
                      " samples has ", source_names.size(), " names of sources");
      auto names = std::make_shared<SampleNames>();
      for (const std::string& one : source_names)
        names->add([&](std::string& text) { text += one; });
      batch->names = std::move(names);
    }
    executor().feed(name, std::move(batch));
  }
  py::object reader_meta(const std::string& name) {
    const auto meta = executor().reader_meta(name);
    if (!meta) return py::none();
    py::dict d;
    d["epoch_size"] = meta->epoch_size;
    d["epoch_size_padded"] = meta->epoch_size_padded;
    d["number_of_shards"] = meta->number_of_shards;
    d["shard_id"] = meta->shard_id;
    d["pad_last_batch"] = meta->pad_last_batch;
    d["stick_to_shard"] = meta->stick_to_shard;
    return d;
  }
  bool reader_shuffles(const std::string& name) {
    const auto meta = executor().reader_meta(name);
    return meta && meta->shuffles;
  }
  py::dict state() {
    const ExecutorState state = executor().state();
    py::dict d;
    d["iterations"] = state.iterations;
    d["samples"] = state.samples;
    d["sources"] = state.sources;
    return d;
  }
  void restore(int64_t iterations, uint64_t samples, std::map<std::string, SourceState> sources) {
    executor().restore(
        {.iterations = iterations, .samples = samples, .sources = std::move(sources)});
  }
  int64_t iterations_taken() { return executor().iterations_taken(); }
  py::dict memory_statistics() {
    py::dict all;
    for (const OperatorMemory& op : executor().memory_statistics()) {
      py::list outputs;
      for (const OutputMemory& m : op.outputs)
        outputs.append(py::make_tuple(m.real, m.max_real, m.reserved, m.max_reserved));
      all[py::str(op.name)] = outputs;
    }
    return all;
  }
  py::dict measures() {
    const Executor& e = executor();
    py::list operators, workers;
    const auto part = [](const OperatorMeasure::Part& p) {
      return py::make_tuple(p.op, p.name, decode_path(p.location));
    };
    for (const OperatorMeasure& m : e.operator_measures()) {
      py::list parts;
      for (const auto& p : m.parts) parts.append(part(p));
      py::dict d;
      d["self"] = part(m.self);
      d["parts"] = parts;
      d["hidden"] = m.hidden;
      d["on_gpu"] = m.on_gpu;
      d["samples"] = m.samples;
      d["timed"] = m.timed;
      d["ns"] = m.ns;
      d["max_ns"] = m.max_ns;
      d["bytes"] = m.bytes;
      d["batches"] = m.batches;
      d["batch_samples"] = m.batch_samples;
      d["batch_ns"] = m.batch_ns;
      d["max_batch_ns"] = m.max_batch_ns;
      d["batch_bytes"] = m.batch_bytes;
      d["source_batches"] = m.source_batches;
      d["source_ns"] = m.source_ns;
      d["max_source_ns"] = m.max_source_ns;
      operators.append(d);
    }
    const SchedulerMeasure measure = e.scheduler_measure();
    for (const WorkerMeasure& w : measure.workers) {
      py::dict d;
      d["wall_ns"] = w.wall_ns;
      d["busy_ns"] = w.busy_ns;
      d["idle_ns"] = w.idle_ns;
      d["waiting_ns"] = w.waiting_ns;
      d["claims"] = w.claims;
      workers.append(d);
    }
    py::dict all;
    all["now_ns"] = now_ns();
    all["began_ns"] = measure.began_ns;
    all["operators"] = operators;
    all["workers"] = workers;
    all["ready"] = measure.ready;
    all["waits"] = measure.waits;
    all["wait_ns"] = measure.wait_ns;
    all["max_wait_ns"] = measure.max_wait_ns;
    return all;
  }
  void reset_greatest() { executor().reset_greatest(); }
  uint32_t trace_owner() const { return executor().trace_owner(); }
  py::list plan() const { return plan_facts(executor().plan()); }
  void reset() { executor().reset(); }
  void deal(const EpochPlan& plan) {
    Executor& e = executor();
    const py::gil_scoped_release release;
    e.deal(plan);
  }
  void release_unused_memory() { executor().release_unused_memory(); }
  void cancel() {
    Executor& e = executor();
    const py::gil_scoped_release release;
    e.cancel();
  }
  void close() {
    if (executor_ == nullptr) return;
    // A forked child has the memory but none of the threads, and may have caught a mutex locked:
    // there is nothing to join, and nothing that could be freed safely.
    if (getpid() != process_) {
      new std::shared_ptr<Executor>(std::move(executor_));  // leaked on purpose
      return;
    }
    (void)executor();  // not inside one of its functions
    std::shared_ptr<Executor> e = std::move(executor_);
    std::optional<py::error_already_set> interrupted;
    while (!cancel_for(*e, kSignalPeriod)) {
      if (PyErr_CheckSignals() == 0) continue;
      // Ctrl-C ends functions that hang. One that hangs outside Python is left alone the next time.
      const bool again = interrupted.has_value();
      interrupted.emplace();
      if (again) new std::shared_ptr<Executor>(e);  // never freed
      if (again) break;
      for (const auto thread : e->threads())
        PyThreadState_SetAsyncExc(static_cast<unsigned long>(thread), PyExc_KeyboardInterrupt);
    }
    {
      const py::gil_scoped_release release;  // the workers may drop what Python owns
      // A daemon thread that waits for an iteration must be back in Python before that ends.
      while (outside_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      e.reset();
    }
    if (interrupted) throw std::move(*interrupted);  // NOLINT(performance-move-const-arg)
  }
  int pending() const {
    return executor_ == nullptr || getpid() != process_ ? 0 : executor().pending();
  }

 private:
  // Without the GIL, in the engine.
  class Outside {
   public:
    explicit Outside(PyExecutor& executor) : count_(executor) {}

   private:
    struct Count {
      explicit Count(PyExecutor& e) : executor(e) { ++executor.outside_; }
      ~Count() { --executor.outside_; }
      Count(const Count&) = delete;
      Count& operator=(const Count&) = delete;
      PyExecutor& executor;
    };
    Count count_;
    py::gil_scoped_release release_;
  };
  static bool cancel_for(Executor& e, std::chrono::milliseconds timeout) {
    const py::gil_scoped_release release;
    return e.cancel(timeout);
  }
  Executor& executor() const {
    TORCHDALI_CHECK_KIND(kRuntime, executor_ != nullptr, "the pipeline is closed");
    TORCHDALI_CHECK_KIND(kRuntime, getpid() == process_,
                         "a pipeline cannot be used in a process that was forked after it was "
                         "built; build it there");
    TORCHDALI_CHECK_KIND(
        kRuntime, !executor_->on_worker(),
        "a function that a pipeline calls cannot use the pipeline itself: it would "
        "wait for its own end. To fix it: use it where the pipeline is run");
    return *executor_;
  }
  std::shared_ptr<Executor> executor_;
  std::atomic<int> outside_ = 0;
  pid_t process_ = getpid();
};

}  // namespace

void bind_executor(py::module_& m) {
  py::class_<SampleNames, std::shared_ptr<SampleNames>>(m, "SampleNames")
      .def("__len__", &SampleNames::size)
      .def("__getitem__", [](const SampleNames& names, int i) {
        if (i < 0 || i >= names.size()) throw py::index_error();
        return decode_path(names.info(i));
      });
  py::module_::import("atexit").attr("register")(py::cpp_function([] { undertaker().join(); }));
  py::class_<gpu::Device, std::shared_ptr<gpu::Device>>(m, "Device")
      .def(py::init([](int index, int64_t kernel_stream, int64_t copy_stream, uintptr_t handle,
                       const std::string& library, bool emulated) {
             return std::make_shared<gpu::Device>(gpu::DeviceOptions{
                 .index = index,
                 .kernel_stream = kernel_stream,
                 .copy_stream = copy_stream,
                 .stream_handle =
                     reinterpret_cast<void*>(handle),  // NOLINT(performance-no-int-to-ptr)
                 .library = library,
                 .emulated = emulated});
           }),
           py::kw_only(), py::arg("index") = 0, py::arg("kernel_stream") = 0,
           py::arg("copy_stream") = 0, py::arg("handle") = 0, py::arg("library") = "",
           py::arg("emulated") = false);
  py::class_<PyExecutor>(m, "Executor")
      .def(py::init<const py::list&, const py::list&, int, int, bool, bool, bool, const PyExecutor*,
                    std::shared_ptr<gpu::Device>, int>(),
           py::arg("nodes"), py::arg("outputs"), py::kw_only(), py::arg("batch_size"),
           py::arg("num_threads"), py::arg("set_affinity") = false, py::arg("memory_stats") = false,
           py::arg("fuse") = true, py::arg("workers") = nullptr, py::arg("device") = nullptr,
           py::arg("gpu_depth") = 0)
      .def("schedule", &PyExecutor::schedule, py::arg("sample_ids") = std::vector<uint64_t>())
      .def("wait", &PyExecutor::wait)
      .def("feed", &PyExecutor::feed, py::arg("name"), py::arg("data"), py::arg("layout") = "",
           py::arg("source_names") = std::vector<std::string>())
      .def("reader_meta", &PyExecutor::reader_meta, py::arg("name"))
      .def("reader_shuffles", &PyExecutor::reader_shuffles, py::arg("name"))
      .def("state", &PyExecutor::state)
      .def("restore", &PyExecutor::restore, py::kw_only(), py::arg("iterations"),
           py::arg("samples"), py::arg("sources"))
      .def("memory_statistics", &PyExecutor::memory_statistics)
      .def("measures", &PyExecutor::measures)
      .def("reset_greatest", &PyExecutor::reset_greatest)
      .def_property_readonly("trace_owner", &PyExecutor::trace_owner)
      .def("plan", &PyExecutor::plan)
      .def("reset", &PyExecutor::reset)
      .def(
          "deal",
          [](PyExecutor& e, int64_t epoch, int64_t size, int64_t first, int64_t shard,
             int64_t num_shards, int64_t count, int batch_size, bool shuffle, bool repeat,
             uint64_t seed) {
            e.deal({.epoch = epoch,
                    .size = size,
                    .first = first,
                    .shard = shard,
                    .num_shards = num_shards,
                    .count = count,
                    .batch_size = batch_size,
                    .shuffle = shuffle,
                    .repeat = repeat,
                    .seed = seed});
          },
          py::kw_only(), py::arg("epoch"), py::arg("size"), py::arg("first"), py::arg("shard"),
          py::arg("num_shards"), py::arg("count"), py::arg("batch_size"), py::arg("shuffle"),
          py::arg("repeat"), py::arg("seed"))
      .def("release_unused_memory", &PyExecutor::release_unused_memory)
      .def("cancel", &PyExecutor::cancel)
      .def("close", &PyExecutor::close)
      .def_property_readonly("iterations_taken", &PyExecutor::iterations_taken)
      .def_property_readonly("pending", &PyExecutor::pending);
}

}  // namespace torchdali
