// SPDX-License-Identifier: Apache-2.0
// fn.python_function, fn.dl_tensor_python_function and fn.torch_python_function: functions of the
// user in a pipeline, on the CPU (here) and on the GPU (gpu_python_function.h).
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"
#include "kernels/window/strided_copy.h"
#include "python/functions/current_call.h"
#include "python/functions/function_caller.h"
#include "python/functions/gpu_python_function.h"
#include "python/functions/worker_gil.h"

namespace torchdali {
namespace {

class PythonFunction : public Operator {
 public:
  PythonFunction(const OpSpec& spec, ValueKind kind) : caller_(spec, kind) {}

  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = caller_.workers() == FunctionWorkers::kNone};
  }

  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    auto results = std::make_unique<FunctionResults>(caller_.num_outputs(), ctx.batch_size());
    if (caller_.runs_on_threads()) {
      for (int i = 0; i < caller_.num_inputs(); ++i) results->owners.push_back(ctx.input_owner(i));
      return results;
    }
    const WorkerGil gil;
    if (caller_.workers() == FunctionWorkers::kProcesses) {
      caller_.call_processes(ctx, *results);
      return results;
    }
    const HostInputs inputs(caller_.kind(), caller_.num_inputs(),
                            [&](int i) { return ctx.input_owner(i); });
    caller_.call_all(ctx, inputs, *results);
    return results;
  }

  void run(SampleContext& ctx) const override {
    auto& results = ctx.batch_state<FunctionResults>();
    if (caller_.runs_on_threads()) call(ctx, results);
    for (int i = 0; i < caller_.num_outputs(); ++i) {
      const ForeignView& from =
          results.views[static_cast<size_t>(i)][static_cast<size_t>(ctx.index_in_batch())];
      const Layout& layout = caller_.layout(i);
      check_layout(layout, from.view.shape);
      if (from.packed) {
        SampleView view = from.view;
        view.layout = layout;
        ctx.share_batch(i, view);
        continue;
      }
      const SampleView& to = ctx.output(i, from.view.dtype, from.view.shape, layout);
      if (to.volume() == 0) continue;
      dispatch_dtype(to.dtype, [&]<class T>() {
        kernels::copy_strided(to.as<T>(), from.view.as<const T>(), to.shape, from.strides);
      });
    }
  }

 private:
  void call(const SampleContext& ctx, FunctionResults& results) const {
    const WorkerGil gil;
    const HostInputs inputs(caller_.kind(), caller_.num_inputs(), [&](int i) -> const auto& {
      return results.owners[static_cast<size_t>(i)];
    });
    std::vector<const SampleView*> views;
    for (int i = 0; i < caller_.num_inputs(); ++i) views.push_back(&ctx.input(i));
    caller_.call_sample(views, inputs, GlobalGenerators(false, results.device), ctx.sample_id(),
                        ctx.index_in_batch(), results);
  }

  const FunctionCaller caller_;
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

// The arguments of all three operators. `array` names what the function takes.
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

// The default of `batch_processing` is that of DALI's code. DALI's documentation says otherwise.
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
