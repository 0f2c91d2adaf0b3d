// SPDX-License-Identifier: Apache-2.0
// The result of the host part of a decoder, for the GPU part: docs/design/gpu_jpeg.md. Output 0 of
// the host part is copied to the GPU; output 1, a DeviceImage, stays on the host.
#pragma once

#include "core/operator.h"
#include "io/jpeg_codes.h"
#include "io/packed_jpeg.h"

namespace torchdali {

// Plain data, copied as bytes.
struct DeviceImage {
  enum class Kind : int8_t {
    kPixels,  // the decoded image
    kPacked,  // a packed JPEG
    kCodes,   // the codes of a JPEG
    kFile,    // a JPEG for nvJPEG, which reads it on the host: output 0 is empty
  };
  Kind kind = Kind::kPixels;
  DType dtype = DType::kUInt8;
  int64_t height = 0, width = 0, channels = 0;
  // The region of the image.
  int64_t y = 0, x = 0, whole_height = 0, whole_width = 0;
  // kPacked: the lists are empty here; they are in output 0, at these offsets.
  io::PackedJpeg jpeg = {};
  int64_t bases = 0, starts = 0, units = 0, blocks = 0, unit_count = 0;
  // kCodes: the same. The bytes of the scan are first.
  io::JpegCodes codes = {};
  int64_t code_bytes = 0, tables = 0, segments = 0, segment_count = 0;
};

// Reads the DeviceImage in input `input`, on the host.
DeviceImage read_device_image(const SampleContext& ctx, int input);
// Makes output 0 from the lists of `image.jpeg`.
void output_packed(SampleContext& ctx, DeviceImage& image);
// Makes output 0 from those of `image.codes`.
void output_codes(SampleContext& ctx, DeviceImage& image);
// Makes output 1; for kFile, with the file after the description.
void output_device_image(SampleContext& ctx, const DeviceImage& image, io::Bytes file);

// Outputs of the host's part of a decoder, which is the decoder itself. The schema of the decoder
// names it (SchemaBuilder::parts).
SchemaBuilder& add_host_part_outputs(SchemaBuilder& schema);
// An argument of both parts: the decoder of the GPU part.
SchemaBuilder& add_device_decoder_arg(SchemaBuilder& schema);
inline constexpr const char *kHybridDecoder = "hybrid", *kGpuDecoder = "gpu",
                            *kNvJpegDecoder = "nvjpeg";

}  // namespace torchdali
