// SPDX-License-Identifier: Apache-2.0
// fn.segmentation.random_mask_pixel: the position of a pixel of a mask, drawn at random.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/argument.h"
#include "core/operator.h"
#include "kernels/convert.h"

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
  // Draws one of the pixels for which `is_foreground` is true; -1 if there are none. They are
  // counted by blocks, so that only one block is searched for the drawn pixel.
  template <class T, class Fn>
  static int64_t draw_where(const T* pixels, int64_t volume, RandomStream& random,
                            Fn&& is_foreground) {
    constexpr int64_t kBlock = 4096;
    static thread_local std::vector<int32_t> counts;
    counts.clear();
    int64_t total = 0;
    for (int64_t begin = 0; begin < volume; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, volume);
      int32_t count = 0;
      for (int64_t i = begin; i < end; ++i) count += is_foreground(pixels[i]) ? 1 : 0;
      counts.push_back(count);
      total += count;
    }
    if (total == 0) return -1;
    int64_t left = random.uniform_int(0, total - 1);
    size_t block = 0;
    for (; left >= counts[block]; ++block) left -= counts[block];
    for (int64_t at = static_cast<int64_t>(block) * kBlock;; ++at)
      if (is_foreground(pixels[at]) && left-- == 0) return at;
  }
  // -1 if no pixel is in the foreground.
  int64_t draw_foreground(SampleContext& ctx, const SampleView& in, int64_t volume,
                          RandomStream& random) const {
    return dispatch_dtype(in.dtype, [&]<class T>() -> int64_t {
      const T* pixels = in.as<const T>();
      if (value_.given()) {
        const int value = value_(ctx);
        const T wanted = kernels::convert<T>(value);
        if (static_cast<double>(wanted) != value) return -1;
        return draw_where(pixels, volume, random, [wanted](T pixel) { return pixel == wanted; });
      }
      const float threshold = threshold_(ctx);
      if constexpr (is_floating_type<T>) {
        return draw_where(pixels, volume, random,
                          [threshold](T pixel) { return pixel > threshold; });
      } else {
        // The greatest integer up to the threshold.
        const double floor = std::floor(threshold);
        constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
        if (std::isnan(floor)) return -1;
        if (floor < kLow) return random.uniform_int(0, volume - 1);
        const T limit = kernels::truncate_saturating<T>(floor);
        return draw_where(pixels, volume, random, [limit](T pixel) { return pixel > limit; });
      }
    });
  }

  Arg<int> foreground_, value_;
  Arg<float> threshold_;
};

TORCHDALI_OPERATOR("segmentation.random_mask_pixel")
    .doc(
        "Draws a pixel of a mask, uniformly from the whole mask or from its foreground: the pixels "
        "above `threshold` or equal to `value`. Without foreground, draws from the whole mask.")
    .input("mask", "A mask of any element type, layout and number of dimensions; not empty.")
    .output("position", "Position of the pixel, int64, one number for each dimension.")
    .arg("foreground", 0, "If not 0, draws from the foreground.", Arity::kPerSample)
    .optional_arg("value", ArgType::kInt,
                  "The value of the foreground. Cannot be combined with `threshold`.",
                  Arity::kPerSample)
    .arg("threshold", 0.0f, "Pixels above it are the foreground.", Arity::kPerSample)
    .random()
    .cpu<RandomMaskPixel>();

}  // namespace
}  // namespace torchdali
