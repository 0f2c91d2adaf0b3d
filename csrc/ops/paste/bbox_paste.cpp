// SPDX-License-Identifier: Apache-2.0
// fn.bbox_paste: moves and scales the boxes of an image that fn.paste puts on a canvas.
#include "core/argument.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/boxes/paste_boxes.h"
#include "kernels/boxes/paste_boxes_gpu.h"

namespace torchdali {
namespace {

class BBoxPasteArgs {
 public:
  explicit BBoxPasteArgs(const OpSpec& spec)
      : ltrb_(spec.get<bool>("ltrb")),
        ratio_(spec, "ratio"),
        x_(spec, "paste_x"),
        y_(spec, "paste_y") {}

  // Makes the output.
  kernels::PastedBoxes operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "boxes are float32, got ",
                         dtype_name(in.dtype), to_fix("use fn.cast"));
    TORCHDALI_CHECK(in.volume() % 4 == 0, "boxes have 4 values each, got a tensor of shape ",
                    in.shape);
    ctx.output(0, DType::kFloat, in.shape);
    const float ratio = ratio_(ctx);
    const float scale = 1.0f / ratio;
    // The part of the canvas that the image leaves free. The image does not go past its end.
    const float room = (ratio - 1.0f) / ratio;
    const auto shifted = [&](float position) {
      return position * room > room ? 1.0f - scale : position * room;
    };
    return {.scale = scale, .shift = {shifted(x_(ctx)), shifted(y_(ctx))}, .are_ltrb = ltrb_};
  }

 private:
  bool ltrb_;
  Arg<float> ratio_, x_, y_;
};

class BBoxPaste final : public Operator {
 public:
  explicit BBoxPaste(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const kernels::PastedBoxes pasted = args_(ctx);
    const float* from = ctx.input(0).as<const float>();
    const SampleView& out = ctx.output_view(0);
    for (int64_t i = 0; i < out.volume(); ++i) out.as<float>()[i] = pasted(i, from[i]);
  }

 private:
  BBoxPasteArgs args_;
};

class BBoxPasteGpu final : public gpu::KernelOperator<gpu::PasteBoxesKernel> {
 public:
  explicit BBoxPasteGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    Task task;
    task.pasted = args_(ctx);
    const SampleView& out = ctx.output_view(0);
    task.in = ctx.input(0).data;
    task.out = out.data;
    task.size = out.volume();
    tasks(ctx).add(ctx, task);
  }

 private:
  BBoxPasteArgs args_;
};

TORCHDALI_OPERATOR("bbox_paste")
    .doc(
        "Moves and scales boxes as fn.paste moves and scales their image. A box has 4 values, in "
        "fractions of the image: left, top, width and height, or with `ltrb` left, top, right and "
        "bottom.")
    .input("boxes", "float32, 4 values per box.")
    .output("pasted", "In fractions of the canvas; the shape of the input, without a layout.")
    .required_arg("ratio", ArgType::kFloat, "Size of the canvas over that of the image.",
                  Arity::kPerSample)
    .arg("ltrb", false, "Boxes are two corners instead of a corner and a size.")
    .arg("paste_x", 0.5f, "Horizontal position of the image, 0 (left) to 1 (right).",
         Arity::kPerSample)
    .arg("paste_y", 0.5f, "Vertical position of the image, 0 (top) to 1 (bottom).",
         Arity::kPerSample)
    .cpu<BBoxPaste>()
    .gpu<BBoxPasteGpu>();

}  // namespace
}  // namespace torchdali
