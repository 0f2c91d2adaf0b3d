// SPDX-License-Identifier: Apache-2.0
// fn.python_function, fn.dl_tensor_python_function and fn.torch_python_function: the user's Python
// in the middle of a pipeline, on the CPU and on the GPU. With numba_function, the only code that
// takes the GIL on the engine's threads.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/equal.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cstdlib>
#include <deque>

#include "core/counters.h"
#include "core/operator.h"
#include "core/trace.h"
#include "gpu/copy_axes.h"
#include "gpu/device.h"
#include "gpu/operator.h"
#include "kernels/window/strided_copy.h"
#include "python/values.h"

namespace torchdali {
namespace {

// The GIL, with a thread state that lives as long as the thread: what Python keeps per thread
// (threading.local) stays from call to call, and taking the GIL costs no allocation.
class WorkerGil {
 public:
  WorkerGil() { PyEval_RestoreThread(state().thread); }
  ~WorkerGil() { PyEval_SaveThread(); }
  WorkerGil(const WorkerGil&) = delete;
  WorkerGil& operator=(const WorkerGil&) = delete;

 private:
  struct State {
    State() : held(PyGILState_Ensure()), thread(PyEval_SaveThread()) {}
    ~State() {
      PyEval_RestoreThread(thread);
      PyGILState_Release(held);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    PyGILState_STATE held;
    PyThreadState* thread;
  };
  static State& state() {
    thread_local State state;
    return state;
  }
};

// What torchdali.current_sample() tells about the call that this thread is in.
struct CurrentSample {
  bool valid = false;
  uint64_t seed = 0, id = 0;
  int index = 0;
};
thread_local CurrentSample current_sample;

class CurrentSampleScope {
 public:
  CurrentSampleScope(uint64_t seed, uint64_t id, int index) : before_(current_sample) {
    current_sample = {.valid = true, .seed = seed, .id = id, .index = index};
  }
  ~CurrentSampleScope() { current_sample = before_; }
  CurrentSampleScope(const CurrentSampleScope&) = delete;
  CurrentSampleScope& operator=(const CurrentSampleScope&) = delete;

 private:
  CurrentSample before_;
};

// The handle of the stream that the call of this thread belongs to; null on the CPU.
thread_local void* current_stream = nullptr;

class CurrentStreamScope {
 public:
  explicit CurrentStreamScope(void* stream) : before_(current_stream) { current_stream = stream; }
  ~CurrentStreamScope() { current_stream = before_; }
  CurrentStreamScope(const CurrentStreamScope&) = delete;
  CurrentStreamScope& operator=(const CurrentStreamScope&) = delete;

 private:
  void* before_;
};

py::object helper(const char* name) {
  return py::module_::import("torchdali.pipeline._callbacks").attr(name);
}

// What the function returned for the samples of a batch, and what it must not lose meanwhile.
struct Results final : BatchState {
  Results(int outputs, int batch_size) : views(static_cast<size_t>(outputs)) {
    for (auto& of_output : views) of_output.resize(static_cast<size_t>(batch_size));
  }
  ~Results() override {  // NOLINT(bugprone-exception-escape): but where Python itself is broken
    if (!Py_IsInitialized()) {
      for (auto& of_output : views)
        for (auto& v : of_output) (void)v.owner.release();
      return;
    }
    const py::gil_scoped_acquire gil;
    views.clear();
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  c10::Device device{c10::kCPU};                    // where they lie
  std::vector<std::vector<ForeignView>> views;      // [output][index in the batch]
  std::vector<std::shared_ptr<const void>> owners;  // of the inputs, where run() calls the function
};

// Under TORCHDALI_CHECK_FUNCTIONS=1: what the inputs hold before a call, to compare afterwards.
class InputCheck {
 public:
  void add(const SampleView& view, int input, int sample) {
    const auto* bytes = view.as<const char>();
    kept_.push_back({view, input, sample, {bytes, bytes + view.size_bytes()}, {}, {}});
  }
  // One that may lie on the GPU: what is compared are bytes, so that NaN is what it was.
  void add(const at::Tensor& tensor, int input, int sample) {
    const at::Tensor bytes = tensor.reshape({-1}).view(at::kByte);
    kept_.push_back({{}, input, sample, {}, bytes, at::clone(bytes)});
  }
  void verify() const {
    for (const Kept& k : kept_) {
      if (k.tensor.defined()
              ? at::equal(k.tensor, k.copy)
              : k.bytes.empty() || std::memcmp(k.bytes.data(), k.view.data, k.bytes.size()) == 0)
        continue;
      Error error(ErrorKind::kRuntime,
                  str_cat("the function modified its input ", k.input,
                          ", which others may read. To fix it: copy it before writing to it"));
      error.set_sample(k.sample);
      throw error;
    }
  }

 private:
  struct Kept {
    SampleView view;
    int input, sample;
    std::vector<char> bytes;
    at::Tensor tensor, copy;
  };
  std::vector<Kept> kept_;
};

// What a function is called with: Python objects of the samples of a batch.
class Values {
 public:
  Values() = default;
  virtual ~Values() = default;
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  virtual py::object make(int input, int sample, const SampleView& view) const = 0;
  virtual void watch(InputCheck& check, int input, int sample, const SampleView& view) const {
    check.add(view, input, sample);
  }
};

class HostValues final : public Values {
 public:
  // `owner(i)` keeps the memory of input i.
  template <class Owner>
  HostValues(ValueKind kind, int num_inputs, Owner&& owner) {
    makers_.reserve(static_cast<size_t>(num_inputs));
    for (int i = 0; i < num_inputs; ++i) makers_.emplace_back(kind, owner(i));
  }
  py::object make(int input, int /*sample*/, const SampleView& view) const override {
    return makers_[static_cast<size_t>(input)](view);
  }

 private:
  std::vector<ValueMaker> makers_;
};

class DeviceValues final : public Values {
 public:
  DeviceValues(ValueKind kind, const BatchContext& ctx) : kind_(kind) {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      TORCHDALI_ASSERT(ctx.input_batch(i) != nullptr, "");
      batches_.push_back(ctx.input_batch(i));
    }
  }
  py::object make(int input, int sample, const SampleView& /*view*/) const override {
    return make_device_value(kind_, tensor(input, sample));
  }
  void watch(InputCheck& check, int input, int sample, const SampleView& /*view*/) const override {
    check.add(tensor(input, sample), input, sample);
  }

 private:
  at::Tensor tensor(int input, int sample) const {
    return batches_[static_cast<size_t>(input)]->tensor(sample);
  }
  const ValueKind kind_;
  std::vector<const Batch*> batches_;
};

bool check_functions() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read only
  const char* value = std::getenv("TORCHDALI_CHECK_FUNCTIONS");
  return value != nullptr && std::string_view(value) == "1";
}

enum class Workers { kNone, kThreads, kProcesses };

Workers workers_of(const OpSpec& spec) {
  if (!spec.defined("workers")) return Workers::kNone;
  const auto name = spec.get<std::string>("workers");
  if (name == "threads") return Workers::kThreads;
  if (name == "processes") return Workers::kProcesses;
  raise(ErrorKind::kValue, "`workers` is \"threads\", \"processes\" or not given, got \"", name,
        "\"");
}

class PythonFunction : public Operator {
 public:
  PythonFunction(const OpSpec& spec, ValueKind kind)
      : kind_(kind),
        function_(spec.get<Function>("function")),
        num_inputs_(spec.num_inputs),
        num_outputs_(spec.get<int>("num_outputs")),
        whole_batch_(spec.get<bool>("batch_processing")),
        workers_(workers_of(spec)),
        seed_(spec.seed),
        seed_generators_(spec.get<bool>("seed_generators")),
        check_(check_functions()) {
    TORCHDALI_CHECK(
        workers_ != Workers::kThreads || !seed_generators_,
        "workers=\"threads\" and seed_generators=True do not go together: the global "
        "generators are one for all threads. To fix it: draw from torchdali.current_sample()");
    layouts_.resize(static_cast<size_t>(num_outputs_));
    if (!spec.defined("output_layouts")) return;
    // One layout is for all outputs, a list for the first ones.
    const ArgValue& given = spec.constants.at("output_layouts");
    if (std::holds_alternative<std::string>(given)) {
      std::fill(layouts_.begin(), layouts_.end(), spec.get<Layout>("output_layouts"));
      return;
    }
    const auto list = spec.get<std::vector<std::string>>("output_layouts");
    TORCHDALI_CHECK(list.size() <= layouts_.size(), "`output_layouts` has ", list.size(),
                    " layouts for ", num_outputs_, " outputs");
    for (size_t i = 0; i < list.size(); ++i) layouts_[i] = Layout(std::string_view(list[i]));
  }

  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = workers_ == Workers::kNone};
  }

  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    auto results = std::make_unique<Results>(num_outputs_, ctx.batch_size());
    if (runs_on_threads()) {
      for (int i = 0; i < num_inputs_; ++i) results->owners.push_back(ctx.input_owner(i));
      return results;
    }
    const WorkerGil gil;
    if (workers_ == Workers::kProcesses) {
      call_processes(ctx, *results);
      return results;
    }
    call_all(ctx, HostValues(kind_, num_inputs_, [&](int i) { return ctx.input_owner(i); }),
             *results);
    return results;
  }

  void run(SampleContext& ctx) const override {
    auto& results = ctx.batch_state<Results>();
    const int sample = ctx.index_in_batch();
    if (runs_on_threads()) {
      const WorkerGil gil;
      const HostValues values(kind_, num_inputs_, [&](int i) -> const auto& {
        return results.owners[static_cast<size_t>(i)];
      });
      call_with_sample([&](int i) -> const SampleView& { return ctx.input(i); }, values,
                       Generators(false, results.device), ctx.sample_id(), sample, results);
    }
    for (int i = 0; i < num_outputs_; ++i) {
      const ForeignView& from = results.views[static_cast<size_t>(i)][static_cast<size_t>(sample)];
      const Layout& layout = layouts_[static_cast<size_t>(i)];
      check_layout(layout, from.view.shape);
      if (from.packed) {
        SampleView view = from.view;
        view.layout = layout;
        ctx.share_batch(i, view);
      } else {
        const SampleView& to = ctx.output(i, from.view.dtype, from.view.shape, layout);
        if (to.volume() == 0) continue;
        dispatch_dtype(to.dtype, [&]<class T>() {
          kernels::copy_strided(to.as<T>(), from.view.as<const T>(), to.shape, from.strides);
        });
      }
    }
  }

 protected:
  // The states of the global generators, which are the user's again when this goes.
  class Generators {
   public:
    Generators(bool seeded, c10::Device device) : gpu_(device.is_cpu() ? -1 : device.index()) {
      if (seeded) states_ = helper("_generator_states")(gpu_);
    }
    ~Generators() {  // NOLINT(bugprone-exception-escape): but where Python itself is broken
      if (!states_) return;
      try {
        helper("_restore_generators")(states_);
      } catch (py::error_already_set& e) {
        e.discard_as_unraisable("torchdali: restoring the global generators");
      }
    }
    Generators(const Generators&) = delete;
    Generators& operator=(const Generators&) = delete;
    void seed(uint64_t operator_seed, uint64_t sample_id) const {
      if (states_) helper("_seed_generators")(derive_seed(operator_seed, sample_id), gpu_);
    }

   private:
    const int gpu_;  // whose generator is one of them; -1: none
    py::object states_;
  };

  // Calls the function for all samples of a batch, one after the other or at once. With the GIL.
  void call_all(const BatchContext& ctx, const Values& values, Results& results) const {
    const Generators generators(seed_generators_, results.device);
    if (whole_batch_) {
      call_with_batch(ctx, values, generators, results);
      return;
    }
    for (int k = 0; k < ctx.size(); ++k) {
      const int sample = ctx.index_in_batch(k);
      TORCHDALI_CHECK_KIND(kRuntime, !ctx.cancelled(), "the pipeline was closed");
      try {
        call_with_sample([&](int i) -> const SampleView& { return ctx.input(i, k); }, values,
                         generators, ctx.sample_id(k), sample, results);
      } catch (Error& e) {
        e.set_sample(sample);
        throw;
      }
    }
    check_uniform(ctx, results);
  }

  // Calls `body`, which runs the user's code; what that throws becomes an Error.
  template <class Body>
  auto guarded(Body&& body) const {
    try {
      return body();
    } catch (py::error_already_set& e) {
      if (e.trace()) PyException_SetTraceback(e.value().ptr(), e.trace().ptr());
      const auto [text, cause, sample] = py::cast<std::tuple<std::string, py::object, int>>(
          helper("_describe_exception")(function(), e.value()));
      Error error(ErrorKind::kRuntime, text);
      if (!cause.is_none()) error.set_cause(keep_alive(cause));
      error.set_sample(sample);
      throw error;
    }
  }

  bool runs_on_threads() const { return workers_ == Workers::kThreads && !whole_batch_; }

  py::handle function() const { return static_cast<PyObject*>(function_.get()); }

  std::string name() const {
    return py::cast<std::string>(helper("_describe_function")(function()));
  }

  py::object call(const std::vector<py::object>& arguments) const {
    const at::NoGradGuard no_grad;
    std::vector<PyObject*> raw;
    raw.reserve(arguments.size());
    for (const py::object& a : arguments) raw.push_back(a.ptr());
    return guarded([&] {
      const int64_t start = trace::enabled() ? now_ns() : 0;
      PyObject* returned = PyObject_Vectorcall(function().ptr(), raw.data(), raw.size(), nullptr);
      const int64_t end = start == 0 ? 0 : now_ns();
      if (returned == nullptr) throw py::error_already_set();
      auto result = py::reinterpret_steal<py::object>(returned);
      if (start != 0)
        trace::add({.start_ns = start,
                    .ns = end - start,
                    .label = trace::label(name(), workers_ == Workers::kProcesses
                                                      ? "wait for worker processes"
                                                      : "function")});
      return result;
    });
  }

  static py::list make_list(const BatchContext& ctx, const Values& values, int input) {
    py::list samples(static_cast<size_t>(ctx.size()));
    for (int k = 0; k < ctx.size(); ++k)
      samples[static_cast<size_t>(k)] =
          values.make(input, ctx.index_in_batch(k), ctx.input(input, k));
    return samples;
  }

  template <class Input>
  void call_with_sample(Input&& input, const Values& values, const Generators& generators,
                        uint64_t id, int sample, Results& results) const {
    const CurrentSampleScope current(seed_, id, sample);
    generators.seed(seed_, id);
    InputCheck check;
    std::vector<py::object> arguments;
    arguments.reserve(static_cast<size_t>(num_inputs_));
    for (int i = 0; i < num_inputs_; ++i) {
      const SampleView& view = input(i);
      if (check_) values.watch(check, i, sample, view);
      arguments.push_back(values.make(i, sample, view));
    }
    const py::object returned = call(arguments);
    check.verify();
    for_each_output(returned, [&](int i, py::handle value) {
      results.views[static_cast<size_t>(i)][static_cast<size_t>(sample)] =
          to_result(value, i, results.device);
    });
  }

  void call_with_batch(const BatchContext& ctx, const Values& values, const Generators& generators,
                       Results& results) const {
    const CurrentSampleScope current(seed_, ctx.sample_id(0), ctx.index_in_batch(0));
    generators.seed(seed_, ctx.sample_id(0));
    InputCheck check;
    std::vector<py::object> arguments;
    arguments.reserve(static_cast<size_t>(num_inputs_));
    for (int i = 0; i < num_inputs_; ++i) {
      for (int k = 0; check_ && k < ctx.size(); ++k)
        values.watch(check, i, ctx.index_in_batch(k), ctx.input(i, k));
      arguments.push_back(make_list(ctx, values, i));
    }
    const py::object returned = call(arguments);
    check.verify();
    for_each_output(returned, [&](int i, py::handle value) { spread(ctx, value, i, results); });
    check_uniform(ctx, results);
  }

  // The function is a ProcessFunction of Python's, which takes a batch in any case.
  void call_processes(const BatchContext& ctx, Results& results) const {
    std::vector<py::object> arguments;
    py::list samples;
    for (int k = 0; k < ctx.size(); ++k) {
      const uint64_t id = ctx.sample_id(k);
      samples.append(py::make_tuple(derive_seed(seed_, id), id, ctx.index_in_batch(k)));
    }
    arguments.push_back(std::move(samples));
    const HostValues values(ValueKind::kNumpy, num_inputs_,
                            [&](int i) { return ctx.input_owner(i); });
    for (int i = 0; i < num_inputs_; ++i) arguments.push_back(make_list(ctx, values, i));
    for_each_output(call(arguments), [&](int i, py::handle v) { spread(ctx, v, i, results); });
    check_uniform(ctx, results);
  }

  // Calls `take(output, value)` for what the function returned: a tuple, or for one output the
  // value alone.
  template <class Take>
  void for_each_output(const py::object& returned, Take&& take) const {
    if (num_outputs_ == 0) {
      TORCHDALI_CHECK_KIND(kType, returned.is_none(), name(), " returned ", type_name(returned),
                           ", but `num_outputs` is 0");
      return;
    }
    TORCHDALI_CHECK_KIND(kType, !returned.is_none(), name(),
                         " returned None, but `num_outputs` is ", num_outputs_);
    if (!py::isinstance<py::tuple>(returned)) {
      TORCHDALI_CHECK_KIND(kType, num_outputs_ == 1, name(), " has ", num_outputs_,
                           " outputs and must return a tuple, got ", type_name(returned));
      take(0, returned);
      return;
    }
    const auto values = py::reinterpret_borrow<py::tuple>(returned);
    TORCHDALI_CHECK(static_cast<int>(values.size()) == num_outputs_, name(), " returned ",
                    values.size(), " outputs, `num_outputs` is ", num_outputs_);
    for (int i = 0; i < num_outputs_; ++i) take(i, values[static_cast<size_t>(i)]);
  }

  // One output of a whole batch: a list of arrays, or one array with the samples as first axis.
  void spread(const BatchContext& ctx, py::handle value, int output, Results& results) const {
    auto& to = results.views[static_cast<size_t>(output)];
    const auto check_size = [&](int64_t size) {
      TORCHDALI_CHECK(size == ctx.size(), name(), " returned ", size, " samples as output ", output,
                      ", the batch has ", ctx.size());
    };
    if (py::isinstance<py::list>(value)) {
      const auto list = py::reinterpret_borrow<py::list>(value);
      check_size(static_cast<int64_t>(list.size()));
      for (int k = 0; k < ctx.size(); ++k) {
        const int sample = ctx.index_in_batch(k);
        try {
          to[static_cast<size_t>(sample)] =
              to_result(list[static_cast<size_t>(k)], output, results.device);
        } catch (Error& e) {
          e.set_sample(sample);
          throw;
        }
      }
      return;
    }
    const ForeignView whole = to_result(value, output, results.device);
    TORCHDALI_CHECK(whole.view.shape.ndim() > 0, name(), " returned a scalar as output ", output,
                    "; a batch is a list, or an array whose first axis is the samples");
    check_size(whole.view.shape[0]);
    for (int k = 0; k < ctx.size(); ++k)
      to[static_cast<size_t>(ctx.index_in_batch(k))] = whole.slice(k);
  }

  ForeignView to_result(py::handle value, int output, c10::Device device) const {
    try {
      return to_view(value, device);
    } catch (const Error& e) {
      throw Error(e.kind(), str_cat(name(), ": output ", output, ": ", e.message()));
    } catch (py::error_already_set& e) {
      const auto text = py::cast<std::string>(py::str(e.value()));
      throw Error(ErrorKind::kType, str_cat(name(), ": output ", output, " is no array (",
                                            type_name(value), "): ", text));
    }
  }

  void check_uniform(const BatchContext& ctx, const Results& results) const {
    for (size_t i = 0; i < results.views.size(); ++i) {
      const auto& views = results.views[i];
      const SampleView& first = views[static_cast<size_t>(ctx.index_in_batch(0))].view;
      for (int k = 1; k < ctx.size(); ++k) {
        const int sample = ctx.index_in_batch(k);
        const SampleView& view = views[static_cast<size_t>(sample)].view;
        if (view.dtype == first.dtype && view.shape.ndim() == first.shape.ndim()) continue;
        Error error(ErrorKind::kRuntime,
                    str_cat(name(), ": output ", i, " is ", dtype_name(view.dtype), " of shape ",
                            view.shape, ", but ", dtype_name(first.dtype), " of shape ",
                            first.shape, " for sample ", ctx.index_in_batch(0),
                            "; the samples of a batch have one type and number of dimensions"));
        error.set_sample(sample);
        throw error;
      }
    }
  }

  static std::string type_name(py::handle value) {
    return py::cast<std::string>(py::type::of(value).attr("__name__"));
  }

  const ValueKind kind_;
  const Function function_;
  const int num_inputs_, num_outputs_;
  const bool whole_batch_;
  const Workers workers_;
  const uint64_t seed_;
  const bool seed_generators_, check_;
  std::vector<Layout> layouts_;
};

// Python objects whose memory the GPU may still read: kept until a point of its stream is behind
// it.
class Borrowed {
 public:
  Borrowed() = default;
  ~Borrowed() {  // NOLINT(bugprone-exception-escape): but where CUDA or Python itself is broken
    for (const auto& [until, objects] : kept_) until->synchronize();
    if (Py_IsInitialized()) {
      const py::gil_scoped_acquire gil;
      kept_.clear();
      return;
    }
    for (auto& [until, objects] : kept_)
      for (py::object& object : objects) (void)object.release();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  // With the GIL. `until` is null where nothing reads them any more.
  void keep(std::shared_ptr<c10::Event> until, std::vector<py::object> objects) {
    if (until != nullptr && !objects.empty())
      kept_.emplace_back(std::move(until), std::move(objects));
  }
  void release_done() {
    while (!kept_.empty() && kept_.front().first->query()) kept_.pop_front();
  }

 private:
  std::deque<std::pair<std::shared_ptr<c10::Event>, std::vector<py::object>>> kept_;
};

// The stream is current for CuPy while this lives, where CuPy is installed.
class CupyStream {
 public:
  CupyStream(const gpu::Device& device, bool wanted) {
    if (wanted && !device.torch_device().is_cpu())
      stack_ = helper("_enter_cupy_stream")(reinterpret_cast<uintptr_t>(device.stream()),
                                            static_cast<int>(device.torch_device().index()));
  }
  ~CupyStream() {  // NOLINT(bugprone-exception-escape): but where Python itself is broken
    if (!stack_) return;
    try {
      stack_.attr("close")();
    } catch (py::error_already_set& e) {
      e.discard_as_unraisable("torchdali: the current stream of CuPy");
    }
  }
  CupyStream(const CupyStream&) = delete;
  CupyStream& operator=(const CupyStream&) = delete;

 private:
  py::object stack_;
};

// A stage that queues work: the function is called with tensors of the GPU, on the stream of the
// kernels, and what it returns is copied there. The host waits for nothing.
class GpuPythonFunction : public PythonFunction {
 public:
  GpuPythonFunction(const OpSpec& spec, ValueKind kind)
      : PythonFunction(spec, kind),
        synchronize_(kind == ValueKind::kDlpack && spec.get<bool>("synchronize_stream")) {
    TORCHDALI_CHECK_KIND(kUnsupported, workers_ == Workers::kNone,
                         "`workers` is for functions on the CPU. To fix it: leave it out");
  }

  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = true, .makes_outputs = true, .on_device = true};
  }

  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    gpu::Device& device = ctx.device();
    if (synchronize_) device.synchronize();
    Results results(num_outputs_, ctx.batch_size());
    results.device = device.torch_device();
    {
      const gpu::Device::Scope scope(device);
      const CurrentStreamScope stream(device.stream());
      const WorkerGil gil;
      borrowed_.release_done();
      const CupyStream cupy(device, kind_ == ValueKind::kNumpy);
      call_all(ctx, DeviceValues(kind_, ctx), results);
    }
    const gpu::Device::Scope scope(device);  // again: the function may have chosen a stream
    copy_results(ctx, results);
    let_go(ctx, results);
    return nullptr;
  }
  void run(SampleContext& /*ctx*/) const override {}

 private:
  void copy_results(BatchContext& ctx, const Results& results) const {
    BatchState none;
    gpu::Tasks<gpu::CopyTask> tasks;
    for (int k = 0; k < ctx.size(); ++k) {
      SampleContext& sample = ctx.sample(k, none);
      const int index = ctx.index_in_batch(k);
      try {
        for (int i = 0; i < num_outputs_; ++i)
          add_copy(sample, i, results.views[static_cast<size_t>(i)][static_cast<size_t>(index)],
                   tasks);
      } catch (Error& e) {
        e.set_sample(index);
        throw;
      }
    }
    ctx.make_outputs();
    tasks.launch(ctx, gpu::kernels_of(ctx).copy);
  }

  void add_copy(SampleContext& sample, int output, const ForeignView& from,
                gpu::Tasks<gpu::CopyTask>& tasks) const {
    const SampleView& to = sample.output(output, from.view.dtype, from.view.shape,
                                         layouts_[static_cast<size_t>(output)]);
    const int64_t item = itemsize(to.dtype);
    std::vector<gpu::CopyAxis> axes = gpu::dense_axes(to.shape, item);
    for (size_t a = 0; a < axes.size(); ++a)
      axes[a].in_stride = from.strides[static_cast<int>(a)] * item;
    if (to.volume() > 0)
      tasks.add(sample, gpu::make_copy(from.view.data, to.data, to.size_bytes(), item, axes),
                output);
  }

  // Memory of torch's allocator may go: that knows who uses it. Other memory is kept meanwhile.
  void let_go(BatchContext& ctx, Results& results) {
    const gpu::Device& device = ctx.device();
    const WorkerGil gil;
    std::vector<py::object> kept;
    for (int i = 0; i < num_outputs_; ++i) {
      const auto own = ctx.output_batch(i).storages();
      for (ForeignView& from : results.views[static_cast<size_t>(i)]) {
        if (!from.owner) continue;  // of a sample that does not take the operator
        if (!own.empty() && THPVariable_Check(from.owner.ptr())) {
          const c10::Storage storage = py::cast<at::Tensor>(from.owner).storage();
          if (storage.data_ptr().get_deleter() == own[0].data_ptr().get_deleter()) {
            device.use_on_kernels(storage);
            continue;
          }
        }
        kept.push_back(std::move(from.owner));
      }
    }
    borrowed_.keep(kept.empty() ? nullptr : device.mark(), std::move(kept));
    results.views.clear();
  }

  const bool synchronize_;
  Borrowed borrowed_;
};

template <ValueKind kKind>
class FunctionOf final : public PythonFunction {
 public:
  explicit FunctionOf(const OpSpec& spec) : PythonFunction(spec, kKind) {}
};

template <ValueKind kKind>
class GpuFunctionOf final : public GpuPythonFunction {
 public:
  explicit GpuFunctionOf(const OpSpec& spec) : GpuPythonFunction(spec, kKind) {}
};

// What the three have in common; `array` is what they are called with.
auto function_args(const char* array, bool whole_batch) {
  return [=](SchemaBuilder& schema) {
    schema
        .variadic_input("inputs", "Passed to the function, one " + std::string(array) + " each.",
                        256)
        .output("outputs", "What the function returned.")
        .num_outputs([](const OpSpec& spec) {
          const int count = spec.get<int>("num_outputs");
          TORCHDALI_CHECK(count >= 0, "`num_outputs` must not be negative, got ", count);
          return count;
        })
        .required_arg("function", ArgType::kFunction,
                      "Called as function(input, ...). Returns the output, or a tuple of "
                      "`num_outputs` of them. Is called exactly once for each sample (or batch), "
                      "in their order, by one thread at a time.")
        .arg("batch_processing", whole_batch,
             "Call the function once for a batch, with a list of samples for each input. Each "
             "output is then a list of samples, or one array with the samples as its first axis.")
        .arg("num_outputs", 1, "Number of outputs; with 0 the function returns None.")
        .optional_arg("output_layouts", ArgType::kLayoutVec,
                      "Axes of the outputs, such as \"HWC\"; a list gives one to each of the first "
                      "outputs.")
        .optional_arg("workers", ArgType::kString,
                      "\"threads\": call the function from all threads of the pipeline, for "
                      "functions that release the GIL; not in order any more, and samples of "
                      "different batches at the same time. \"processes\": call it in "
                      "`py_num_workers` processes of its own, for functions that are worth a copy "
                      "of their inputs; it is sent there as the source of a parallel "
                      "fn.external_source is (`py_start_method`, `py_callback_pickler`), and its "
                      "inputs are there for the time of the call.")
        .arg("seed_generators", false,
             "Seed the global generators of random, NumPy and torch before each call, and give "
             "them back as they were after the batch. Until then other threads that draw from "
             "them see it; torchdali.current_sample() has generators that nobody else sees. With "
             "workers=\"processes\" they are those of the worker.")
        .random()
        .side_effects()
        .sequences()
        .volumes();
  };
}

constexpr const char* kDoc =
    "\n\nThe inputs are views of the pipeline's memory, which stays as long as the function keeps "
    "them; it must not write to them (with the environment variable TORCHDALI_CHECK_FUNCTIONS=1 "
    "that is an error). What it returns may have any strides, and samples of a batch may differ in "
    "shape, not in type and number of dimensions. What it raises ends the iteration with an error "
    "that has it as its cause; the pipeline goes on."
    "\n\nOn the GPU the inputs lie there, and so must what is returned, which is copied. The "
    "stream of "
    "the pipeline is torch's current one (and CuPy's) while the function runs, so work that it "
    "queues there is in order with all before and behind it, and the host waits for none of it. "
    "Where it uses another stream, the current one has to wait for that before it returns.";

TORCHDALI_OPERATOR("python_function")
    .doc(std::string(
             "Calls a Python function with the samples as NumPy arrays, on the GPU as arrays "
             "of CuPy's (as torch tensors where CuPy is not installed), and takes such "
             "arrays from it, torch tensors, or objects with DLPack.") +
         kDoc)
    .with(function_args("NumPy array", false))
    .cpu<FunctionOf<ValueKind::kNumpy>>()
    .gpu<GpuFunctionOf<ValueKind::kNumpy>>();

// The default of `batch_processing` is what DALI does, not what its pages say.
TORCHDALI_OPERATOR("dl_tensor_python_function")
    .doc(std::string("Calls a Python function with the samples as DLPack capsules, for which every "
                     "array library has a from_dlpack(), and takes capsules or objects with "
                     "``__dlpack__`` from it.") +
         kDoc)
    .with(function_args("DLPack capsule", true))
    .arg("synchronize_stream", true,
         "On the GPU, wait for the pipeline's stream before the call. What uses the current stream "
         "does not need it. On the CPU there is nothing to wait for.")
    .cpu<FunctionOf<ValueKind::kDlpack>>()
    .gpu<GpuFunctionOf<ValueKind::kDlpack>>();

TORCHDALI_OPERATOR("torch_python_function")
    .doc(std::string("Calls a Python function with the samples as torch tensors, under "
                     "torch.no_grad(), and takes torch tensors from it.") +
         kDoc)
    .with(function_args("torch tensor", false))
    .cpu<FunctionOf<ValueKind::kTorch>>()
    .gpu<GpuFunctionOf<ValueKind::kTorch>>();

}  // namespace

void bind_functions(py::module_& m) {
  m.def(
      "current_sample",
      []() -> py::object {
        const CurrentSample& c = current_sample;
        if (!c.valid) return py::none();
        return py::make_tuple(derive_seed(c.seed, c.id), c.id, c.index);
      },
      "(seed of the sample, its id, index in the batch) of the call that this thread "
      "is in, or None.");
  m.def(
      "current_stream", [] { return reinterpret_cast<uintptr_t>(current_stream); },
      "The handle of the CUDA stream of the call that this thread is in; 0: none.");
}

}  // namespace torchdali
