// SPDX-License-Identifier: Apache-2.0
// What GPU operators derive from. run() describes the work of a sample (or of a frame of one) as
// tasks; the kernel does those of the whole batch in one launch. See docs/design/gpu.md, and
// csrc/ops/flip.cpp for a use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/operator.h"
#include "gpu/kernels.h"

namespace torchdali::gpu {

const GpuKernels& kernels_of(const BatchContext& ctx);
// Uploads `tasks` and, behind them, `blob`, and calls queue(tasks, blob, stream) with the addresses
// there, which returns what a kernel returns.
void queue_tasks(const BatchContext& ctx, std::span<const std::byte> tasks,
                 std::span<const std::byte> blob,
                 const std::function<int(const void*, const void*, void*)>& queue);

// Device memory for what kernels queued from now on leave to one another. Let it go when the last
// of them is queued.
std::shared_ptr<void> workspace(const BatchContext& ctx, int64_t bytes);

// The tasks of one batch.
template <class Task>
class Tasks final : public BatchState {
 public:
  // `task.out` points into output `output` of the sample in hand, as SampleContext gave it.
  void add(const SampleContext& ctx, const Task& task, int output = 0) {
    if (task.size == 0) return;
    tasks_.push_back(task);
    places_.push_back({ctx.index_in_batch(), output});
    most_ = std::max(most_, task.size);
  }
  // Numbers that the kernel reads beside the tasks.
  template <class T>
  BlobOffset keep(std::span<const T> values) {
    return keep_bytes(std::as_bytes(values));
  }

  void launch(const BatchContext& ctx, KernelFn<Task> kernel) {
    if (tasks_.empty()) return;
    for (size_t i = 0; i < tasks_.size(); ++i)
      tasks_[i].out = ctx.address(places_[i].output, places_[i].sample, tasks_[i].out);
    queue_tasks(ctx, std::as_bytes(std::span(tasks_)), blob_,
                [&](const void* tasks, const void* blob, void* stream) {
                  return kernel(static_cast<const Task*>(tasks), static_cast<int>(tasks_.size()),
                                most_, blob, stream);
                });
  }

 private:
  struct Place {
    int sample, output;
  };
  static constexpr size_t kAlign = 16;  // of lists in the blob
  BlobOffset keep_bytes(std::span<const std::byte> bytes) {
    blob_.resize((blob_.size() + kAlign - 1) / kAlign * kAlign);
    const auto at = static_cast<BlobOffset>(blob_.size());
    blob_.insert(blob_.end(), bytes.begin(), bytes.end());
    return at;
  }
  std::vector<Task> tasks_;
  std::vector<Place> places_;
  std::vector<std::byte> blob_;
  int64_t most_ = 0;
};

// A GPU operator. run() reads no data of its inputs.
class GpuOperator : public Operator {
 public:
  virtual std::unique_ptr<BatchState> make_tasks() const = 0;
  virtual void launch(BatchContext& ctx, BatchState& tasks) const = 0;
};

// One whose tasks are of one kernel: `table.*kKernel`.
template <class T, KernelFn<T> GpuKernels::* kKernel>
class TaskOperator : public GpuOperator {
 public:
  using Task = T;
  std::unique_ptr<BatchState> make_tasks() const final { return std::make_unique<Tasks<Task>>(); }
  void launch(BatchContext& ctx, BatchState& tasks) const final {
    static_cast<Tasks<Task>&>(tasks).launch(ctx, kernels_of(ctx).*kKernel);
  }

 protected:
  static Tasks<Task>& tasks(const SampleContext& ctx) { return ctx.batch_state<Tasks<Task>>(); }
};

// A GPU operator whose outputs are views of its inputs: what the CPU's does, since that reads no
// data either.
template <class CpuOperator>
class ViewOperator final : public GpuOperator {
 public:
  explicit ViewOperator(const OpSpec& spec) : op_(spec) {}
  void run(SampleContext& ctx) const override { op_.run(ctx); }
  std::unique_ptr<BatchState> make_tasks() const override { return std::make_unique<BatchState>(); }
  void launch(BatchContext& /*ctx*/, BatchState& /*tasks*/) const override {}

 private:
  CpuOperator op_;
};

// `op`, which may be wrapped in a frame loop, as the batch stage that the executor runs; `gpu` is
// the GpuOperator inside.
std::unique_ptr<Operator> make_stage(std::unique_ptr<Operator> op, const GpuOperator& gpu);

}  // namespace torchdali::gpu
