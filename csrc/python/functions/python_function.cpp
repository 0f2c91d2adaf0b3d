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
    views.reserve(static_cast<size_t>(caller_.num_inputs()));
    for (int i = 0; i < caller_.num_inputs(); ++i) views.push_back(&ctx.input(i));
    caller_.call_sample(views, inputs, GlobalGenerators(false, results.gpu), ctx.sample_id(),
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
                      "`num_outputs` outputs. It is called exactly once for each sample (or "
                      "batch), in order, by one thread at a time.")
        .arg("batch_processing", whole_batch,
             "Call the function once per batch, with a list of samples for each input. Each output "
             "is then a list of samples, or one array whose first axis is the sample.")
        .arg("num_outputs", 1, "Number of outputs; with 0 the function returns None.")
        .optional_arg("output_layouts", ArgType::kLayoutVec,
                      "Layout of the outputs, such as \"HWC\"; a list has one layout for each of "
                      "the first outputs.")
        .optional_arg("workers", ArgType::kString,
                      "\"threads\": call the function from all threads of the pipeline, for "
                      "functions that release the GIL; calls are then not in order, and samples of "
                      "different batches may overlap. \"processes\": call it in `py_num_workers` "
                      "processes, for functions whose work is worth a copy of their inputs. The "
                      "function is sent there like the source of a parallel fn.external_source "
                      "(`py_start_method`, `py_callback_pickler`), and its inputs are valid only "
                      "during the call.")
        .arg("seed_generators", false,
             "Seed the global generators of random, NumPy and torch before each call, and restore "
             "them after the batch. Other threads that use them in between see the seeded state; "
             "torchdali.current_sample() has generators that are not shared. With "
             "workers=\"processes\", the generators of the worker are seeded.")
        .random()
        .side_effects()
        .sequences()
        .volumes();
  };
}

constexpr const char* kDoc =
    "\n\nThe inputs are views of the pipeline's memory, which is kept as long as the function "
    "refers to it. The function must not write to them; the environment variable "
    "TORCHDALI_CHECK_FUNCTIONS=1 makes that an error. Returned arrays may have any strides. The "
    "samples of a batch may differ in shape, but not in type or number of dimensions. If the "
    "function raises, the iteration fails with an error whose cause is that exception, and the "
    "pipeline continues with the next one."
    "\n\nOn the GPU, inputs are in device memory, and returned arrays must be there, too; they are "
    "copied. While the function runs, the pipeline's stream is the current stream of torch (and of "
    "CuPy), so work that it queues is ordered after the work before it and before the work after "
    "it, and the host does not wait. A function that uses another stream must make the current "
    "stream wait for it before it returns.";

TORCHDALI_OPERATOR("python_function")
    .doc(
        std::string("Calls a Python function with the samples as NumPy arrays; on the GPU, as CuPy "
                    "arrays (torch tensors if CuPy is not installed). The function returns such "
                    "arrays, torch tensors, or objects that support DLPack.") +
        kDoc)
    .with(function_args("NumPy array", false))
    .cpu<FunctionOf<ValueKind::kNumpy>>()
    .gpu<GpuFunctionOf<ValueKind::kNumpy>>();

// The default of `batch_processing` is that of DALI's code. DALI's documentation says otherwise.
TORCHDALI_OPERATOR("dl_tensor_python_function")
    .doc(std::string("Calls a Python function with the samples as DLPack capsules, which the "
                     "from_dlpack() of any array library takes. The function returns capsules or "
                     "objects with ``__dlpack__``.") +
         kDoc)
    .with(function_args("DLPack capsule", true))
    .arg("synchronize_stream", true,
         "On the GPU, wait for the pipeline's stream before the call. Functions that use the "
         "current stream do not need it. On the CPU it has no effect.")
    .cpu<FunctionOf<ValueKind::kDlpack>>()
    .gpu<GpuFunctionOf<ValueKind::kDlpack>>();

TORCHDALI_OPERATOR("torch_python_function")
    .doc(std::string("Calls a Python function with the samples as torch tensors, under "
                     "torch.no_grad(). The function returns torch tensors.") +
         kDoc)
    .with(function_args("torch tensor", false))
    .cpu<FunctionOf<ValueKind::kTorch>>()
    .gpu<GpuFunctionOf<ValueKind::kTorch>>();

}  // namespace

void bind_functions(nb::module_& m) {
  m.def(
      "current_sample",
      []() -> nb::object {
        const CurrentSample& c = current_sample;
        if (!c.valid) return nb::none();
        return nb::make_tuple(derive_seed(c.seed, c.id), c.id, c.index);
      },
      "(seed of the sample, its id, index in the batch) of the call that this thread "
      "is in, or None.");
  m.def(
      "current_stream", [] { return reinterpret_cast<uintptr_t>(current_stream); },
      "The handle of the CUDA stream of the call that this thread is in; 0: none.");
}

}  // namespace torchdali
