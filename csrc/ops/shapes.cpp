// SPDX-License-Identifier: Apache-2.0
// fn.shapes: the extents of each sample as numbers.
#include "core/operator.h"

namespace torchdali {
namespace {

class Shapes final : public Operator {
 public:
  explicit Shapes(const OpSpec& spec) : dtype_(spec.get<DType>("dtype")) {
    // The types that hold any extent; DALI's own choice.
    TORCHDALI_CHECK_KIND(kType, itemsize(dtype_) >= 4, "`dtype` is ", dtype_name(dtype_),
                         ", expected int32, uint32, int64, uint64, float32 or float64");
  }
  void run(SampleContext& ctx) const override {
    const Shape shape = ctx.input(0).shape;
    const SampleView& out = ctx.output(0, dtype_, Shape{shape.ndim()});
    dispatch_dtype(dtype_, [&]<class T>() {
      T* to = out.as<T>();
      if constexpr (sizeof(T) >= 4)
        for (const int64_t extent : shape) *to++ = static_cast<T>(extent);
    });
  }

 private:
  DType dtype_;
};

TORCHDALI_OPERATOR("shapes")
    .doc("Gives the shape of each sample: `x.shape()` makes it of `x`.")
    .input("data", "Any layout, any element type.")
    .output("shape", "The extents: as many numbers as the sample has dimensions.")
    .arg("dtype", DType::kInt64,
         "Type of the output: INT32, UINT32, INT64, UINT64, FLOAT or FLOAT64.")
    .deprecated_arg("type", ArgType::kDType, "Old name of `dtype`.", "dtype")
    .sequences()
    .volumes()
    .cpu<Shapes>();

}  // namespace
}  // namespace torchdali
