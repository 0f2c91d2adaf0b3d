// SPDX-License-Identifier: Apache-2.0
// fn.my.random_gain: multiplies all elements of a sample by one random number.
#include <torchdali/operator.h>

namespace {

using namespace torchdali;

class RandomGain final : public Operator {
 public:
  explicit RandomGain(const OpSpec& spec) : range_(spec, "range") {}

  void run(SampleContext& ctx) const override {
    const SampleView in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `data` is ", dtype_name(in.dtype),
                         ", expected float32", to_fix("use fn.cast"));
    const auto range = range_(ctx);
    TORCHDALI_CHECK(range.size() == 2 && range[0] <= range[1],
                    "argument `range` takes the least and the greatest factor, got ", range.size(),
                    " values or a decreasing range");
    const float gain = ctx.random().uniform(range[0], range[1]);
    const auto* from = in.as<const float>();
    auto* to = ctx.output(0, in.dtype, in.shape, in.layout).as<float>();
    for (int64_t i = 0; i < in.volume(); ++i) to[i] = from[i] * gain;
  }

 private:
  ListArg<float> range_;
};

TORCHDALI_OPERATOR("my.random_gain")
    .doc("Multiplies all elements of a sample by one random number.")
    .input("data", "Any tensor; float32.")
    .output("scaled", "Shape and layout of the input.")
    .arg("range", std::vector<float>{0.5f, 2.0f}, "The least and the greatest factor.",
         Arity::kPerSample)
    .random()
    .image_role(ImageRole::kPixelwise)
    .cpu<RandomGain>();

}  // namespace
