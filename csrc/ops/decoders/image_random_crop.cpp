// SPDX-License-Identifier: Apache-2.0
// fn.decoders.image_random_crop: a window of random area and aspect ratio of an encoded image.
#include "ops/decoders/image_decoder.h"
#include "ops/random_crop.h"

namespace torchdali {
namespace {

// As floats, like random_resized_crop: the same numbers must draw the same window in both.
FloatRange range_of(const OpSpec& spec, const char* name) {
  const auto values = spec.get<std::vector<float>>(name);
  TORCHDALI_CHECK(values.size() == 1 || values.size() == 2, "`", name, "` has ", values.size(),
                  " values, expected the two ends of a range");
  return {.low = values.front(), .high = values.back()};
}

class DecodeImageRandomCrop final : public Operator {
 public:
  explicit DecodeImageRandomCrop(const OpSpec& spec)
      : decoder_(spec),
        windows_(range_of(spec, "random_area"), range_of(spec, "random_aspect_ratio"),
                 spec.get<int>("num_attempts")) {}
  void run(SampleContext& ctx) const override {
    const io::Bytes bytes = encoded_bytes(ctx.input(0));
    const io::ImageInfo info = io::peek_image(bytes);
    const Shape size = decoder_.size(info);
    RandomStream random = ctx.random();
    const CropWindow w = windows_.generate(size[0], size[1], random);
    decoder_.decode(ctx, bytes, info, io::Region{w.y, w.x, w.h, w.w});
  }

 private:
  ImageDecoder decoder_;
  RandomCropGenerator windows_;
};

TORCHDALI_OPERATOR("decoders.image_random_crop")
    .doc(
        "Decodes a window of random place, area and aspect ratio of an image, without decoding "
        "what is cut off.")
    .input("data", "The bytes of one image file a sample, uint8.")
    .output("image", "The window, layout \"HWC\".")
    .with(add_image_decoder_args)
    .arg("random_area", std::vector<float>{0.08f, 1.0f},
         "Range of the window's area, as a fraction of the image.")
    .arg("random_aspect_ratio", std::vector<float>{0.75f, 1.333333f},
         "Range of the window's width divided by its height.")
    .arg("num_attempts", 10,
         "Draws of area and aspect ratio before a window that fits for certain is taken.")
    .random()
    .cpu<DecodeImageRandomCrop>();

}  // namespace
}  // namespace torchdali
