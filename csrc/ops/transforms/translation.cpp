// SPDX-License-Identifier: Apache-2.0
// fn.transforms.translation: an affine transform that adds an offset.
#include "ops/transforms/affine.h"

namespace torchdali {
namespace {

class Translation final : public TransformOperator {
 public:
  explicit Translation(const OpSpec& spec) : TransformOperator(spec), offset_(spec, "offset") {}

 protected:
  Affine transform(SampleContext& ctx, int /*input_ndim*/) const override {
    const auto offset = offset_(ctx);
    Affine t = Affine::identity(static_cast<int64_t>(offset.size()));
    for (int i = 0; i < t.ndim; ++i) t.offset(i) = offset[i];
    return t;
  }

 private:
  FloatsArg offset_;
};

TORCHDALI_OPERATOR("transforms.translation")
    .doc("An affine transform that moves points by an offset, alone or after that of the input.")
    .with(add_transform_args)
    .required_arg("offset", ArgType::kFloatVec, "The offset, one number for each dimension.",
                  Arity::kPerSample)
    .cpu<Translation>();

}  // namespace
}  // namespace torchdali
