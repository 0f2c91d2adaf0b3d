// SPDX-License-Identifier: Apache-2.0
// fn.decoders.image: a whole encoded image.
#include "ops/decoders/image_decoder.h"

namespace torchdali {
namespace {

constexpr const char* kGpuCache = "Of the GPU's cache of decoded images; without effect here.";

class DecodeImage final : public Operator {
 public:
  explicit DecodeImage(const OpSpec& spec) : decoder_(spec) {}
  void run(SampleContext& ctx) const override {
    const io::Bytes bytes = encoded_bytes(ctx.input(0));
    decoder_.decode(ctx, bytes, io::peek_image(bytes), std::nullopt);
  }

 private:
  ImageDecoder decoder_;
};

TORCHDALI_OPERATOR("decoders.image")
    .doc("Decodes images: JPEG, PNG, BMP and PNM.")
    .input("data", "The bytes of one image file a sample, uint8.")
    .output("image", "The image, layout \"HWC\".")
    .with(add_image_decoder_args)
    .lacks("TIFF, WebP and JPEG 2000 files")
    .arg("cache_batch_copy", true, kGpuCache)
    .arg("cache_debug", false, kGpuCache)
    .arg("cache_size", int64_t{0}, kGpuCache)
    .arg("cache_threshold", int64_t{0}, kGpuCache)
    .arg("cache_type", "", kGpuCache)
    .mixed()
    .cpu<DecodeImage>();

}  // namespace
}  // namespace torchdali
