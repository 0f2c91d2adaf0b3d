// SPDX-License-Identifier: Apache-2.0
// fn.transforms.scale: an affine transform that multiplies coordinates.
#include "ops/transforms/affine.h"

namespace torchdali {
namespace {

class Scale final : public TransformOperator {
 public:
  explicit Scale(const OpSpec& spec)
      : TransformOperator(spec),
        scale_(spec, "scale"),
        center_(spec, "center"),
        ndim_(spec.has("ndim") ? spec.get<int64_t>("ndim") : 0) {}

 protected:
  Affine transform(SampleContext& ctx, int input_ndim) const override {
    const auto scale = scale_(ctx);
    int64_t ndim = static_cast<int64_t>(scale.size());
    if (ndim == 1) ndim = input_ndim > 0 ? input_ndim : ndim_ > 0 ? ndim_ : 1;
    Affine t = Affine::identity(ndim);
    for (int i = 0; i < t.ndim; ++i) t.m[i][i] = scale[scale.size() == 1 ? 0 : i];
    apply_center(ctx, center_, t);
    return t;
  }

 private:
  FloatsArg scale_, center_;
  int64_t ndim_;
};

TORCHDALI_OPERATOR("transforms.scale")
    .doc("An affine transform that scales coordinates, alone or after that of the input.")
    .with(add_transform_args)
    .required_arg(
        "scale", ArgType::kFloatVec,
        "Factors, one for each dimension; a single one is for all dimensions of the input, "
        "or `ndim`.",
        Arity::kPerSample)
    .with(add_center_arg)
    .optional_arg("ndim", ArgType::kInt,
                  "Number of dimensions if `scale` is one number and there is no input; 1 by "
                  "default.")
    .cpu<Scale>();

}  // namespace
}  // namespace torchdali
