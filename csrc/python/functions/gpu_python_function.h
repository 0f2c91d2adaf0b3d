// SPDX-License-Identifier: Apache-2.0
// GpuPythonFunction: a user's function on the GPU.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/device.h"
#include "gpu/operator.h"
#include "kernels/window/copy_gpu.h"
#include "python/functions/function_caller.h"

namespace torchdali {

// Python objects whose memory the GPU may still read.
class BorrowedObjects {
 public:
  BorrowedObjects() = default;
  ~BorrowedObjects();
  BorrowedObjects(const BorrowedObjects&) = delete;
  BorrowedObjects& operator=(const BorrowedObjects&) = delete;
  // Keeps `objects` until the event. Needs the GIL.
  void keep(std::shared_ptr<gpu::Event> until, std::vector<nb::object> objects);
  // Drops objects whose event is done. Needs the GIL.
  void release_done();

 private:
  std::deque<std::pair<std::shared_ptr<gpu::Event>, std::vector<nb::object>>> kept_;
};

// A batch stage that queues work: calls the function with tensors on the GPU, on the stream of the
// kernels, and copies what it returns there. The host does not wait for the GPU.
class GpuPythonFunction : public Operator {
 public:
  GpuPythonFunction(const OpSpec& spec, ValueKind kind);
  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = true, .makes_outputs = true, .on_device = true};
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override;
  void run(SampleContext& /*ctx*/) const override {}

 private:
  void copy_results(BatchContext& ctx, const FunctionResults& results) const;
  void add_copy(SampleContext& sample, int output, const ForeignView& from,
                gpu::Tasks<gpu::CopyKernel>& tasks) const;
  // Keeps the results until the copies are done.
  void release(BatchContext& ctx, FunctionResults& results);

  const FunctionCaller caller_;
  const bool synchronize_;
  BorrowedObjects borrowed_;
};

}  // namespace torchdali
