// SPDX-License-Identifier: Apache-2.0
// fn.decoders.image: a whole encoded image.
#include <cmath>

#include "core/image/image_part.h"
#include "ops/decoders/device_image.h"
#include "ops/decoders/image_decoder.h"

namespace torchdali {
namespace {

class EncodedImage final : public ImageSource {
 public:
  EncodedImage(const ImageDecoder& decoder, float scaled_margin, const SampleView& input)
      : decoder_(decoder),
        scaled_margin_(scaled_margin),
        bytes_(encoded_bytes(input)),
        info_(decoder.peek(bytes_)) {
    image_ = {.dtype = decoder.dtype(), .shape = decoder.shape(info_, {}), .layout = "HWC"};
  }
  int reduce(float reduction) override {
    if (scaled_margin_ == 0 || !io::can_scale(info_)) return 1;
    constexpr int kLargest = 8;
    scale_ = kLargest;
    while (scale_ > 1 && reduction < scaled_margin_ * static_cast<float>(scale_)) scale_ /= 2;
    image_.shape = decoder_.shape(io::scaled_info(info_, scale_), {});
    return scale_;
  }
  PairableDecode* prepare(SampleContext& ctx, const ImagePart& window, void* out) override {
    scratch_.emplace(ctx);
    decode_ = decoder_.prepare(*scratch_, bytes_, info_, region_of(window), out, scale_);
    return decode_.get();
  }
  void make(SampleContext& ctx, const ImagePart& window, void* out) override {
    if (decode_ != nullptr && decode_->finish()) return;
    decoder_.decode_into(ctx, bytes_, info_, region_of(window), out, scale_);
  }

 private:
  static io::Region region_of(const ImagePart& window) {
    return {window.rows.begin, window.columns.begin, window.rows.extent, window.columns.extent};
  }

  const ImageDecoder& decoder_;
  const float scaled_margin_;
  io::Bytes bytes_;
  io::ImageInfo info_;
  int scale_ = 1;
  std::optional<ContextScratch> scratch_;
  std::unique_ptr<PairableDecode> decode_;
};

class DecodeImage final : public DecodingOperator, public MakesImage {
 public:
  explicit DecodeImage(const OpSpec& spec)
      : DecodingOperator(spec), scaled_margin_(spec.get<float>("scaled_margin")) {
    TORCHDALI_CHECK(scaled_margin_ == 0 || (scaled_margin_ >= 1 && std::isfinite(scaled_margin_)),
                    "`scaled_margin` is ", scaled_margin_, ", expected 0 or a number from 1 on");
    TORCHDALI_CHECK(scaled_margin_ == 0 || spec.resampled, "`scaled_margin` is ", scaled_margin_,
                    ", but no operator that resizes takes the image, alone and on the CPU, with at "
                    "most crops and slices before it",
                    to_fix("resize right after the decoder, or leave out scaled_margin"));
  }
  std::unique_ptr<ImageSource> open(SampleContext& ctx) const override {
    return std::make_unique<EncodedImage>(decoder(), scaled_margin_, ctx.input(0));
  }

 private:
  std::optional<io::Region> region(SampleContext&, const Shape&) const override { return {}; }

  float scaled_margin_;
};

SchemaBuilder& add_cache_args(SchemaBuilder& schema) {
  constexpr const char* kGpuCache = "For the GPU's cache of decoded images. Has no effect.";
  return schema.arg("cache_batch_copy", true, kGpuCache)
      .arg("cache_debug", false, kGpuCache)
      .arg("cache_size", int64_t{0}, kGpuCache)
      .arg("cache_threshold", int64_t{0}, kGpuCache)
      .arg("cache_type", "", kGpuCache);
}

TORCHDALI_OPERATOR("decoders.image")
    .doc("Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP, JPEG 2000, AVIF and JPEG XL.")
    .input("data", "The bytes of an image file, uint8, 1-D.")
    .output("image", "The image, layout \"HWC\".")
    .with(add_image_decoder_args)
    .arg("scaled_margin", 0.0f,
         "JPEG: allows decoding at 1/2, 1/4 or 1/8 of the size, if the decoded region is still at "
         "least this many times as large as the result of the following resize, along both axes. 0 "
         "(the default) decodes at full size. Values from 1 on are faster and change the result "
         "slightly; 1.5 is a good choice (the guide on benchmarks has figures). The image must be "
         "used by one operator only, which resizes it, with at most crops and slices before it; "
         "otherwise this is an error. Other formats, filters that do not average (nearest "
         "neighbor, `antialias=False`) and operators that run one by one (eagerly, in debug mode) "
         "decode at full size.")
    .parts("host_part.decoders.image", "decoders.device_part")
    .whole_image_args({"dtype", "scaled_margin"})
    .with(add_cache_args)
    .mixed()
    .image_role(ImageRole::kDecoder)
    .cpu<DecodeImage>();

TORCHDALI_OPERATOR("host_part.decoders.image")
    .doc("The host part of decoders.image with device=\"mixed\".")
    .input("data", "The bytes of an image file, uint8, 1-D.")
    .with(add_host_part_outputs)
    .with(add_image_decoder_args)
    .arg("scaled_margin", 0.0f, "As in decoders.image.")
    .with(add_cache_args)
    .cpu<DecodeImage>();

}  // namespace
}  // namespace torchdali
