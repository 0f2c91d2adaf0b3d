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

 private:
  void decode_for_device(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
                         const std::optional<io::Region>& region) const;
  io::DecodeOptions options_;
  std::shared_ptr<io::jpeg::Index> index_;  // null without an index
  const int64_t max_pixels_;
  const bool for_device_, packs_, for_nvjpeg_;
};

}  // namespace torchdali
