// SPDX-License-Identifier: Apache-2.0
// fn.random_crop_generator: the window that decoders.image_random_crop would draw, as numbers.
#include <limits>

#include "ops/window/random_crop_args.h"

namespace torchdali {
namespace {

class GenerateRandomCrop final : public Operator {
 public:
  explicit GenerateRandomCrop(const OpSpec& spec) : windows_(make_random_crop_generator(spec)) {}

  void run(SampleContext& ctx) const override {
    const SampleView& shape = ctx.input(0);
    TORCHDALI_CHECK(shape.shape.ndim() == 1 && shape.volume() >= 2 && shape.volume() <= 3,
                    "takes the shape of an image, (height, width) or (height, width, channels), "
                    "got a tensor of shape ",
                    shape.shape);
    int64_t size[2];
    dispatch_dtype(shape.dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        for (int i = 0; i < 2; ++i) size[i] = static_cast<int64_t>(shape.as<const T>()[i]);
      else raise(ErrorKind::kType, "a shape is made of integers, got ", dtype_name(shape.dtype));
    });
    constexpr int64_t kMostPixels = std::numeric_limits<int32_t>::max();  // along an axis
    for (const int64_t extent : size)
      TORCHDALI_CHECK(extent >= 0 && extent <= kMostPixels, "an image cannot be ", extent,
                      " pixels large");
    RandomStream random = ctx.random();
    const CropWindow w = windows_.generate(size[0], size[1], random);
    write(ctx, 0, w.y, w.x);
    write(ctx, 1, w.h, w.w);
  }

 private:
  static void write(SampleContext& ctx, int output, int64_t y, int64_t x) {
    auto* to = ctx.output(output, DType::kInt32, Shape{2}).as<int32_t>();
    to[0] = static_cast<int32_t>(y);
    to[1] = static_cast<int32_t>(x);
  }
  RandomCropGenerator windows_;
};

TORCHDALI_OPERATOR("random_crop_generator")
    .doc(
        "Draws a window with random position, area and aspect ratio in an image of the given "
        "shape, for fn.slice or fn.decoders.image_slice with axis_names=\"HW\". With the same "
        "seed, it is the window of fn.decoders.image_random_crop.")
    .input("shape", "Shape of the image, integers: (height, width) or (height, width, channels).")
    .output("crop_anchor", "First row and column of the window, int32.")
    .output("crop_shape", "Height and width of the window, int32.")
    .with(add_random_crop_args)
    .random()
    .cpu<GenerateRandomCrop>();

}  // namespace
}  // namespace torchdali
