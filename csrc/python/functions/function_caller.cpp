// SPDX-License-Identifier: Apache-2.0
#include "python/functions/function_caller.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "core/batch_context.h"
#include "core/counters.h"
#include "core/trace.h"
#include "executor/run/fed_batch.h"
#include "python/functions/callbacks.h"
#include "python/functions/current_call.h"

namespace torchdali {
namespace {

bool input_check_enabled() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read only
  const char* value = std::getenv("TORCHDALI_CHECK_FUNCTIONS");
  return value != nullptr && std::string_view(value) == "1";
}

FunctionWorkers workers_of(const OpSpec& spec) {
  if (!spec.defined("workers")) return FunctionWorkers::kNone;
  const auto name = spec.get<std::string>("workers");
  if (name == "threads") return FunctionWorkers::kThreads;
  if (name == "processes") return FunctionWorkers::kProcesses;
  raise(ErrorKind::kValue, "`workers` is \"threads\", \"processes\" or not given, got \"", name,
        "\"");
}

// A string is the layout of all outputs, a list has the layouts of the first outputs.
std::vector<Layout> layouts_of(const OpSpec& spec, int num_outputs) {
  std::vector<Layout> layouts(static_cast<size_t>(num_outputs));
  if (!spec.defined("output_layouts")) return layouts;
  if (std::holds_alternative<std::string>(spec.constants.at("output_layouts"))) {
    std::fill(layouts.begin(), layouts.end(), spec.get<Layout>("output_layouts"));
    return layouts;
  }
  const auto list = spec.get<std::vector<std::string>>("output_layouts");
  TORCHDALI_CHECK(list.size() <= layouts.size(), "`output_layouts` has ", list.size(),
                  " layouts for ", num_outputs, " outputs");
  for (size_t i = 0; i < list.size(); ++i) layouts[i] = Layout(std::string_view(list[i]));
  return layouts;
}

std::string class_name(nb::handle value) {
  return nb::cast<std::string>(value.type().attr("__name__"));
}

nb::list samples_of(const BatchContext& ctx, const FunctionInputs& inputs, int input) {
  return make_list(static_cast<size_t>(ctx.size()), [&](size_t i) {
    const auto k = static_cast<int>(i);
    return inputs.make(input, ctx.index_in_batch(k), ctx.input(input, k));
  });
}

// torch.no_grad() for this thread.
class NoGrad {
 public:
  NoGrad() { aoti_torch_grad_mode_set_enabled(false); }
  ~NoGrad() { aoti_torch_grad_mode_set_enabled(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  const bool before_ = aoti_torch_grad_mode_is_enabled();
};

}  // namespace

FunctionCaller::FunctionCaller(const OpSpec& spec, ValueKind kind)
    : kind_(kind),
      function_(spec.get<Function>("function")),
      num_inputs_(spec.num_inputs),
      num_outputs_(spec.get<int>("num_outputs")),
      whole_batch_(spec.get<bool>("batch_processing")),
      workers_(workers_of(spec)),
      seed_(spec.seed),
      seed_generators_(spec.get<bool>("seed_generators")),
      check_inputs_(input_check_enabled()),
      layouts_(layouts_of(spec, num_outputs_)) {
  TORCHDALI_CHECK(workers_ != FunctionWorkers::kThreads || !seed_generators_,
                  "workers=\"threads\" and seed_generators=True do not go together: all threads "
                  "share the global generators",
                  to_fix("draw from torchdali.current_sample()"));
}

void FunctionCaller::call_all(BatchContext& ctx, const FunctionInputs& inputs,
                              FunctionResults& results) const {
  const GlobalGenerators generators(seed_generators_, results.gpu);
  if (whole_batch_) {
    const auto call = [&] { call_batch(ctx, inputs, generators, results); };
    call_for_all(ctx, call);
    return;
  }
  std::vector<const SampleView*> views(static_cast<size_t>(num_inputs_));
  for (int k = 0; k < ctx.size();) {
    const int index = ctx.index_in_batch(k);
    TORCHDALI_CHECK_KIND(kRuntime, !ctx.cancelled(), "the pipeline was closed");
    for (int i = 0; i < num_inputs_; ++i) views[static_cast<size_t>(i)] = &ctx.input(i, k);
    try {
      call_sample(views, inputs, generators, ctx.sample_id(k), index, results);
      ++k;
    } catch (const Error& e) {
      ctx.fail(k, e);  // sample k is the next one now
    }
  }
  check_uniform(ctx, results);
}

void FunctionCaller::call_for_all(BatchContext& ctx, const std::function<void()>& call) {
  try {
    call();
  } catch (const BatchError&) {
    throw;
  } catch (const Error& e) {
    if (ctx.cancelled()) throw;
    ctx.fail_all(e);
  }
}

std::string FunctionCaller::name() const {
  return nb::cast<std::string>(callback("_describe_function")(function()));
}

nb::object FunctionCaller::call(const std::vector<nb::object>& arguments) const {
  const NoGrad no_grad;
  std::vector<PyObject*> raw;
  raw.reserve(arguments.size());
  for (const nb::object& a : arguments) raw.push_back(a.ptr());
  const int64_t start = trace::enabled() ? now_ns() : 0;
  PyObject* returned = PyObject_Vectorcall(function().ptr(), raw.data(), raw.size(), nullptr);
  const int64_t end = start == 0 ? 0 : now_ns();
  if (returned == nullptr) {
    const nb::python_error raised;
    const auto [text, cause, sample] = nb::cast<std::tuple<std::string, nb::object, int>>(
        callback("_describe_exception")(function(), raised.value()));
    Error error(ErrorKind::kRuntime, text);
    if (!cause.is_none()) error.set_cause(keep_alive(cause));
    error.set_sample(sample);
    throw error;
  }
  nb::object result = nb::steal(returned);
  if (start != 0)
    trace::add({.start_ns = start,
                .ns = end - start,
                .label = trace::label(name(), workers_ == FunctionWorkers::kProcesses
                                                  ? "wait for worker processes"
                                                  : "function")});
  return result;
}

void FunctionCaller::call_sample(const std::vector<const SampleView*>& views,
                                 const FunctionInputs& inputs, const GlobalGenerators& generators,
                                 uint64_t id, int index, FunctionResults& results) const {
  const CurrentSampleScope current(seed_, id, index);
  generators.seed(seed_, id);
  InputCheck check;
  std::vector<nb::object> arguments;
  arguments.reserve(views.size());
  for (int i = 0; i < num_inputs_; ++i) {
    const SampleView& view = *views[static_cast<size_t>(i)];
    if (check_inputs_) inputs.watch(check, i, index, view);
    arguments.push_back(inputs.make(i, index, view));
  }
  const nb::object returned = call(arguments);
  check.verify();
  const std::vector<nb::object> outputs = outputs_of(returned);
  for (size_t i = 0; i < outputs.size(); ++i)
    results.views[i][static_cast<size_t>(index)] =
        to_result(outputs[i], static_cast<int>(i), results.gpu);
}

void FunctionCaller::call_batch(const BatchContext& ctx, const FunctionInputs& inputs,
                                const GlobalGenerators& generators,
                                FunctionResults& results) const {
  const CurrentSampleScope current(seed_, ctx.sample_id(0), ctx.index_in_batch(0));
  generators.seed(seed_, ctx.sample_id(0));
  InputCheck check;
  std::vector<nb::object> arguments;
  arguments.reserve(static_cast<size_t>(num_inputs_));
  for (int i = 0; i < num_inputs_; ++i) {
    for (int k = 0; check_inputs_ && k < ctx.size(); ++k)
      inputs.watch(check, i, ctx.index_in_batch(k), ctx.input(i, k));
    arguments.push_back(samples_of(ctx, inputs, i));
  }
  const nb::object returned = call(arguments);
  check.verify();
  const std::vector<nb::object> outputs = outputs_of(returned);
  for (size_t i = 0; i < outputs.size(); ++i)
    store_batch(ctx, outputs[i], static_cast<int>(i), results);
  check_uniform(ctx, results);
}

void FunctionCaller::call_processes(BatchContext& ctx, FunctionResults& results) const {
  try {
    send_batch(ctx, results);
  } catch (const Error& e) {
    throw BatchError(e);  // of the workers; the function is not called again
  }
}

void FunctionCaller::send_batch(BatchContext& ctx, FunctionResults& results) const {
  // The function is a ProcessFunction, which takes the samples' seeds and the inputs of a batch. It
  // returns the outputs of the good samples, and what to say of the others.
  std::vector<nb::object> arguments;
  nb::list samples;
  for (int k = 0; k < ctx.size(); ++k) {
    const uint64_t id = ctx.sample_id(k);
    samples.append(nb::make_tuple(derive_seed(seed_, id), id, ctx.index_in_batch(k)));
  }
  arguments.push_back(std::move(samples));
  const HostInputs inputs(ValueKind::kNumpy, num_inputs_,
                          [&](int i) { return ctx.input_owner(i); });
  for (int i = 0; i < num_inputs_; ++i) arguments.push_back(samples_of(ctx, inputs, i));
  const auto [returned, failed] =
      nb::cast<std::tuple<nb::object, std::map<int, std::tuple<std::string, nb::object>>>>(
          call(arguments));
  // The last one first: samples after one that fails move down.
  for (auto it = failed.rbegin(); it != failed.rend(); ++it) {
    const auto& [text, cause] = it->second;
    Error error(ErrorKind::kRuntime, str_cat(name(), " ", text));
    if (!cause.is_none()) error.set_cause(keep_alive(cause));
    if (it->first == FedBatch::kAllSamples) ctx.fail_all(error);
    else ctx.fail(it->first, error);
  }
  if (ctx.size() == 0) return;
  const std::vector<nb::object> outputs = outputs_of(returned);
  for (size_t i = 0; i < outputs.size(); ++i)
    store_batch(ctx, outputs[i], static_cast<int>(i), results);
  check_uniform(ctx, results);
}

std::vector<nb::object> FunctionCaller::outputs_of(const nb::object& returned) const {
  if (num_outputs_ == 0) {
    TORCHDALI_CHECK_KIND(kType, returned.is_none(), name(), " returned ", class_name(returned),
                         ", but `num_outputs` is 0");
    return {};
  }
  TORCHDALI_CHECK_KIND(kType, !returned.is_none(), name(), " returned None, but `num_outputs` is ",
                       num_outputs_);
  if (!nb::isinstance<nb::tuple>(returned)) {
    TORCHDALI_CHECK_KIND(kType, num_outputs_ == 1, name(), " has ", num_outputs_,
                         " outputs and must return a tuple, got ", class_name(returned));
    return {returned};
  }
  const auto values = nb::borrow<nb::tuple>(returned);
  TORCHDALI_CHECK(static_cast<int>(values.size()) == num_outputs_, name(), " returned ",
                  values.size(), " outputs, `num_outputs` is ", num_outputs_);
  std::vector<nb::object> outputs;
  for (const auto value : values) outputs.push_back(nb::borrow(value));
  return outputs;
}

void FunctionCaller::store_batch(const BatchContext& ctx, nb::handle value, int output,
                                 FunctionResults& results) const {
  auto& to = results.views[static_cast<size_t>(output)];
  const auto check_size = [&](int64_t size) {
    TORCHDALI_CHECK(size == ctx.size(), name(), " returned ", size, " samples as output ", output,
                    ", the batch has ", ctx.size());
  };
  if (nb::isinstance<nb::list>(value)) {
    const auto list = nb::borrow<nb::list>(value);
    check_size(static_cast<int64_t>(list.size()));
    for (int k = 0; k < ctx.size(); ++k) {
      const int index = ctx.index_in_batch(k);
      try {
        to[static_cast<size_t>(index)] =
            to_result(list[static_cast<size_t>(k)], output, results.gpu);
      } catch (Error& e) {
        e.set_sample(index);
        throw;
      }
    }
    return;
  }
  const ForeignView whole = to_result(value, output, results.gpu);
  TORCHDALI_CHECK(whole.view.shape.ndim() > 0, name(), " returned a scalar as output ", output,
                  "; a batch is a list, or an array whose first axis is the samples");
  check_size(whole.view.shape[0]);
  for (int k = 0; k < ctx.size(); ++k)
    to[static_cast<size_t>(ctx.index_in_batch(k))] = whole.slice(k);
}

ForeignView FunctionCaller::to_result(nb::handle value, int output, int gpu) const {
  try {
    return to_view(value, gpu);
  } catch (Error& e) {
    e.set_message(str_cat(name(), ": output ", output, ": ", e.message()));
    throw;
  } catch (nb::python_error& e) {
    const auto text = nb::cast<std::string>(nb::str(e.value()));
    throw Error(ErrorKind::kType, str_cat(name(), ": output ", output, " is no array (",
                                          class_name(value), "): ", text));
  }
}

void FunctionCaller::check_uniform(const BatchContext& ctx, const FunctionResults& results) const {
  if (ctx.size() == 0) return;
  for (size_t i = 0; i < results.views.size(); ++i) {
    const auto& views = results.views[i];
    const SampleView& first = views[static_cast<size_t>(ctx.index_in_batch(0))].view;
    for (int k = 1; k < ctx.size(); ++k) {
      const int index = ctx.index_in_batch(k);
      const SampleView& view = views[static_cast<size_t>(index)].view;
      if (view.dtype == first.dtype && view.shape.ndim() == first.shape.ndim()) continue;
      Error error(ErrorKind::kRuntime,
                  str_cat(name(), ": output ", i, " is ", dtype_name(view.dtype), " of shape ",
                          view.shape, ", but ", dtype_name(first.dtype), " of shape ", first.shape,
                          " for sample ", ctx.index_in_batch(0),
                          "; the samples of a batch have one type and number of dimensions"));
      error.set_sample(index);
      throw BatchError(error);
    }
  }
}

}  // namespace torchdali
