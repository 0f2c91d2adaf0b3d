// SPDX-License-Identifier: Apache-2.0
// The common part of image decoders: their arguments, and decoding of the current sample or a
// region of it.
#pragma once

#include <memory>
#include <optional>

#include "core/operator.h"
#include "io/image.h"

namespace torchdali {

// Arguments and input of every image decoder, for SchemaBuilder::with().
SchemaBuilder& add_image_decoder_args(SchemaBuilder& schema);

// The bytes of an encoded image; raises if the input is not a 1-D tensor of uint8.
io::Bytes encoded_bytes(const SampleView& input);

// Scratch memory of the current sample.
class ContextScratch final : public io::ScratchMemory {
 public:
  explicit ContextScratch(SampleContext& ctx) : ctx_(ctx) {}
  void* allocate(size_t bytes) override { return ctx_.scratch<uint8_t>(bytes).data(); }

 private:
  SampleContext& ctx_;
};

// Immutable; any thread.
class ImageDecoder {
 public:
  explicit ImageDecoder(const OpSpec& spec);
  // The header of an image; raises kData if it has too many pixels.
  io::ImageInfo peek(io::Bytes bytes) const;
  // Size of the image after orientation, [height, width], for placing windows.
  Shape size(const io::ImageInfo& info) const;
  // [height, width, channels] of the whole image or of `region`.
  Shape shape(const io::ImageInfo& info, const std::optional<io::Region>& region) const;
  DType dtype() const { return options_.dtype; }
  // Makes output 0, of that shape; in the host part of a decoder, the outputs of device_image.h.
  void decode(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
              const std::optional<io::Region>& region) const;
  // Decodes into memory of the caller. `scale`: as in io::DecodeOptions.
  void decode_into(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
                   const std::optional<io::Region>& region, void* out, int scale = 1) const;
  // The same together with another image: io::prepare_decode(). `scratch` has to stay, too.
  std::unique_ptr<PairableDecode> prepare(io::ScratchMemory& scratch, io::Bytes bytes,
                                          const io::ImageInfo& info,
                                          const std::optional<io::Region>& region, void* out,
                                          int scale = 1) const;
  // Whether images are decoded here, and not on the GPU.
  bool takes_two() const { return !for_device_; }

 private:
  void decode_for_device(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
                         const std::optional<io::Region>& region) const;
  io::DecodeOptions options_;
  std::shared_ptr<io::jpeg::Index> index_;  // null without an index
  const int64_t max_pixels_;
  // What the host part does: packs coefficients, or leaves the codes or the file to the GPU.
  const bool for_device_, packs_, sends_codes_, for_nvjpeg_;
};

// An operator that decodes an image or a region of it.
class DecodingOperator : public Operator {
 public:
  explicit DecodingOperator(const OpSpec& spec) : decoder_(spec) {}
  void run(SampleContext& ctx) const final;
  bool takes_two() const override { return decoder_.takes_two(); }
  std::unique_ptr<BegunSample> begin(SampleContext& ctx) const override;
  void continue_two(BegunSample& a, BegunSample& b) const override;
  void end(SampleContext& ctx, BegunSample& begun) const override;

 protected:
  const ImageDecoder& decoder() const { return decoder_; }

 private:
  struct Begun;
  // nullopt: the whole image. `size`: ImageDecoder::size().
  virtual std::optional<io::Region> region(SampleContext& ctx, const Shape& size) const = 0;

  ImageDecoder decoder_;
};

}  // namespace torchdali
