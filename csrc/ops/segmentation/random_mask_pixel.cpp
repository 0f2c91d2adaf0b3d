// SPDX-License-Identifier: Apache-2.0
// fn.segmentation.random_mask_pixel: the position of a pixel of a mask, drawn at random.
#include "core/operator.h"

namespace torchdali {
namespace {

class RandomMaskPixel final : public Operator {
 public:
  explicit RandomMaskPixel(const OpSpec& spec)
      : foreground_(spec, "foreground"), value_(spec, "value"), threshold_(spec, "threshold") {
    TORCHDALI_CHECK(!value_.given() || !threshold_.given(),
                    "`value` excludes `threshold`: give one or the other");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const int64_t volume = in.volume();
    TORCHDALI_CHECK(volume > 0, "the mask is empty: its shape is ", in.shape);
    RandomStream random = ctx.random();
    int64_t position = -1;
    if (foreground_(ctx) != 0) position = draw_foreground(ctx, in, volume, random);
    if (position < 0) position = random.uniform_int(0, volume - 1);
    const int ndim = in.shape.ndim();
    auto* out = ctx.output(0, DType::kInt64, {ndim}).as<int64_t>();
    for (int i = ndim - 1; i >= 0; position /= in.shape[i--]) out[i] = position % in.shape[i];
  }

 private:
  // -1 where no pixel is in the foreground.
  int64_t draw_foreground(SampleContext& ctx, const SampleView& in, int64_t volume,
                          RandomStream& random) const {
    return dispatch_dtype(in.dtype, [&]<class T>() -> int64_t {
      const T* pixels = in.as<const T>();
      const auto draw = [&](auto&& is_foreground) -> int64_t {
        int64_t count = 0;
        for (int64_t i = 0; i < volume; ++i) count += is_foreground(pixels[i]);
        if (count == 0) return -1;
        int64_t left = random.uniform_int(0, count - 1);
        int64_t at = 0;
        for (;; ++at)
          if (is_foreground(pixels[at]) && left-- == 0) return at;
      };
      if (value_.given()) {
        const double value = static_cast<double>(value_(ctx));
        return draw([value](T pixel) { return static_cast<double>(pixel) == value; });
      }
      const double threshold = threshold_(ctx);
      return draw([threshold](T pixel) { return static_cast<double>(pixel) > threshold; });
    });
  }

  Arg<int> foreground_, value_;
  Arg<float> threshold_;
};

TORCHDALI_OPERATOR("segmentation.random_mask_pixel")
    .doc(
        "Draws a pixel of a mask, each as often as the others: of the whole mask, or of its "
        "foreground, which are the pixels above `threshold` or equal to `value`. Where there is no "
        "foreground, it draws of the whole mask.")
    .input("mask", "A mask of any element type, layout and number of dimensions; not empty.")
    .output("position", "Where the pixel is, int64, one number for each dimension.")
    .arg("foreground", 0, "Draw of the foreground where not 0.", Arity::kPerSample)
    .optional_arg("value", ArgType::kInt, "The foreground's value; excludes `threshold`.",
                  Arity::kPerSample)
    .arg("threshold", 0.0f, "Pixels above it are the foreground.", Arity::kPerSample)
    .random()
    .cpu<RandomMaskPixel>();

}  // namespace
}  // namespace torchdali
