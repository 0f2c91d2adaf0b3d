// SPDX-License-Identifier: Apache-2.0
// The memory of a sequence whose frames are computed one at a time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/operator.h"

namespace torchdali {

inline Layout sequence_layout(const SampleView& frame) {
  const std::string axes = frame.layout.empty()
                               ? std::string(static_cast<size_t>(frame.shape.ndim()), '*')
                               : std::string(frame.layout.str());
  return Layout("F" + axes);
}

// The memory of the frames' outputs, which the first frame that runs allocates for all. The frames
// share scratch memory.
class FrameMemory final : public SampleMemory {
 public:
  FrameMemory(SampleContext& whole, int64_t frames, size_t num_outputs)
      : whole_(whole), frame_(whole), frames_(frames), outputs_(num_outputs) {}

  // The context of a frame. Arguments as in SampleContext::use().
  SampleContext& frame(SampleView* values, std::span<const int> slots, int inputs, int arguments) {
    frame_.use(values, slots, inputs, arguments, *this);
    return frame_;
  }
  void begin(int64_t index) {
    index_ = index;
    used_ = 0;
  }
  // The same, without the memory of the frames before.
  void begin_after_others(int64_t index) { index_ = index; }
  void allocate_output(int output, SampleView& view) override {
    SampleView& made = outputs_[static_cast<size_t>(output)];
    if (made.dtype == DType::kNone) {
      Shape shape{frames_};
      for (const int64_t extent : view.shape) shape.push_back(extent);
      made = view;
      made.data = whole_.output(output, view.dtype, shape, sequence_layout(view)).data;
    }
    TORCHDALI_CHECK(made.dtype == view.dtype && made.shape == view.shape, "frame ", index_,
                    " of the sequence would have shape ", view.shape, " of ",
                    dtype_name(view.dtype), ", and frame 0 has ", made.shape, " of ",
                    dtype_name(made.dtype),
                    to_fix("give the frames one size, or values that do not change it"));
    view.data = static_cast<char*>(made.data) + index_ * view.size_bytes();
  }
  void alias_output(int output, int /*input*/) override {
    SampleView& view = frame_.output_view(output);
    const void* from = view.data;
    allocate_output(output, view);
    whole_.copy_to_output(output, view.data, from, view.size_bytes());
  }
  void* allocate_scratch(size_t bytes) override {
    if (used_ == scratch_.size()) scratch_.emplace_back();
    std::span<char>& block = scratch_[used_++];
    if (block.data() == nullptr || block.size() < bytes) block = whole_.scratch<char>(bytes);
    return block.data();
  }

 private:
  SampleContext& whole_;
  SampleContext frame_;
  int64_t frames_, index_ = 0;
  std::vector<SampleView> outputs_;  // the outputs of frame 0
  std::vector<std::span<char>> scratch_;
  size_t used_ = 0;
};

}  // namespace torchdali
