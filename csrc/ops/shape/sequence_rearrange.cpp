// SPDX-License-Identifier: Apache-2.0
// fn.sequence_rearrange: reorders the frames of a sequence. A view if the frames stay adjacent.
#include <vector>

#include "core/argument.h"
#include "core/operator.h"
#include "gpu/copy_axes.h"
#include "gpu/operator.h"
#include "kernels/window/copy_gpu.h"

namespace torchdali {
namespace {

// How frames are copied on the CPU, and on the GPU with a task for each frame.
class Rearrange : public Operator {
 protected:
  static void copy_frame(SampleContext& ctx, const SampleView& /*out*/, char* to, const char* from,
                         int64_t bytes) {
    ctx.copy_to_output(0, to, from, bytes);
  }
};
class RearrangeGpu : public gpu::KernelOperator<gpu::CopyKernel> {
 protected:
  static void copy_frame(SampleContext& ctx, const SampleView& out, char* to, const char* from,
                         int64_t bytes) {
    const int64_t size = itemsize(out.dtype);
    const auto axes = gpu::dense_axes(Shape{bytes / size}, size);
    tasks(ctx).add(ctx, gpu::make_copy(from, to, out.size_bytes(), size, axes));
  }
};

template <class Base>
class SequenceRearrange final : public Base {
 public:
  explicit SequenceRearrange(const OpSpec& spec) : new_order_(spec, "new_order") {
    TORCHDALI_CHECK(new_order_.is_tensor() || !spec.get<std::vector<int64_t>>("new_order").empty(),
                    "`new_order` is empty");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kLayout, in.layout.empty() || in.layout[0] == 'F', "the layout ",
                         in.layout, " does not begin with \"F\", the axis of the frames");
    TORCHDALI_CHECK(in.shape.ndim() > 1, "a sequence has at least 2 dimensions, got a tensor of ",
                    "shape ", in.shape);
    static thread_local std::vector<int64_t> buffer;
    const auto order = new_order_(ctx, buffer);
    TORCHDALI_CHECK(!order.empty(), "`new_order` is empty");
    bool neighbors = true;
    for (size_t i = 0; i < order.size(); ++i) {
      TORCHDALI_CHECK_KIND(kIndex, order[i] >= 0 && order[i] < in.shape[0], "`new_order` has ",
                           order[i], ", and the sequence ", in.shape[0], " frames");
      neighbors &= order[i] == order[0] + static_cast<int64_t>(i);
    }
    Shape shape = in.shape;
    shape[0] = static_cast<int64_t>(order.size());
    const int64_t frame = in.size_bytes() / in.shape[0];
    const char* from = in.as<const char>();
    if (neighbors) {
      ctx.share_input(0, 0,
                      {.data = in.as<char>() + order[0] * frame,
                       .dtype = in.dtype,
                       .shape = shape,
                       .layout = in.layout});
      return;
    }
    const SampleView& out = ctx.output(0, in.dtype, shape, in.layout);
    char* to = out.as<char>();
    if (frame == 0) return;
    for (const int64_t index : order) {
      Base::copy_frame(ctx, out, to, from + index * frame, frame);
      to += frame;
    }
  }

 private:
  ListArg<int64_t> new_order_;
};

TORCHDALI_OPERATOR("sequence_rearrange")
    .doc("Reorders the frames of a sequence; frames may be repeated.")
    .input("sequence", "A sequence: at least two axes, the first of which is that of the frames.")
    .output("rearranged", "As many frames as `new_order` has numbers.")
    .required_arg("new_order", ArgType::kIntVec,
                  "The index of the input frame at each position, from 0.", Arity::kPerSample)
    .sequences()
    .cpu<SequenceRearrange<Rearrange>>()
    .gpu<SequenceRearrange<RearrangeGpu>>();

}  // namespace
}  // namespace torchdali
