// SPDX-License-Identifier: Apache-2.0
// What the image decoders share: their arguments, and decoding (a part of) the sample in hand.
#pragma once

#include <memory>
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
  // Size of the image as the user sees it, [height, width]: what windows are placed in.
  Shape size(const io::ImageInfo& info) const;
  // [height, width, channels] of the whole image or of `region`.
  Shape shape(const io::ImageInfo& info, const std::optional<io::Region>& region) const;
  DType dtype() const { return options_.dtype; }
  // Makes output 0, of that shape; of the host's part of a decoder (device_image.h), its outputs.
  void decode(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
              const std::optional<io::Region>& region) const;
  // The same into memory of the caller's (for operators that go on from there). `scale`: as in
  // io::DecodeOptions.
  void decode_into(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
                   const std::optional<io::Region>& region, void* out, int scale = 1) const;

 private:
  void decode_for_device(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
                         const std::optional<io::Region>& region) const;
  io::DecodeOptions options_;
  std::shared_ptr<io::jpeg::Index> index_;  // null where none is wanted
  const bool for_device_, packs_, for_nvjpeg_;
};

}  // namespace torchdali
