// SPDX-License-Identifier: Apache-2.0
// The base classes of GPU operators. run() describes the work on a sample (or on a frame of one) as
// tasks; a kernel then executes the tasks of the whole batch in one launch. See docs/design/gpu.md,
// and csrc/ops/window/flip.cpp for an example.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/placeholder.h"
#include "gpu/registry.h"

namespace torchdali::gpu {

// Device memory for results that one kernel of a batch leaves to the next. reserve() returns
// placeholders, which resolve() replaces after allocate().
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
  void resolve(T*& address) const {
    if (WorkspacePlaceholder::contains(address))
      address = WorkspacePlaceholder::resolve(address, memory_.get());
  }

 private:
  static constexpr int64_t kAlign = 64;
  int64_t bytes_ = 0;
  std::shared_ptr<void> memory_;
};

// Lists of any length that tasks refer to. Uploaded with the tasks.
class Blob {
 public:
  template <class T>
  BlobOffset keep(std::span<const T> values) {
    return keep_bytes(std::as_bytes(values));
  }
  // For a list that several tasks share: keeps it once. `values` must not move meanwhile.
  template <class T>
  BlobOffset keep_once(std::span<const T> values) {
    for (const auto& [data, at] : kept_)
      if (data == values.data()) return at;
    kept_.emplace_back(values.data(), keep(values));
    return kept_.back().second;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlign = 16;
  BlobOffset keep_bytes(std::span<const std::byte> bytes) {
    bytes_.resize((bytes_.size() + kAlign - 1) / kAlign * kAlign);
    const auto at = static_cast<BlobOffset>(bytes_.size());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return at;
  }
  std::vector<std::byte> bytes_;
  std::vector<std::pair<const void*, BlobOffset>> kept_;
};

class TaskList;

// The work on one batch: lists of tasks, each for one launch of a kernel. Launches run in the order
// in which the lists were made. An operator with several kernels derives a struct from it:
//
//   struct Steps final : gpu::TaskBatch {
//     gpu::Tasks<gpu::FirstKernel> first{*this};
//     gpu::Tasks<gpu::SecondKernel> second{*this};
//   };
class TaskBatch : public BatchState {
 public:
  Blob blob;
  Workspace workspace;

  // What KernelOperator::inspect_batch() returned.
  template <class State>
  const State& inspection() const {
    return static_cast<const State&>(*inspection_);
  }
  void set_inspection(std::unique_ptr<BatchState> state) { inspection_ = std::move(state); }
  // Replaces placeholders, uploads tasks and blob, and queues the kernels.
  void launch(const BatchContext& ctx);

 private:
  friend class TaskList;
  std::vector<TaskList*> lists_;
  std::unique_ptr<BatchState> inspection_;
};

// Base class of Tasks.
class TaskList {
 public:
  TaskList(const TaskList&) = delete;
  TaskList& operator=(const TaskList&) = delete;

 protected:
  TaskList(TaskBatch& batch, KernelId kernel) : kernel_(kernel) { batch.lists_.push_back(this); }
  ~TaskList() = default;

 private:
  friend class TaskBatch;
  virtual std::span<const std::byte> resolve(const BatchContext& ctx,
                                             const Workspace& workspace) = 0;

 protected:
  const KernelId kernel_;
  int64_t max_size_ = 0, shared_bytes_ = 0;
};

// The tasks of one launch of K. A task whose `size` is 0 is dropped.
template <class K>
class Tasks final : public TaskList {
 public:
  using Task = typename K::Task;
  explicit Tasks(TaskBatch& batch) : TaskList(batch, kernel_id<K>()) {}

  // `task.out` points into output `output` of the current sample, as SampleContext returned it.
  void add(const SampleContext& ctx, const Task& task, int output = 0) {
    add(task, ctx.index_in_batch(), output);
  }
  // `task.out` points into the workspace.
  void add_intermediate(const Task& task) { add(task, -1, -1); }

 private:
  struct Place {
    int sample, output;
  };
  void add(const Task& task, int sample, int output) {
    if (task.size == 0) return;
    tasks_.push_back(task);
    places_.push_back({sample, output});
    max_size_ = std::max(max_size_, task.size);
    shared_bytes_ = std::max(shared_bytes_, shared_bytes<K>(task));
  }
  // Returns the tasks without placeholders. A task that has pointers besides `in` and `out` names
  // those that may be in the workspace by a member for_each_address(fn).
  std::span<const std::byte> resolve(const BatchContext& ctx, const Workspace& workspace) override {
    const auto replace = [&](auto& address) { workspace.resolve(address); };
    for (size_t i = 0; i < tasks_.size(); ++i) {
      Task& task = tasks_[i];
      if (places_[i].output >= 0)
        task.out = ctx.address(places_[i].output, places_[i].sample, task.out);
      replace(task.in);
      replace(task.out);
      if constexpr (requires { task.for_each_address(replace); }) task.for_each_address(replace);
    }
    return std::as_bytes(std::span<const Task>(tasks_));
  }
  std::vector<Task> tasks_;
  std::vector<Place> places_;
};

// A GPU operator. run() reads no data of its inputs.
class GpuOperator : public Operator {
 public:
  // The state that run() adds to.
  virtual std::unique_ptr<BatchState> make_tasks(BatchContext& ctx) const = 0;
  // Queues the work; outputs have memory now. By default, `tasks` is a TaskBatch.
  virtual void launch(BatchContext& ctx, BatchState& tasks) const {
    static_cast<TaskBatch&>(tasks).launch(ctx);
  }
};

// One whose work is a `Steps`, which derives from TaskBatch.
template <class Steps>
class StepsOperator : public GpuOperator {
 public:
  // Looks at the shapes of all samples of the batch, before run() is called for any of them.
  // Corresponds to prepare_batch() of a CPU operator.
  virtual std::unique_ptr<BatchState> inspect_batch(BatchContext& /*ctx*/) const { return nullptr; }
  std::unique_ptr<BatchState> make_tasks(BatchContext& ctx) const override {
    auto steps = std::make_unique<Steps>();
    steps->set_inspection(inspect_batch(ctx));
    return steps;
  }

 protected:
  static Steps& steps(const SampleContext& ctx) { return ctx.batch_state<Steps>(); }
  // What inspect_batch() returned.
  template <class State>
  static const State& inspection(const SampleContext& ctx) {
    return steps(ctx).template inspection<State>();
  }
};

template <class K>
struct SingleStep final : TaskBatch {
  Tasks<K> tasks{*this};
};
// One whose work is one launch of K.
template <class K>
class KernelOperator : public StepsOperator<SingleStep<K>> {
 public:
  using Task = typename K::Task;

 protected:
  static Tasks<K>& tasks(const SampleContext& ctx) {
    return ctx.batch_state<SingleStep<K>>().tasks;
  }
  static Blob& blob(const SampleContext& ctx) { return ctx.batch_state<SingleStep<K>>().blob; }
};

// A GPU operator whose outputs are views of its inputs. Uses the CPU operator, which reads no data
// either.
template <class CpuOperator>
class ViewOperator final : public GpuOperator {
 public:
  explicit ViewOperator(const OpSpec& spec) : op_(spec) {}
  void run(SampleContext& ctx) const override { op_.run(ctx); }
  std::unique_ptr<BatchState> make_tasks(BatchContext& /*ctx*/) const override {
    return std::make_unique<TaskBatch>();
  }

 private:
  CpuOperator op_;
};

// The batch stage that the executor runs. `op` may be wrapped in a frame loop; `gpu` is the
// GpuOperator inside.
std::unique_ptr<Operator> make_stage(std::unique_ptr<Operator> op, const GpuOperator& gpu);

}  // namespace torchdali::gpu
