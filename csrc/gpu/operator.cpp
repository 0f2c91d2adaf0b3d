// SPDX-License-Identifier: Apache-2.0
#include "gpu/operator.h"

#include "core/batch_context.h"
#include "core/reason_counts.h"
#include "gpu/device.h"

namespace torchdali::gpu {
namespace {

class Stage final : public Operator, public CountsReasons {
 public:
  Stage(std::unique_ptr<Operator> op, const GpuOperator& gpu) : op_(std::move(op)), gpu_(gpu) {}

  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = true, .makes_outputs = true, .on_device = true};
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    const Device::Scope scope(ctx.device());
    const auto tasks = gpu_.make_tasks(ctx);
    for (int k = 0; k < ctx.size(); ++k) {
      try {
        op_->run(ctx.sample(k, *tasks));
      } catch (Error& e) {
        if (e.sample() < 0) e.set_sample(ctx.index_in_batch(k));
        throw;
      }
    }
    ctx.make_outputs();
    gpu_.launch(ctx, *tasks);
    return nullptr;
  }
  void run(SampleContext& /*ctx*/) const override {}
  std::map<std::string, int64_t> counts() const override {
    const auto* counting = dynamic_cast<const CountsReasons*>(&gpu_);
    return counting == nullptr ? std::map<std::string, int64_t>() : counting->counts();
  }

 private:
  std::unique_ptr<Operator> op_;
  const GpuOperator& gpu_;
};

}  // namespace

void Workspace::allocate(const BatchContext& ctx) {
  if (bytes_ > 0) memory_ = ctx.device().workspace(bytes_);
}

void TaskBatch::launch(const BatchContext& ctx) {
  workspace.allocate(ctx);
  std::vector<KernelLaunch> launches;
  launches.reserve(lists_.size());
  for (TaskList* list : lists_)
    launches.push_back(
        {list->kernel_, list->resolve(ctx, workspace), list->max_size_, list->shared_bytes_});
  queue_kernels(ctx.device(), launches, blob.bytes());
}

std::unique_ptr<Operator> make_stage(std::unique_ptr<Operator> op, const GpuOperator& gpu) {
  return std::make_unique<Stage>(std::move(op), gpu);
}

}  // namespace torchdali::gpu
