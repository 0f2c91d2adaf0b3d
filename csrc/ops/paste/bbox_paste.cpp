// SPDX-License-Identifier: Apache-2.0
// fn.bbox_paste: boxes on an image that fn.paste put on a canvas.
#include "core/argument.h"
#include "core/operator.h"

namespace torchdali {
namespace {

class BBoxPaste final : public Operator {
 public:
  explicit BBoxPaste(const OpSpec& spec)
      : ltrb_(spec.get<bool>("ltrb")),
        ratio_(spec, "ratio"),
        x_(spec, "paste_x"),
        y_(spec, "paste_y") {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "boxes are float32, got ",
                         dtype_name(in.dtype), to_fix("use fn.cast"));
    TORCHDALI_CHECK(in.volume() % 4 == 0, "boxes have 4 values each, got a tensor of shape ",
                    in.shape);
    const SampleView& out = ctx.output(0, DType::kFloat, in.shape);
    const float ratio = ratio_(ctx);
    const float scale = 1.0f / ratio;
    // What is free of the canvas, as a fraction of it; no position is beyond its end.
    const float room = (ratio - 1.0f) / ratio;
    const auto shifted = [&](float position) {
      return position * room > room ? 1.0f - scale : position * room;
    };
    const float shift[2] = {shifted(x_(ctx)), shifted(y_(ctx))};
    const float* from = in.as<const float>();
    float* to = out.as<float>();
    for (int64_t i = 0; i < in.volume(); ++i) {
      const bool size = !ltrb_ && i % 4 >= 2;
      to[i] = from[i] * scale + (size ? 0.0f : shift[i % 2]);
    }
  }

 private:
  bool ltrb_;
  Arg<float> ratio_, x_, y_;
};

TORCHDALI_OPERATOR("bbox_paste")
    .doc(
        "Moves and scales boxes as fn.paste does with the image that they belong to. Boxes have 4 "
        "values in fractions of the image: left, top, width and height, or with `ltrb` left, top, "
        "right and bottom.")
    .input("boxes", "float32, 4 values a box.")
    .output("pasted", "In fractions of the canvas; the shape of the input, without a layout.")
    .required_arg("ratio", ArgType::kFloat, "Size of the canvas over that of the image.",
                  Arity::kPerSample)
    .arg("ltrb", false, "Boxes are given by two corners instead of a corner and their size.")
    .arg("paste_x", 0.5f, "Horizontal position of the image, 0 (left) to 1 (right).",
         Arity::kPerSample)
    .arg("paste_y", 0.5f, "Vertical position of the image, 0 (top) to 1 (bottom).",
         Arity::kPerSample)
    .cpu<BBoxPaste>();

}  // namespace
}  // namespace torchdali
