// SPDX-License-Identifier: Apache-2.0
// fn.decoders.image_random_crop: a window of random area and aspect ratio of an encoded image.
#include "ops/decoders/device_image.h"
#include "ops/decoders/image_decoder.h"
#include "ops/window/random_crop_args.h"

namespace torchdali {
namespace {

class DecodeImageRandomCrop final : public DecodingOperator {
 public:
  explicit DecodeImageRandomCrop(const OpSpec& spec)
      : DecodingOperator(spec), windows_(make_random_crop_generator(spec)) {}

 private:
  std::optional<io::Region> region(SampleContext& ctx, const Shape& size) const override {
    RandomStream random = ctx.random();
    const CropWindow w = windows_.generate(size[0], size[1], random);
    return io::Region{w.y, w.x, w.h, w.w};
  }

  RandomCropGenerator windows_;
};

TORCHDALI_OPERATOR("decoders.image_random_crop")
    .doc(
        "Decodes a window of an image with random position, area and aspect ratio, without "
        "decoding what is cut off.")
    .input("data", "The bytes of an image file, uint8, 1-D.")
    .output("image", "The window, layout \"HWC\".")
    .with(add_image_decoder_args)
    .with(add_random_crop_args)
    .random()
    .mixed()
    .parts("host_part.decoders.image_random_crop", "decoders.device_part")
    .cpu<DecodeImageRandomCrop>();

TORCHDALI_OPERATOR("host_part.decoders.image_random_crop")
    .doc("The host part of decoders.image_random_crop with device=\"mixed\".")
    .input("data", "The bytes of an image file, uint8, 1-D.")
    .with(add_host_part_outputs)
    .with(add_image_decoder_args)
    .with(add_random_crop_args)
    .random()
    .cpu<DecodeImageRandomCrop>();

}  // namespace
}  // namespace torchdali
