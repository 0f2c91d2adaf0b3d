// SPDX-License-Identifier: Apache-2.0
// fn.random_resized_crop: a random window of each sample, resized.
#include "core/operator.h"
#include "ops/input_layout.h"
#include "ops/random_crop.h"
#include "ops/resize_filter.h"

namespace torchdali {
namespace {

// One number stands for both ends.
FloatRange range_of(const OpSpec& spec, const char* name) {
  const auto values = spec.get<std::vector<float>>(name);
  TORCHDALI_CHECK(values.size() == 1 || values.size() == 2, "`", name, "` has ", values.size(),
                  " values, expected the two ends of a range");
  return {values.front(), values.back()};
}

class RandomResizedCrop final : public Operator {
 public:
  explicit RandomResizedCrop(const OpSpec& spec)
      : layout_(spec, 0),
        resample_(spec),
        generator_(range_of(spec, "random_area"), range_of(spec, "random_aspect_ratio"),
                   spec.get<int>("num_attempts")) {
    const auto size = spec.get<std::vector<int64_t>>("size");
    TORCHDALI_CHECK(size.size() == 1 || size.size() == 2, "`size` has ", size.size(),
                    " values, expected (height, width) or one for both");
    height_ = size.front();
    width_ = size.back();
    TORCHDALI_CHECK(height_ >= 0 && width_ >= 0, "`size` must not be negative, got ", height_,
                    " x ", width_);
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const int axis = layout.find('H');
    RandomStream random = ctx.random();
    const CropWindow crop = generator_.generate(in.shape[axis], in.shape[axis + 1], random);
    const ResizeGeometry geometry{
        .ndim = 2,
        .out = {height_, width_},
        .low = {static_cast<float>(crop.y), static_cast<float>(crop.x)},
        .high = {static_cast<float>(crop.y + crop.h), static_cast<float>(crop.x + crop.w)}};
    resample_.run(ctx, layout, geometry);
  }

 private:
  InputLayout layout_;
  ResampleArgs resample_;
  RandomCropGenerator generator_;
  int64_t height_, width_;
};

TORCHDALI_OPERATOR("random_resized_crop")
    .doc(
        "Crops a window of random area, aspect ratio and position and resizes it to a fixed size. "
        "Frames of a sequence share the window. Filters read around the window where the input "
        "has pixels there.")
    .input("data", "Images or sequences; uint8, int16, uint16 or float32.",
           {"HWC", "CHW", "FHWC", "FCHW", "CFHW"})
    .output("resized", "Layout of the input; element type `dtype`.")
    .required_arg("size", ArgType::kIntVec,
                  "Size of the result in pixels: (height, width), or one number for both.")
    .arg("random_area", std::vector<float>{0.08f, 1.0f},
         "Range of the window's area, as a fraction of the input's.")
    .arg("random_aspect_ratio", std::vector<float>{0.75f, 1.333333f},
         "Range of the window's width over its height; drawn evenly on a logarithmic scale.")
    .arg("num_attempts", 10,
         "Draws of area and aspect ratio before the largest window with a permitted ratio is "
         "taken, from a random place.")
    .with(add_resample_args)
    .random()
    .sequences()
    .cpu<RandomResizedCrop>();

}  // namespace
}  // namespace torchdali
