// SPDX-License-Identifier: Apache-2.0
// The batch stage of a GPU operator: describe, make the outputs, launch.
#include "core/batch_context.h"
#include "gpu/device.h"
#include "gpu/operator.h"

namespace torchdali::gpu {
namespace {

class Stage final : public Operator {
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

 private:
  std::unique_ptr<Operator> op_;
  const GpuOperator& gpu_;
};

}  // namespace

const GpuKernels& kernels_of(const BatchContext& ctx) { return ctx.device().kernels(); }

void Workspace::allocate(const BatchContext& ctx) {
  if (bytes_ > 0) memory_ = ctx.device().workspace(bytes_);
}

void queue_tasks(const BatchContext& ctx, std::span<const std::byte> tasks,
                 std::span<const std::byte> blob,
                 const std::function<int(const void*, const void*, void*)>& queue) {
  const Device& device = ctx.device();
  const at::Tensor there = device.upload(tasks, blob);
  const auto* address = static_cast<const std::byte*>(there.const_data_ptr());
  device.check(queue(address, address + Device::second_at(tasks.size()), device.stream()),
               "a kernel");
}

std::unique_ptr<Operator> make_stage(std::unique_ptr<Operator> op, const GpuOperator& gpu) {
  return std::make_unique<Stage>(std::move(op), gpu);
}

}  // namespace torchdali::gpu
