// SPDX-License-Identifier: Apache-2.0
#include "executor/chain/frame_loop.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/known_layout.h"
#include "executor/chain/frame_memory.h"

namespace torchdali {

namespace {

bool is_sequence(const SampleView& view) {
  return !view.layout.empty() && view.layout[0] == 'F' && view.shape.ndim() > 0;
}

// Describes one frame of a sequence; has the data pointer of the sequence.
SampleView frame_of(const SampleView& sequence) {
  SampleView frame = sequence;
  frame.shape = Shape(sequence.shape.span().subspan(1));
  frame.layout = Layout(sequence.layout.str().substr(1));
  // fn.per_frame() calls unnamed axes '*'.
  if (frame.layout.str().find_first_not_of('*') == std::string_view::npos) frame.layout = {};
  return frame;
}

class FrameLoop final : public Operator {
 public:
  FrameLoop(std::unique_ptr<Operator> op, const OpSpec& spec)
      : op_(std::move(op)),
        each_frame_(spec.schema->each_frame),
        repeats_inputs_(spec.schema->repeats_inputs) {
    for (const auto& [name, slot] : spec.tensors) {
      if (static_cast<size_t>(slot) >= arguments_.size())
        arguments_.resize(static_cast<size_t>(slot) + 1);
      arguments_[static_cast<size_t>(slot)] = name;
    }
    for (const InputSchema& input : spec.schema->inputs) {
      known_.emplace_back(spec, static_cast<int>(inputs_.size()));
      inputs_.push_back(input.name);
      auto& layouts = layouts_.emplace_back();
      for (const std::string& layout : input.layouts)
        layouts.emplace_back(std::string_view(layout));
    }
  }

  void run(SampleContext& ctx) const override {
    const int arguments = static_cast<int>(arguments_.size());
    bool per_frame = false;
    for (int i = 0; i < arguments; ++i) per_frame |= is_sequence(ctx.argument_input(i));
    if (!per_frame && !each_frame_) {
      op_->run(ctx);
      return;
    }
    frame_values(ctx, per_frame);
  }

 private:
  void frame_values(SampleContext& ctx, bool per_frame) const {
    // The inputs, arguments and outputs of one frame.
    const int inputs = ctx.num_inputs(), arguments = static_cast<int>(arguments_.size());
    const size_t num_outputs = ctx.num_outputs();
    std::vector<SampleView> values(static_cast<size_t>(inputs + arguments) + num_outputs);
    std::vector<int64_t> steps(values.size(), 0);  // bytes from frame to frame
    int64_t frames = -1;
    for (int i = 0; i < inputs; ++i) {
      SampleView view = ctx.input(i);
      if (view.layout.empty()) view.layout = implied_layout(i, view.shape);
      const bool sequence = is_sequence(view);
      add(sequence, view, values[static_cast<size_t>(i)], steps[static_cast<size_t>(i)]);
      if (!sequence) continue;
      TORCHDALI_CHECK(frames < 0 || frames == view.shape[0], "input `", input_name(i), "` has ",
                      view.shape[0], " frames, and an input before it ", frames);
      frames = view.shape[0];
    }
    TORCHDALI_CHECK(
        frames >= 0 || inputs == 0 || !per_frame || repeats_inputs_,
        "an argument has a value for each frame, and no input is a sequence",
        to_fix("leave out fn.per_frame(), or give a sequence (a layout such as \"FHWC\")"));
    const bool by_arguments = frames < 0;
    for (int a = 0; a < arguments; ++a) {
      const SampleView& view = ctx.argument_input(a);
      const size_t slot = static_cast<size_t>(inputs) + static_cast<size_t>(a);
      const bool sequence = is_sequence(view);
      add(sequence, view, values[slot], steps[slot]);
      if (!sequence) continue;
      if (frames < 0 || (by_arguments && frames == 1)) frames = view.shape[0];
      TORCHDALI_CHECK(view.shape[0] == frames || view.shape[0] == 1, "argument `",
                      arguments_[static_cast<size_t>(a)], "` has values for ", view.shape[0],
                      " frames, and the sequence has ", frames);
      if (view.shape[0] == 1) steps[slot] = 0;
    }
    if (frames < 0) {
      op_->run(ctx);
      return;
    }
    TORCHDALI_CHECK(frames > 0, "a sequence without frames");
    std::vector<int> slots(values.size());
    for (size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<int>(i);
    FrameMemory memory(ctx, frames, num_outputs);
    SampleContext& frame = memory.frame(values.data(), slots, inputs, arguments);
    for (int64_t f = 0; f < frames; ++f) {
      memory.begin(f);
      if (f > 0)
        for (size_t i = 0; i < values.size(); ++i)
          if (steps[i] != 0) values[i].data = static_cast<char*>(values[i].data) + steps[i];
      op_->run(frame);
      // Frames without data are equal, and there may be 2^40 of them.
      const auto first_output = values.begin() + (inputs + arguments);
      if (std::all_of(steps.begin(), steps.end(), [](int64_t bytes) { return bytes == 0; }) &&
          std::all_of(first_output, values.end(),
                      [](const SampleView& made) { return made.volume() == 0; }))
        return;
    }
  }

  static void add(bool sequence, const SampleView& view, SampleView& value, int64_t& step) {
    value = sequence ? frame_of(view) : view;
    step = sequence ? value.size_bytes() : 0;
  }
  // The layout of data without one. Inputs that take any layout have no default.
  Layout implied_layout(int input, const Shape& shape) const {
    const auto i = static_cast<size_t>(input);
    if (i >= layouts_.size() || layouts_[i].empty()) return {};
    const Layout known = known_[i](shape, {});
    if (!known.empty()) return known;
    for (const Layout& layout : layouts_[i])
      if (layout.size() == shape.ndim()) return layout;
    return {};
  }
  const std::string& input_name(int input) const {
    return inputs_[std::min(static_cast<size_t>(input), inputs_.size() - 1)];
  }

  std::unique_ptr<Operator> op_;
  bool each_frame_, repeats_inputs_;
  std::vector<std::string> arguments_, inputs_;  // names
  std::vector<std::vector<Layout>> layouts_;     // the layouts that each input may have
  std::vector<KnownLayout> known_;               // of each input
};

}  // namespace

std::unique_ptr<Operator> over_frames(std::unique_ptr<Operator> op, const OpSpec& spec) {
  const bool can_loop =
      spec.schema->each_frame || (spec.schema->sequences && !spec.tensors.empty());
  if (!can_loop || op->batch_traits()) return op;
  return std::make_unique<FrameLoop>(std::move(op), spec);
}

}  // namespace torchdali
