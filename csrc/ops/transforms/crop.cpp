// SPDX-License-Identifier: Apache-2.0
// fn.transforms.crop: an affine transform between two boxes, such as those before and after a crop.
#include <algorithm>

#include "ops/transforms/affine.h"

namespace torchdali {
namespace {

class Crop final : public TransformOperator {
 public:
  explicit Crop(const OpSpec& spec)
      : TransformOperator(spec),
        from_start_(spec, "from_start"),
        from_end_(spec, "from_end"),
        to_start_(spec, "to_start"),
        to_end_(spec, "to_end"),
        absolute_(spec.get<bool>("absolute")) {}

 protected:
  Affine transform(SampleContext& ctx, int /*input_ndim*/) const override {
    const Side from_start(ctx, from_start_, 0), from_end(ctx, from_end_, 1),
        to_start(ctx, to_start_, 0), to_end(ctx, to_end_, 1);
    size_t ndim = 1;
    for (const Side* side : {&from_start, &from_end, &to_start, &to_end})
      ndim = std::max(ndim, side->values.size());
    Affine t = Affine::identity(static_cast<int64_t>(ndim));
    for (const Side* side : {&from_start, &from_end, &to_start, &to_end})
      if (!side->values.empty()) check_one_each(side->arg, side->values, t.ndim);
    for (int i = 0; i < t.ndim; ++i) {
      float a = from_start[i], b = from_end[i], c = to_start[i], d = to_end[i];
      if (absolute_ && a > b) std::swap(a, b);
      if (absolute_ && c > d) std::swap(c, d);
      const float scale = (d - c) / (b - a);
      t.m[i][i] = scale;
      t.offset(i) = c - scale * a;
    }
    return t;
  }

 private:
  struct Side {
    const FloatsArg& arg;
    std::span<const float> values;
    float otherwise;
    Side(SampleContext& ctx, const FloatsArg& a, float value_of_none)
        : arg(a), values(a(ctx)), otherwise(value_of_none) {}
    float operator[](int i) const {
      return values.empty() ? otherwise : values[values.size() == 1 ? 0 : i];
    }
  };

  FloatsArg from_start_, from_end_, to_start_, to_end_;
  bool absolute_;
};

TORCHDALI_OPERATOR("transforms.crop")
    .doc(
        "An affine transform that maps the box from `from_start` to `from_end` to the box from "
        "`to_start` to `to_end`, alone or after that of the input. Each is a point: one number for "
        "each dimension, or one for all. A box without extent results in infinite factors.")
    .with(add_transform_args)
    .arg("from_start", std::vector<float>{0.0f}, "Start of the first box; 0 for an empty list.",
         Arity::kPerSample)
    .arg("from_end", std::vector<float>{1.0f}, "End of the first box; 1 for an empty list.",
         Arity::kPerSample)
    .arg("to_start", std::vector<float>{0.0f}, "Start of the second box; 0 for an empty list.",
         Arity::kPerSample)
    .arg("to_end", std::vector<float>{1.0f}, "End of the second box; 1 for an empty list.",
         Arity::kPerSample)
    .arg("absolute", false, "Swap start and end if the start is greater.")
    .cpu<Crop>();

}  // namespace
}  // namespace torchdali
