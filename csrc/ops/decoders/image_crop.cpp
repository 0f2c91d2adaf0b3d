// SPDX-License-Identifier: Apache-2.0
// fn.decoders.image_crop: a window of fixed size of an encoded image.
#include "ops/decoders/device_image.h"
#include "ops/decoders/image_decoder.h"
#include "ops/window/crop_window.h"

namespace torchdali {
namespace {

class DecodeImageCrop final : public DecodingOperator {
 public:
  explicit DecodeImageCrop(const OpSpec& spec) : DecodingOperator(spec), crop_(spec) {}

 private:
  std::optional<io::Region> region(SampleContext& ctx, const Shape& size) const override {
    const Window w = crop_(ctx, size, "HW");
    w.check_inside(size);
    return io::Region{w.anchor[0], w.anchor[1], w.shape[0], w.shape[1]};
  }

  CropArgs crop_;
};

TORCHDALI_OPERATOR("decoders.image_crop")
    .doc(
        "Decodes a window of an image. Equal to decoders.image and crop, without decoding what is "
        "cut off.")
    .input("data", "The bytes of an image file, uint8, 1-D.")
    .output("image", "The window, layout \"HWC\".")
    .with(add_image_decoder_args)
    .with(add_crop_args)
    .mixed()
    .parts("host_part.decoders.image_crop", "decoders.device_part")
    .cpu<DecodeImageCrop>();

TORCHDALI_OPERATOR("host_part.decoders.image_crop")
    .doc("The host part of decoders.image_crop with device=\"mixed\".")
    .input("data", "The bytes of an image file, uint8, 1-D.")
    .with(add_host_part_outputs)
    .with(add_image_decoder_args)
    .with(add_crop_args)
    .cpu<DecodeImageCrop>();

}  // namespace
}  // namespace torchdali
