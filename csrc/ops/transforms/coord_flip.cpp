// SPDX-License-Identifier: Apache-2.0
// fn.coord_flip: mirrors the coordinates of points.
#include "core/operator.h"

namespace torchdali {
namespace {

class CoordFlip final : public Operator {
 public:
  explicit CoordFlip(const OpSpec& spec)
      : layout_(spec.get<Layout>("layout")),
        axes_{{{'x', {spec, "flip_x"}, {spec, "center_x"}},
               {'y', {spec, "flip_y"}, {spec, "center_y"}},
               {'z', {spec, "flip_z"}, {spec, "center_z"}}}} {
    for (int i = 0; i < layout_.size(); ++i) {
      const bool known = layout_[i] == 'x' || layout_[i] == 'y' || layout_[i] == 'z';
      TORCHDALI_CHECK_KIND(kLayout, known && layout_.find(layout_[i]) == i, "`layout` is ", layout_,
                           ", expected an order of \"x\", \"xy\" or \"xyz\"");
    }
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `points` is ",
                         dtype_name(in.dtype), ", expected float32");
    TORCHDALI_CHECK(in.shape.ndim() == 2 && in.shape[1] <= 3, "input `points` has shape ", in.shape,
                    ", expected (points, 1 to 3 coordinates)");
    const int ndim = static_cast<int>(in.shape[1]);
    TORCHDALI_CHECK(layout_.empty() || layout_.size() >= ndim, "`layout` is ", layout_,
                    ", and the points have ", ndim, " coordinates");
    const SampleView& out = ctx.output(0, DType::kFloat, in.shape);
    if (in.volume() == 0) return;
    // x -> add + factor * x
    float factor[3], add[3];
    for (int i = 0; i < ndim; ++i) {
      const Axis& axis = axes_[layout_.empty() ? i : layout_[i] - 'x'];
      const bool flips = axis.flip(ctx) != 0;
      factor[i] = flips ? -1.0f : 1.0f;
      add[i] = flips ? 2 * axis.center(ctx) : 0.0f;
    }
    const float* from = in.as<const float>();
    float* to = out.as<float>();
    for (int64_t p = 0; p < in.shape[0]; ++p)
      for (int i = 0; i < ndim; ++i) *to++ = add[i] + factor[i] * *from++;
  }

 private:
  struct Axis {
    char name;
    Arg<int> flip;
    Arg<float> center;
  };
  Layout layout_;
  std::array<Axis, 3> axes_;
};

TORCHDALI_OPERATOR("coord_flip")
    .doc("Mirrors the coordinates of points at a centre: 2 * center - coordinate.")
    .input("points", "Points, float32, shape (points, 1 to 3 coordinates).")
    .output("flipped", "Shape of the input, float32; without layout.")
    .arg("flip_x", 1, "Mirror x where not 0.", Arity::kPerSample)
    .arg("flip_y", 0, "Mirror y where not 0.", Arity::kPerSample)
    .arg("flip_z", 0, "Mirror z where not 0.", Arity::kPerSample)
    .arg("center_x", 0.5f, "Where x is mirrored.", Arity::kPerSample)
    .arg("center_y", 0.5f, "Where y is mirrored.", Arity::kPerSample)
    .arg("center_z", 0.5f, "Where z is mirrored.", Arity::kPerSample)
    .arg("layout", Layout(""),
         "Order of the coordinates, e.g. \"yx\"; \"x\", \"xy\" or \"xyz\" by default.")
    .cpu<CoordFlip>();

}  // namespace
}  // namespace torchdali
