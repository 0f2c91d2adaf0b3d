// SPDX-License-Identifier: Apache-2.0
// fn.transforms.rotation: a rotation in 2-D, or around an axis in 3-D.
#include <cmath>

#include "core/argument.h"
#include "ops/transforms/affine.h"

namespace torchdali {
namespace {

constexpr double kRadians = 3.14159265358979323846 / 180;  // of a degree

class Rotation final : public TransformOperator {
 public:
  explicit Rotation(const OpSpec& spec)
      : TransformOperator(spec),
        angle_(spec, "angle"),
        axis_(spec, "axis"),
        center_(spec, "center") {}

 protected:
  Affine transform(SampleContext& ctx, int /*input_ndim*/) const override {
    const double angle = angle_(ctx) * kRadians;
    const double s = std::sin(angle), c = std::cos(angle);
    Affine t = axis_.given() ? in_space(axis_(ctx), s, c) : in_plane(s, c);
    apply_center(ctx, center_, t);
    return t;
  }

 private:
  static Affine in_plane(double s, double c) {
    Affine t = Affine::identity(2);
    t.m[0][0] = t.m[1][1] = static_cast<float>(c);
    t.m[0][1] = static_cast<float>(-s);
    t.m[1][0] = static_cast<float>(s);
    return t;
  }
  // Rodrigues' formula: cos * I + (1 - cos) * u u^T + sin * [u]x, with u the axis of length 1.
  static Affine in_space(std::span<const float> axis, double s, double c) {
    TORCHDALI_CHECK(axis.size() == 3, "`axis` has ", axis.size(),
                    axis.size() == 1 ? " value" : " values", ", expected 3 (x, y, z)");
    const double length = std::hypot(double{axis[0]}, double{axis[1]}, double{axis[2]});
    TORCHDALI_CHECK(length > 0, "`axis` is (", axis[0], ", ", axis[1], ", ", axis[2],
                    "), which has no direction", to_fix("give a vector that is not 0"));
    const double u[3] = {axis[0] / length, axis[1] / length, axis[2] / length};
    const double cross[3][3] = {{0, -u[2], u[1]}, {u[2], 0, -u[0]}, {-u[1], u[0], 0}};
    Affine t = Affine::identity(3);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        t.m[i][j] =
            static_cast<float>((i == j ? c : 0.0) + (1 - c) * u[i] * u[j] + s * cross[i][j]);
    return t;
  }

  Arg<float> angle_;
  FloatsArg axis_, center_;
};

TORCHDALI_OPERATOR("transforms.rotation")
    .doc(
        "An affine transform that rotates points, alone or after that of the input: in 2-D, or "
        "with `axis` in 3-D. Positive angles rotate x towards y.")
    .with(add_transform_args)
    .required_arg("angle", ArgType::kFloat, "Angle in degrees.", Arity::kPerSample)
    .optional_arg("axis", ArgType::kFloatVec,
                  "Axis of a 3-D rotation: x, y, z, of any length except 0. The opposite axis "
                  "corresponds to the opposite angle.",
                  Arity::kPerSample)
    .with(add_center_arg)
    .cpu<Rotation>();

}  // namespace
}  // namespace torchdali
