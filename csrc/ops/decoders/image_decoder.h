// SPDX-License-Identifier: Apache-2.0
// What the image decoders share: their arguments, and decoding (a part of) the sample in hand.
#pragma once

#include <optional>

#include "core/operator.h"
#include "io/image.h"

namespace torchdali {

// Arguments and input that every image decoder has, for SchemaBuilder::with().
SchemaBuilder& add_image_decoder_args(SchemaBuilder& schema);

// The bytes of an encoded image; raises where the input is not such a tensor.
io::Bytes encoded_bytes(const SampleView& input);

// Immutable; any thread.
class ImageDecoder {
 public:
  explicit ImageDecoder(const OpSpec& spec);
  // Shape of the image as the user sees it, [height, width, channels]: what windows are placed in.
  Shape shape(const io::ImageInfo& info) const;
  // Makes output 0, [height, width, channels] of the whole image or of `region`.
  void decode(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
              std::optional<io::Region> region) const;
  // Decodes `region` to temporary memory; rows are dense.
  const void* decode_to_scratch(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
                                const io::Region& region) const;
  DType dtype() const { return options_.dtype; }

 private:
  io::DecodeOptions options_;
};

}  // namespace torchdali
