// SPDX-License-Identifier: Apache-2.0
// fn.transforms.combine: several affine transforms as one.
#include "ops/transforms/affine.h"

namespace torchdali {
namespace {

class Combine final : public Operator {
 public:
  explicit Combine(const OpSpec& spec) : reverse_order_(spec.get<bool>("reverse_order")) {}

  void run(SampleContext& ctx) const override {
    Affine whole = Affine::from(ctx.input(0), "first");
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const Affine next = Affine::from(ctx.input(i), i == 1 ? "second" : "more");
      TORCHDALI_CHECK(next.ndim == whole.ndim, "input ", i, " has shape ", ctx.input(i).shape,
                      ", and input 0 has ", ctx.input(0).shape,
                      "; transforms to combine have as many dimensions");
      whole = reverse_order_ ? whole.after(next) : next.after(whole);
    }
    whole.write(ctx);
  }

 private:
  bool reverse_order_;
};

TORCHDALI_OPERATOR("transforms.combine")
    .doc("The composition of affine transforms.")
    .input(
        "first",
        "An affine transform: shape (ndim, ndim + 1), any element type; or one per frame, with a "
        "layout such as \"F**\".")
    .input("second", "Another transform with the same number of dimensions.")
    .variadic_input("more", "Further transforms.", 99)
    .output("transform", "The combined transform, float32, shape (ndim, ndim + 1).")
    .arg("reverse_order", false, "Apply the last input first, instead of the first input first.")
    .each_frame()
    .cpu<Combine>();

}  // namespace
}  // namespace torchdali
