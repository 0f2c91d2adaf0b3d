// SPDX-License-Identifier: Apache-2.0
// What GPU operators derive from. run() describes the work of a sample (or of a frame of one) as
// tasks; the kernel does those of the whole batch in one launch. See docs/design/gpu.md, and
// csrc/ops/window/flip.cpp for a use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/placeholder.h"
#include "kernels/gpu/tasks.h"

namespace torchdali::gpu {

const GpuKernels& kernels_of(const BatchContext& ctx);
// Uploads `tasks` and, behind them, `blob`, and calls queue(tasks, blob, stream) with the addresses
// there, which returns what a kernel returns.
void queue_tasks(const BatchContext& ctx, std::span<const std::byte> tasks,
                 std::span<const std::byte> blob,
                 const std::function<int(const void*, const void*, void*)>& queue);

// Device memory for what one kernel of a batch leaves to the next. reserve() returns placeholders,
// which move() replaces after allocate().
class Workspace {
 public:
  void* reserve(int64_t bytes) {
    void* placeholder = WorkspacePlaceholder::at(bytes_);
    bytes_ += (bytes + kAlign - 1) / kAlign * kAlign;
    return placeholder;
  }
  void allocate(const BatchContext& ctx);
  // Does nothing to other addresses.
  template <class T>
  void move(T*& address) const {
    if (WorkspacePlaceholder::contains(address))
      address = WorkspacePlaceholder::resolve(address, memory_.get());
  }

 private:
  static constexpr int64_t kAlign = 64;
  int64_t bytes_ = 0;
  std::shared_ptr<void> memory_;
};

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
  // One whose `out` is no output: memory of a Workspace.
  void add_intermediate(const Task& task) {
    if (task.size == 0) return;
    tasks_.push_back(task);
    places_.push_back({-1, -1});
    most_ = std::max(most_, task.size);
  }
  // Numbers that the kernel reads beside the tasks.
  template <class T>
  BlobOffset keep(std::span<const T> values) {
    return keep_bytes(std::as_bytes(values));
  }

  // The same for a list that all tasks share: what it is made of is uploaded once.
  template <class T>
  BlobOffset keep_once(std::span<const T> values) {
    for (const auto& [data, at] : kept_)
      if (data == values.data()) return at;
    kept_.emplace_back(values.data(), keep(values));
    return kept_.back().second;
  }
  // What survey() returned.
  template <class State>
  const State& survey() const {
    return static_cast<const State&>(*survey_);
  }
  void set_survey(std::unique_ptr<BatchState> survey) { survey_ = std::move(survey); }

  // Calls fn(task) for each, before they are launched.
  template <class Fn>
  void for_each(Fn&& fn) {
    for (Task& task : tasks_) fn(task);
  }
  void launch(const BatchContext& ctx, KernelFn<Task> kernel) {
    if (tasks_.empty()) return;
    for (size_t i = 0; i < tasks_.size(); ++i)
      if (places_[i].output >= 0)
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
  std::vector<std::pair<const void*, BlobOffset>> kept_;
  std::unique_ptr<BatchState> survey_;
  int64_t most_ = 0;
};

// A GPU operator. run() reads no data of its inputs.
class GpuOperator : public Operator {
 public:
  // Sees the samples of the batch together (their shapes, not their data), before run() sees the
  // first: what the CPU's prepare_batch() finds out.
  virtual std::unique_ptr<BatchState> survey(BatchContext& /*ctx*/) const { return nullptr; }
  // The state that run() adds to; it keeps what survey() gives.
  virtual std::unique_ptr<BatchState> make_tasks(BatchContext& ctx) const = 0;
  virtual void launch(BatchContext& ctx, BatchState& tasks) const = 0;
};

// One whose tasks are of one kernel: `table.*kKernel`.
template <class T, KernelFn<T> GpuKernels::* kKernel>
class TaskOperator : public GpuOperator {
 public:
  using Task = T;
  std::unique_ptr<BatchState> make_tasks(BatchContext& ctx) const final {
    auto tasks = std::make_unique<Tasks<Task>>();
    tasks->set_survey(survey(ctx));
    return tasks;
  }
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
  std::unique_ptr<BatchState> make_tasks(BatchContext& /*ctx*/) const override {
    return std::make_unique<BatchState>();
  }
  void launch(BatchContext& /*ctx*/, BatchState& /*tasks*/) const override {}

 private:
  CpuOperator op_;
};

// `op`, which may be wrapped in a frame loop, as the batch stage that the executor runs; `gpu` is
// the GpuOperator inside.
std::unique_ptr<Operator> make_stage(std::unique_ptr<Operator> op, const GpuOperator& gpu);

}  // namespace torchdali::gpu
