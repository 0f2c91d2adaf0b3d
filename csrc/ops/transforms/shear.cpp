// SPDX-License-Identifier: Apache-2.0
// fn.transforms.shear: an affine transform that moves points along each axis by their position on
// the others.
#include <cmath>

#include "ops/transforms/affine.h"

namespace torchdali {
namespace {

class Shear final : public TransformOperator {
 public:
  explicit Shear(const OpSpec& spec)
      : TransformOperator(spec),
        shear_(spec, "shear"),
        angles_(spec, "angles"),
        center_(spec, "center") {
    TORCHDALI_CHECK(shear_.given() != angles_.given(),
                    "`shear` excludes `angles`: give one of them");
  }

 protected:
  Affine transform(SampleContext& ctx, int /*input_ndim*/) const override {
    const FloatsArg& arg = shear_.given() ? shear_ : angles_;
    const auto values = arg(ctx);
    const int64_t size = static_cast<int64_t>(values.size());
    int64_t ndim = 2;
    while (ndim * (ndim - 1) < size && ndim < Affine::kMaxNdim) ++ndim;
    TORCHDALI_CHECK(size == ndim * (ndim - 1), "`", arg.name(), "` has ", size,
                    size == 1 ? " value" : " values",
                    ", expected ndim * (ndim - 1): 2 in the plane, 6 in space");
    Affine t = Affine::identity(ndim);
    const float* from = values.data();
    for (int r = 0; r < t.ndim; ++r)
      for (int c = 0; c < t.ndim; ++c)
        if (r != c) t.m[r][c] = shear_.given() ? *from++ : factor(*from++);
    apply_center(ctx, center_, t);
    return t;
  }

 private:
  static float factor(float angle) {
    TORCHDALI_CHECK(angle >= -90 && angle <= 90, "`angles` has ", angle,
                    ", expected -90 to 90 degrees");
    constexpr float kRadians = 3.14159265358979323846f / 180;  // of a degree
    return std::tan(angle * kRadians);
  }

  FloatsArg shear_, angles_, center_;
};

TORCHDALI_OPERATOR("transforms.shear")
    .doc(
        "An affine transform that shears, alone or after that of the input: it moves points along "
        "each axis in proportion to their position on the others.")
    .with(add_transform_args)
    .optional_arg("shear", ArgType::kFloatVec,
                  "Factors: x by y, y by x in 2-D; xy, xz, yx, yz, zx, zy in 3-D. Their number "
                  "determines the number of dimensions. Excludes `angles`.",
                  Arity::kPerSample)
    .optional_arg("angles", ArgType::kFloatVec,
                  "Angles in degrees, -90 to 90, whose tangents are the factors. "
                  "Excludes `shear`.",
                  Arity::kPerSample)
    .with(add_center_arg)
    .cpu<Shear>();

}  // namespace
}  // namespace torchdali
