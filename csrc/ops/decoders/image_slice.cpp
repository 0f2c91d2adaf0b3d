// SPDX-License-Identifier: Apache-2.0
// fn.decoders.image_slice: a window of an encoded image, given by coordinates.
#include "ops/decoders/device_image.h"
#include "ops/decoders/image_decoder.h"
#include "ops/window/slice_window.h"

namespace torchdali {
namespace {

class DecodeImageSlice final : public DecodingOperator {
 public:
  explicit DecodeImageSlice(const OpSpec& spec)
      : DecodingOperator(spec), slice_(slice_spec(spec)) {}

 private:
  std::optional<io::Region> region(SampleContext& ctx, const Shape& size) const override {
    const Window w = slice_(ctx, size, "HW");
    w.check_inside(size);
    return io::Region{w.anchor[0], w.anchor[1], w.shape[0], w.shape[1]};
  }

  SliceArgs slice_;
};

TORCHDALI_OPERATOR("decoders.image_slice")
    .doc(
        "Decodes a window of an image. Equal to decoders.image and slice, without decoding what is "
        "cut off. The axes are 0 or \"H\", and 1 or \"W\".")
    .input("data", "The bytes of an image file, uint8, 1-D.")
    .optional_input("anchor", "First pixel of the window, one value per axis.")
    .optional_input("extent", "Extent of the window, one value per axis.")
    .output("image", "The window, layout \"HWC\".")
    .with(add_image_decoder_args)
    .with(add_slice_args)
    .mixed()
    .parts("host_part.decoders.image_slice", "decoders.device_part")
    .cpu<DecodeImageSlice>();

TORCHDALI_OPERATOR("host_part.decoders.image_slice")
    .doc("The host part of decoders.image_slice with device=\"mixed\".")
    .input("data", "The bytes of an image file, uint8, 1-D.")
    .optional_input("anchor", "First pixel of the window.")
    .optional_input("extent", "Extent of the window.")
    .with(add_host_part_outputs)
    .with(add_image_decoder_args)
    .with(add_slice_args)
    .cpu<DecodeImageSlice>();

}  // namespace
}  // namespace torchdali
