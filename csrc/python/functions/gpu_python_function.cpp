// SPDX-License-Identifier: Apache-2.0
#include "python/functions/gpu_python_function.h"

#include "core/batch_context.h"
#include "gpu/copy_axes.h"
#include "gpu/device.h"
#include "python/functions/callbacks.h"
#include "python/functions/current_call.h"
#include "python/functions/worker_gil.h"

namespace torchdali {
namespace {

// Makes the stream current for CuPy, if CuPy is installed.
class CupyStreamScope {
 public:
  CupyStreamScope(const gpu::Device& device, bool wanted) {
    if (wanted && device.index() >= 0)
      stack_ = callback("_enter_cupy_stream")(reinterpret_cast<uintptr_t>(device.stream()),
                                              device.index());
  }
  ~CupyStreamScope() {  // NOLINT(bugprone-exception-escape): only if Python itself is broken
    if (!stack_.is_valid()) return;
    try {
      stack_.attr("close")();
    } catch (nb::python_error& e) {
      e.discard_as_unraisable("torchdali: the current stream of CuPy");
    }
  }
  CupyStreamScope(const CupyStreamScope&) = delete;
  CupyStreamScope& operator=(const CupyStreamScope&) = delete;

 private:
  nb::object stack_;
};

}  // namespace

BorrowedObjects::~BorrowedObjects() {  // NOLINT(bugprone-exception-escape): as above
  try {
    for (const auto& [until, objects] : kept_) until->synchronize();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // The GPU has failed, and nothing runs on it any more.
  }
  if (Py_IsInitialized()) {
    const nb::gil_scoped_acquire gil;
    kept_.clear();
    return;
  }
  for (auto& [until, objects] : kept_)
    for (nb::object& object : objects) (void)object.release();
}

void BorrowedObjects::keep(std::shared_ptr<gpu::Event> until, std::vector<nb::object> objects) {
  kept_.emplace_back(std::move(until), std::move(objects));
}

void BorrowedObjects::release_done() {
  while (!kept_.empty() && kept_.front().first->is_done()) kept_.pop_front();
}

GpuPythonFunction::GpuPythonFunction(const OpSpec& spec, ValueKind kind)
    : caller_(spec, kind),
      synchronize_(kind == ValueKind::kDlpack && spec.get<bool>("synchronize_stream")) {
  TORCHDALI_CHECK_KIND(kUnsupported, caller_.workers() == FunctionWorkers::kNone,
                       "`workers` is for functions on the CPU", to_fix("leave it out"));
}

std::unique_ptr<BatchState> GpuPythonFunction::prepare_batch(BatchContext& ctx) {
  gpu::Device& device = ctx.device();
  if (synchronize_) device.synchronize();
  FunctionResults results(caller_.num_outputs(), ctx.batch_size());
  results.gpu = device.index();
  {
    const gpu::Device::Scope scope(device);
    const CurrentStreamScope stream(device.stream());
    const WorkerGil gil;
    borrowed_.release_done();
    const DeviceInputs inputs(caller_.kind(), ctx);
    const CupyStreamScope cupy(device, caller_.kind() == ValueKind::kNumpy);
    caller_.call_all(ctx, inputs, results);
  }
  const gpu::Device::Scope scope(device);  // again, since the function may have set a stream
  try {
    copy_results(ctx, results);
  } catch (const Error& e) {
    throw BatchError(e);  // the functions are not called again
  }
  release(ctx, results);
  return nullptr;
}

void GpuPythonFunction::copy_results(BatchContext& ctx, const FunctionResults& results) const {
  BatchState none;
  gpu::SingleStep<gpu::CopyKernel> copies;
  for (int k = 0; k < ctx.size(); ++k) {
    SampleContext& sample = ctx.sample(k, none);
    const int index = ctx.index_in_batch(k);
    try {
      for (int i = 0; i < caller_.num_outputs(); ++i)
        add_copy(sample, i, results.views[static_cast<size_t>(i)][static_cast<size_t>(index)],
                 copies.tasks);
    } catch (Error& e) {
      e.set_sample(index);
      throw;
    }
  }
  ctx.make_outputs();
  copies.launch(ctx);
}

void GpuPythonFunction::add_copy(SampleContext& sample, int output, const ForeignView& from,
                                 gpu::Tasks<gpu::CopyKernel>& tasks) const {
  const SampleView& to =
      sample.output(output, from.view.dtype, from.view.shape, caller_.layout(output));
  const int64_t item = itemsize(to.dtype);
  std::vector<gpu::CopyAxis> axes = gpu::dense_axes(to.shape, item);
  for (size_t a = 0; a < axes.size(); ++a)
    axes[a].in_stride = from.strides[static_cast<int>(a)] * item;
  if (to.volume() > 0)
    tasks.add(sample, gpu::make_copy(from.view.data, to.data, to.size_bytes(), item, axes), output);
}

void GpuPythonFunction::release(BatchContext& ctx, FunctionResults& results) {
  const WorkerGil gil;
  std::vector<nb::object> kept;
  for (auto& of_output : results.views)
    for (ForeignView& from : of_output)
      if (from.owner.is_valid()) kept.push_back(std::move(from.owner));  // else it was left out
  results.views.clear();
  if (!kept.empty()) borrowed_.keep(ctx.device().mark(), std::move(kept));
  borrowed_.release_done();
}

}  // namespace torchdali
