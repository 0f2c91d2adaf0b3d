// SPDX-License-Identifier: Apache-2.0
// fn.python_function, fn.dl_tensor_python_function and fn.torch_python_function: the user's Python
// in the middle of a pipeline. The only code that takes the GIL on the engine's threads.
#include <ATen/core/grad_mode.h>

#include <cstdlib>

#include "core/operator.h"
#include "kernels/strided_copy.h"
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

py::object helper(const char* name) {
  return py::module_::import("torchdali._functions").attr(name);
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

  std::vector<std::vector<ForeignView>> views;      // [output][index in the batch]
  std::vector<std::shared_ptr<const void>> owners;  // of the inputs, where run() calls the function
};

// Under TORCHDALI_CHECK_FUNCTIONS=1: what the inputs hold before a call, to compare afterwards.
class InputCheck {
 public:
  void add(const SampleView& view, int input, int sample) {
    const auto* bytes = view.as<const char>();
    kept_.push_back({view, input, sample, {bytes, bytes + view.size_bytes()}});
  }
  void verify() const {
    for (const Kept& k : kept_) {
      if (k.bytes.empty() || std::memcmp(k.bytes.data(), k.view.data, k.bytes.size()) == 0)
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
  };
  std::vector<Kept> kept_;
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
    const Generators generators(seed_generators_);
    if (whole_batch_) {
      call_with_batch(ctx, generators, *results);
      return results;
    }
    const auto make = makers([&](int i) { return ctx.input_owner(i); });
    for (int k = 0; k < ctx.size(); ++k) {
      const int sample = ctx.index_in_batch(k);
      TORCHDALI_CHECK_KIND(kRuntime, !ctx.cancelled(), "the pipeline was closed");
      try {
        call_with_sample([&](int i) -> const SampleView& { return ctx.input(i, k); }, make,
                         generators, ctx.sample_id(k), sample, *results);
      } catch (Error& e) {
        e.set_sample(sample);
        throw;
      }
    }
    check_uniform(ctx, *results);
    return results;
  }

  void run(SampleContext& ctx) const override {
    auto& results = ctx.batch_state<Results>();
    const int sample = ctx.index_in_batch();
    if (runs_on_threads()) {
      const WorkerGil gil;
      const auto make = makers([&](int i) { return results.owners[static_cast<size_t>(i)]; });
      call_with_sample([&](int i) -> const SampleView& { return ctx.input(i); }, make,
                       Generators(false), ctx.sample_id(), sample, results);
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

 private:
  // The states of the global generators, which are the user's again when this goes.
  class Generators {
   public:
    explicit Generators(bool seeded) {
      if (seeded) states_ = helper("_generator_states")();
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
      if (states_) helper("_seed_generators")(derive_seed(operator_seed, sample_id));
    }

   private:
    py::object states_;
  };

  template <class Owner>
  std::vector<ValueMaker> makers(Owner&& owner) const {
    std::vector<ValueMaker> make;
    make.reserve(static_cast<size_t>(num_inputs_));
    for (int i = 0; i < num_inputs_; ++i) make.emplace_back(kind_, owner(i));
    return make;
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
      PyObject* returned = PyObject_Vectorcall(function().ptr(), raw.data(), raw.size(), nullptr);
      if (returned == nullptr) throw py::error_already_set();
      return py::reinterpret_steal<py::object>(returned);
    });
  }

  py::list make_list(const BatchContext& ctx, int input, ValueKind kind) const {
    const ValueMaker make(kind, ctx.input_owner(input));
    py::list samples(static_cast<size_t>(ctx.size()));
    for (int k = 0; k < ctx.size(); ++k)
      samples[static_cast<size_t>(k)] = make(ctx.input(input, k));
    return samples;
  }

  template <class Input>
  void call_with_sample(Input&& input, const std::vector<ValueMaker>& make,
                        const Generators& generators, uint64_t id, int sample,
                        Results& results) const {
    const CurrentSampleScope current(seed_, id, sample);
    generators.seed(seed_, id);
    InputCheck check;
    std::vector<py::object> arguments;
    arguments.reserve(make.size());
    for (int i = 0; i < num_inputs_; ++i) {
      const SampleView& view = input(i);
      if (check_) check.add(view, i, sample);
      arguments.push_back(make[static_cast<size_t>(i)](view));
    }
    const py::object returned = call(arguments);
    check.verify();
    for_each_output(returned, [&](int i, py::handle value) {
      results.views[static_cast<size_t>(i)][static_cast<size_t>(sample)] = to_result(value, i);
    });
  }

  void call_with_batch(const BatchContext& ctx, const Generators& generators,
                       Results& results) const {
    const CurrentSampleScope current(seed_, ctx.sample_id(0), ctx.index_in_batch(0));
    generators.seed(seed_, ctx.sample_id(0));
    InputCheck check;
    std::vector<py::object> arguments;
    arguments.reserve(static_cast<size_t>(num_inputs_));
    for (int i = 0; i < num_inputs_; ++i) {
      for (int k = 0; check_ && k < ctx.size(); ++k)
        check.add(ctx.input(i, k), i, ctx.index_in_batch(k));
      arguments.push_back(make_list(ctx, i, kind_));
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
    for (int i = 0; i < num_inputs_; ++i) arguments.push_back(make_list(ctx, i, ValueKind::kNumpy));
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
          to[static_cast<size_t>(sample)] = to_result(list[static_cast<size_t>(k)], output);
        } catch (Error& e) {
          e.set_sample(sample);
          throw;
        }
      }
      return;
    }
    const ForeignView whole = to_result(value, output);
    TORCHDALI_CHECK(whole.view.shape.ndim() > 0, name(), " returned a scalar as output ", output,
                    "; a batch is a list, or an array whose first axis is the samples");
    check_size(whole.view.shape[0]);
    for (int k = 0; k < ctx.size(); ++k)
      to[static_cast<size_t>(ctx.index_in_batch(k))] = whole.slice(k);
  }

  ForeignView to_result(py::handle value, int output) const {
    try {
      return to_view(value);
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

template <ValueKind kKind>
class FunctionOf final : public PythonFunction {
 public:
  explicit FunctionOf(const OpSpec& spec) : PythonFunction(spec, kKind) {}
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
    "that has it as its cause; the pipeline goes on.";

TORCHDALI_OPERATOR("python_function")
    .doc(std::string("Calls a Python function with the samples as NumPy arrays, and takes NumPy "
                     "arrays from it (or torch tensors, or objects with DLPack).") +
         kDoc)
    .with(function_args("NumPy array", false))
    .cpu<FunctionOf<ValueKind::kNumpy>>();

// The default of `batch_processing` is what DALI does, not what its pages say.
TORCHDALI_OPERATOR("dl_tensor_python_function")
    .doc(std::string("Calls a Python function with the samples as DLPack capsules, for which every "
                     "array library has a from_dlpack(), and takes capsules or objects with "
                     "``__dlpack__`` from it.") +
         kDoc)
    .with(function_args("DLPack capsule", true))
    .arg("synchronize_stream", true,
         "On the GPU, wait for the pipeline's stream before the call. On the CPU there is nothing "
         "to wait for.")
    .cpu<FunctionOf<ValueKind::kDlpack>>();

TORCHDALI_OPERATOR("torch_python_function")
    .doc(std::string("Calls a Python function with the samples as torch tensors, under "
                     "torch.no_grad(), and takes torch tensors from it.") +
         kDoc)
    .with(function_args("torch tensor", false))
    .cpu<FunctionOf<ValueKind::kTorch>>();

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
}

}  // namespace torchdali
