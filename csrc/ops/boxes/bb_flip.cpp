// SPDX-License-Identifier: Apache-2.0
// fn.bb_flip: mirrors bounding boxes.
#include "core/operator.h"

namespace torchdali {
namespace {

class BbFlip final : public Operator {
 public:
  explicit BbFlip(const OpSpec& spec)
      : horizontal_(spec, "horizontal"),
        vertical_(spec, "vertical"),
        ltrb_(spec.get<bool>("ltrb")) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `boxes` is ",
                         dtype_name(in.dtype), ", expected float32");
    const int64_t count = in.volume();
    TORCHDALI_CHECK(
        count % 4 == 0 && (in.shape.ndim() < 2 || in.shape[in.shape.ndim() - 1] == 4 || count == 0),
        "input `boxes` has shape ", in.shape, ", expected boxes of 4 coordinates, (boxes, 4)");
    const bool flips[2] = {horizontal_(ctx) != 0, vertical_(ctx) != 0};
    const float* from = in.as<const float>();
    float* to = ctx.output(0, DType::kFloat, in.shape).as<float>();
    for (int64_t i = 0; i < count; i += 4) {
      for (int axis = 0; axis < 2; ++axis) {
        float begin = from[i + axis], end = from[i + axis + 2];
        if (!ltrb_) end += begin;
        if (flips[axis]) {
          const float mirrored = 1 - begin;
          begin = 1 - end;
          end = mirrored;
        }
        to[i + axis] = begin;
        to[i + axis + 2] = ltrb_ ? end : end - begin;
      }
    }
  }

 private:
  Arg<int> horizontal_, vertical_;
  bool ltrb_;
};

TORCHDALI_OPERATOR("bb_flip")
    .doc("Mirrors bounding boxes in an image whose width and height are 1.")
    .input("boxes",
           "Boxes, float32, shape (boxes, 4): left, top, width, height, or with `ltrb` left, top, "
           "right, bottom; fractions of the image's size.")
    .output("flipped", "Shape of the input, float32; without layout.")
    .arg("ltrb", false, "Boxes are left, top, right, bottom.")
    .arg("horizontal", 1, "Mirror left to right where not 0.", Arity::kPerSample)
    .arg("vertical", 0, "Mirror top to bottom where not 0.", Arity::kPerSample)
    .cpu<BbFlip>();

}  // namespace
}  // namespace torchdali
