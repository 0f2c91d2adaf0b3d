// SPDX-License-Identifier: Apache-2.0
#include "executor/chain/gpu_audio_chain.h"

#include <utility>
#include <vector>

#include "core/batch_context.h"
#include "executor/chain/gpu_unfused_chain.h"
#include "gpu/audio_chain.h"
#include "gpu/audio_chain_tasks.h"
#include "gpu/device.h"

namespace torchdali {
namespace {

// Describes the samples of one batch as tasks, if they fit.
class AudioTaskBuilder final : private SampleMemory {
 public:
  AudioTaskBuilder(const std::vector<GpuMember>& members, int num_values, BatchContext& batch)
      : members_(members), batch_(batch), values_(static_cast<size_t>(num_values)) {}

  // Adds sample k; returns false if it does not fit. A sample whose planning fails does not fit, so
  // that its error is the same as without a chain.
  bool add(int k) {
    outer_ = &batch_.sample(k, tasks_);
    gpu::SpectrogramTask task;
    SampleView made = outer_->input(0);
    try {
      for (const GpuMember& member : members_) {
        SampleContext ctx = *outer_;
        enter_member(member, *outer_, values_, *this, ctx);
        if (has_frames(ctx, member)) return false;
        values_[static_cast<size_t>(member.value)] = made;
        if (!describe(member, ctx, task)) return false;
        made = features_of(task);
      }
      task.out = outer_->output(0, made.dtype, made.shape, made.layout).data;
    } catch (const Error&) {
      return false;
    }
    tasks_.add(*outer_, task);
    return true;
  }
  void launch() { tasks_.launch(batch_); }

 private:
  bool describe(const GpuMember& member, const SampleContext& ctx, gpu::SpectrogramTask& task) {
    const bool is_first = &member == &members_.front();
    if (is_first != (member.makes_frames != nullptr)) return false;
    if (is_first) return member.makes_frames->describe_frames(ctx, tasks_.blob, task);
    return member.filters_frames != nullptr &&
           member.filters_frames->describe_filter(ctx, tasks_.blob, task);
  }
  static SampleView features_of(const gpu::SpectrogramTask& task) {
    const int64_t rows = task.rows;
    return {.data = nullptr,
            .dtype = DType::kFloat,
            .shape = task.time_first ? Shape{task.frames, rows} : Shape{rows, task.frames},
            .layout = task.time_first ? "tf" : "ft"};
  }

  void allocate_output(int /*output*/, SampleView& /*view*/) override {
    TORCHDALI_ASSERT(false, "a member of an audio chain was described and made an output");
  }
  void alias_output(int /*output*/, int input) override {
    TORCHDALI_ASSERT(false, "a member of a chain was described and made a view of input ", input);
  }
  void* allocate_scratch(size_t bytes) override { return outer_->scratch<std::byte>(bytes).data(); }

  const std::vector<GpuMember>& members_;
  BatchContext& batch_;
  gpu::AudioChainTasks tasks_;
  std::vector<SampleView> values_;
  SampleContext* outer_ = nullptr;  // of the current sample
};

class GpuAudioChain final : public Operator {
 public:
  GpuAudioChain(const Node& node, const OpSpec& spec) {
    PreparedMembers prepared = prepare_members(node, spec);
    num_values_ = prepared.num_values;
    for (PreparedMember& m : prepared.members) members_.emplace_back(std::move(m));
  }
  std::optional<BatchTraits> batch_traits() const override {
    return BatchTraits{.ordered = true, .makes_outputs = true, .on_device = true};
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    const gpu::Device::Scope scope(ctx.device());
    AudioTaskBuilder fitting(members_, num_values_, ctx);
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

std::unique_ptr<Operator> make_gpu_audio_chain(const Node& node, const OpSpec& spec) {
  return std::make_unique<GpuAudioChain>(node, spec);
}

}  // namespace torchdali
