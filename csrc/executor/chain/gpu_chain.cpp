// SPDX-License-Identifier: Apache-2.0
#include "executor/chain/gpu_chain.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/batch_context.h"
#include "executor/chain/gpu_unfused_chain.h"
#include "gpu/chain_tasks.h"
#include "gpu/device.h"

namespace torchdali {
namespace {

bool is_image(const SampleView& view) {
  return view.layout.str() == "HWC" && view.shape.ndim() == 3 && view.volume() > 0;
}
// Whether float represents all values of the type.
bool is_exact(DType t) {
  return t == DType::kFloat || t == DType::kFloat16 || t == DType::kBool ||
         (itemsize(t) <= 2 && !is_floating(t));
}

// The distance from one position of an axis to the next, and the offset of the first.
struct AxisStride {
  int64_t step, offset;
  AxisStride(const ImagePart::Axis& axis, int64_t stride)
      : step(axis.mirror ? -stride : stride),
        offset((axis.mirror ? axis.end() - 1 : axis.begin) * stride) {}
};

// Describes the samples of one batch as tasks of the chain kernel, if they fit.
class ChainTaskBuilder final : private SampleMemory {
 public:
  ChainTaskBuilder(const std::vector<GpuMember>& members, int num_values, BatchContext& batch)
      : members_(members),
        batch_(batch),
        values_(static_cast<size_t>(num_values)),
        contexts_(members.size()) {}

  // Adds sample k; returns false if it does not fit. A sample whose planning fails does not fit, so
  // that its error is the same as without a chain.
  bool add(int k) {
    outer_ = &batch_.sample(k, tasks_);
    resampling_ = nullptr;
    steps_.clear();
    image_ = outer_->input(0);
    image_.data = nullptr;
    if (!is_image(image_)) return false;
    window_ = ImagePart::whole(image_.shape);
    try {
      for (size_t m = 0; m < members_.size(); ++m)
        if (!add_member(m)) return false;
      return is_image(image_) && add_task();
    } catch (const Error&) {
      return false;
    }
  }
  void launch() { tasks_.launch(batch_); }

 private:
  bool add_member(size_t m) {
    const GpuMember& member = members_[m];
    SampleContext& ctx = contexts_[m];
    ctx = *outer_;
    enter_member(member, *outer_, values_, *this, ctx);
    if (!is_image(image_) || has_frames(ctx, member)) return false;
    values_[static_cast<size_t>(member.value)] = image_;
    if (member.role == ImageRole::kResampler) {
      if (resampling_ != nullptr || !steps_.empty()) return false;
      resampling_ = member.resamples->plan(ctx, image_);
      resampler_ = m;
      image_ = resampling_->image();
      return true;
    }
    const bool computes =
        member.role == ImageRole::kPixelwise || member.role == ImageRole::kNormalizer;
    if (computes && !is_exact(image_.dtype)) return false;
    if (member.role == ImageRole::kPixelwise) {
      const gpu::PixelStep& step = steps_.emplace_back(member.maps->step(ctx, tasks_.blob));
      image_.dtype = step.dtype;
      image_.shape[2] = step.channels;
      return true;
    }
    const std::optional<ImagePart> part = member.takes->part(ctx, image_);
    if (!part) return false;
    if (resampling_ != nullptr) resampling_->narrow(*part);
    else window_ = window_.of(*part);
    image_.shape[0] = part->rows.extent;
    image_.shape[1] = part->columns.extent;
    return true;
  }

  bool add_task() {
    const SampleView& in = outer_->input(0);
    const int64_t channels = in.shape[2];
    const AxisStride rows(window_.rows, in.shape[1] * channels), columns(window_.columns, channels);
    gpu::ChainTask task;
    task.in = in.as<const char>() + (rows.offset + columns.offset) * itemsize(in.dtype);
    if (resampling_ != nullptr) {
      task.resampled = true;
      if (!resampling_->describe(contexts_[resampler_], tasks_.blob, task, rows.step)) return false;
    } else {
      if (!is_exact(in.dtype)) return false;
      task.in_dtype = task.out_dtype = in.dtype;
      task.channels = channels;
      task.axes[1] = {.out = window_.rows.extent, .in_stride = rows.step};
      task.axes[2] = {.out = window_.columns.extent, .in_stride = columns.step};
      task.size = window_.rows.extent *
                  ((window_.columns.extent + gpu::kResampleRun - 1) / gpu::kResampleRun);
    }
    task.num_steps = static_cast<int>(steps_.size());
    task.steps = tasks_.blob.keep(std::span<const gpu::PixelStep>(steps_));
    if (const auto* normalizes = members_.back().normalizes) {
      task.normalized = true;
      normalizes->finish(contexts_.back(), image_, tasks_.blob, task);
    } else {
      const SampleView& out = outer_->output(0, image_.dtype, image_.shape, image_.layout);
      task.out = out.data;
      task.final_dtype = out.dtype;
      task.row_stride = out.shape[1] * out.shape[2];
      task.column_stride = out.shape[2];
      task.channel_stride = 1;
    }
    if (resampling_ != nullptr && resampling_->by_strips()) tasks_.strips.add(*outer_, task);
    else tasks_.boxes.add(*outer_, task);
    return true;
  }

  void allocate_output(int /*output*/, SampleView& view) override {
    view.data = outer_->output(0, view.dtype, view.shape, view.layout).data;
  }
  void alias_output(int /*output*/, int input) override {
    TORCHDALI_ASSERT(false, "a member of a chain was planned and made a view of input ", input);
  }
  void* allocate_scratch(size_t bytes) override { return outer_->scratch<std::byte>(bytes).data(); }

  const std::vector<GpuMember>& members_;
  BatchContext& batch_;
  gpu::ChainTasks tasks_;
  std::vector<SampleView> values_;
  std::vector<SampleContext> contexts_;
  // The current sample.
  SampleContext* outer_ = nullptr;
  SampleView image_;  // the result of the last member that was added; has no data
  ImagePart window_;  // the part of the input that is used
  std::unique_ptr<gpu::ChainResampling> resampling_;  // of the window
  size_t resampler_ = 0;
  std::vector<gpu::PixelStep> steps_;
};

class GpuChain final : public Operator {
 public:
  GpuChain(const Node& node, const OpSpec& spec) {
    PreparedMembers prepared = prepare_members(node, spec);
    num_values_ = prepared.num_values;
    for (PreparedMember& m : prepared.members) members_.emplace_back(std::move(m));
  }
  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = true, .makes_outputs = true, .on_device = true};
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    const gpu::Device::Scope scope(ctx.device());
    ChainTaskBuilder fitting(members_, num_values_, ctx);
    std::vector<int> others;
    for (int k = 0; k < ctx.size(); ++k)
      if (!fitting.add(k)) others.push_back(k);
    UnfusedChain unfused(members_, num_values_, ctx, others);
    if (!others.empty()) unfused.run();
    ctx.make_outputs();
    if (!others.empty()) unfused.launch_last();
    fitting.launch();
    return nullptr;
  }
  void run(SampleContext& /*ctx*/) const override {}

 private:
  std::vector<GpuMember> members_;
  int num_values_ = 0;
};

}  // namespace

std::unique_ptr<Operator> make_gpu_chain(const Node& node, const OpSpec& spec) {
  return std::make_unique<GpuChain>(node, spec);
}

}  // namespace torchdali
