// SPDX-License-Identifier: Apache-2.0
#include "executor/chain/gpu_unfused_chain.h"

#include <algorithm>

#include "gpu/copy_axes.h"
#include "gpu/device.h"
#include "gpu/placeholder.h"

namespace torchdali {

// A member as a batch stage. Its outputs are in memory of the chain; those of the last member are
// the outputs of the chain.
class UnfusedChain::Stage final : public BatchContext, private SampleMemory {
 public:
  Stage(UnfusedChain& chain, const GpuMember& member)
      : whole_(chain.batch_),
        member_(member),
        taken_(chain.values_),
        slots_(chain.slots_),
        positions_(chain.samples_),
        is_last_(&member == &chain.members_.back()) {
    seed_ = member.seed;
    seeds_ = whole_.seeds();
    batch_size_ = whole_.batch_size();
    made.resize(taken_.size());
    for (const int k : chain.samples_) samples_.push_back(whole_.index_in_batch(k));
  }

  // The inputs of the next member.
  std::vector<Value> made;

  // Sample k of those that did not fit.
  SampleContext& sample(int k, BatchState& state) override {
    k_ = static_cast<size_t>(k);
    outer_ = &whole_.sample(index_in_whole(k), state);
    own_ = *outer_;
    enter_member(member_, *outer_, slots_, *this, own_);
    slots_[static_cast<size_t>(member_.value)] = taken_[k_].view;
    return own_;
  }
  // Allocates the outputs that are no views.
  std::shared_ptr<void> make_memory() {
    constexpr int64_t kAlign = 64;
    int64_t bytes = 0;
    std::vector<int64_t> begins(made.size());
    for (size_t k = 0; k < made.size(); ++k) {
      begins[k] = bytes;
      if (made[k].input < 0 && gpu::OutputPlaceholder::contains(made[k].view.data))
        bytes += (made[k].view.size_bytes() + kAlign - 1) / kAlign * kAlign;
    }
    auto memory = whole_.device().workspace(bytes);
    for (size_t k = 0; k < made.size(); ++k)
      if (gpu::OutputPlaceholder::contains(made[k].view.data))
        made[k].view.data = static_cast<char*>(memory.get()) + begins[k];
    std::vector<gpu::CopyTask> copies;
    copies.reserve(copies_.size());
    for (const Copy& one : copies_)
      copies.push_back(gpu::make_copy(one.from, moved(one.k, one.to), one.bytes, 1,
                                      gpu::dense_axes(Shape{one.bytes}, 1)));
    gpu::queue_copies(whole_.device(), copies);
    return memory;
  }

  void* address(int i, int index_in_batch, const void* placeholder) const override {
    if (is_last_) return whole_.address(i, index_in_batch, placeholder);
    const auto at = std::lower_bound(samples_.begin(), samples_.end(), index_in_batch);
    return moved(static_cast<size_t>(at - samples_.begin()), placeholder);
  }
  gpu::Device& device() const override { return whole_.device(); }
  bool cancelled() const override { return whole_.cancelled(); }
  uint64_t sample_id(int k) const override { return whole_.sample_id(index_in_whole(k)); }
  std::shared_ptr<const SampleNames> names() const override { return whole_.names(); }
  void set_names(std::shared_ptr<const SampleNames> names) override {
    whole_.set_names(std::move(names));
  }

  // For inputs that are inputs of the chain.
  std::shared_ptr<const void> input_owner(int i) const override {
    return whole_.input_owner(input_of_chain(i));
  }
  const Batch* input_batch(int i) const override { return whole_.input_batch(input_of_chain(i)); }
  bool is_external_on_device(int i) const override {
    return whole_.is_external_on_device(input_of_chain(i));
  }
  // Not used by members of chains, whose outputs the chain makes.
  SampleView& output(int i, int k, DType dtype, const Shape& shape, const Layout& layout) override {
    return whole_.output(i, index_in_whole(k), dtype, shape, layout);
  }
  void make_outputs() override { whole_.make_outputs(); }
  Batch& output_batch(int i) override { return whole_.output_batch(i); }
  void adopt_output(int i) override { whole_.adopt_output(i); }

 private:
  void* moved(size_t k, const void* placeholder) const {
    return made[k].view.as<char>() + gpu::OutputPlaceholder::offset(placeholder);
  }
  int index_in_whole(int k) const { return positions_[static_cast<size_t>(k)]; }
  int input_of_chain(int i) const { return member_.inputs[static_cast<size_t>(i)]; }

  void allocate_output(int /*output*/, SampleView& view) override {
    (void)checked_size_bytes(view);
    if (is_last_) view.data = outer_->output(0, view.dtype, view.shape, view.layout).data;
    else view.data = gpu::OutputPlaceholder::at();
    made[k_] = {.view = view, .input = -1};
  }
  void alias_output(int /*output*/, int input) override {
    const int from = input_of_chain(input);
    Value& value = made[k_];
    value = {.view = slots_[static_cast<size_t>(member_.made)],
             .input = from == kChainValue ? taken_[k_].input : from};
    if (!is_last_) return;
    const SampleView view = value.view;
    if (value.input >= 0) {
      outer_->share_input(0, value.input, view);
      return;
    }
    void* to = outer_->output(0, view.dtype, view.shape, view.layout).data;
    outer_->copy_to_output(0, to, view.data, view.size_bytes());
  }
  void copy_to_output(int /*output*/, void* to, const void* from, int64_t bytes) override {
    if (is_last_) outer_->copy_to_output(0, to, from, bytes);
    else copies_.push_back({k_, to, from, bytes});
  }
  void* allocate_scratch(size_t bytes) override { return outer_->scratch<std::byte>(bytes).data(); }

  struct Copy {  // to a placeholder
    size_t k;
    void* to;
    const void* from;
    int64_t bytes;
  };
  BatchContext& whole_;
  const GpuMember& member_;
  const std::vector<Value>& taken_;
  std::vector<SampleView>& slots_;
  const std::vector<int>& positions_;  // the numbers k of these samples in whole_
  const bool is_last_;
  std::vector<Copy> copies_;
  // The current sample.
  size_t k_ = 0;
  SampleContext* outer_ = nullptr;
  SampleContext own_;
};

UnfusedChain::UnfusedChain(const std::vector<GpuMember>& members, int num_values,
                           BatchContext& batch, const std::vector<int>& samples)
    : members_(members), batch_(batch), samples_(samples), slots_(static_cast<size_t>(num_values)) {
  for (const int k : samples) values_.push_back({.view = batch.input(0, k), .input = 0});
}
UnfusedChain::~UnfusedChain() = default;

void UnfusedChain::run() {
  for (size_t m = 0; m < members_.size(); ++m) run_member(m);
}

void UnfusedChain::run_member(size_t m) {
  const GpuMember& member = members_[m];
  const crash::PartScope scope(member.task);
  auto stage = std::make_unique<Stage>(*this, member);
  auto tasks = member.gpu->make_tasks(*stage);
  for (int k = 0; k < stage->size(); ++k) {
    try {
      member.op->run(stage->sample(k, *tasks));
    } catch (Error& e) {
      attribute_error(member, e);
      if (e.sample() < 0) e.set_sample(stage->index_in_batch(k));
      throw;
    }
  }
  if (m + 1 == members_.size()) {
    last_ = std::move(stage);
    last_tasks_ = std::move(tasks);
    return;
  }
  memory_.push_back(stage->make_memory());
  member.gpu->launch(*stage, *tasks);
  values_ = std::move(stage->made);
}

void UnfusedChain::launch_last() { members_.back().gpu->launch(*last_, *last_tasks_); }

}  // namespace torchdali
