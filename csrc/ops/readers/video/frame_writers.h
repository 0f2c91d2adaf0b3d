// SPDX-License-Identifier: Apache-2.0
// FrameWriter: makes the frames of a sequence of pictures.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/sample_context.h"
#include "core/schema.h"
#include "kernels/video/to_rgb.h"
#include "ops/decoders/video_frames.h"
#include "ops/resize/resize_attr.h"
#include "ops/resize/resize_filter.h"

namespace torchdali {

// The color space and the element type of frames: `image_type`, `channels`, `dtype`, `normalized`,
// of which a schema may lack the last three.
struct FrameFormat {
  explicit FrameFormat(const OpSpec& spec);
  kernels::PixelOutput pixels = kernels::PixelOutput::kRGB;
  int channels = 3;
  DType dtype = DType::kUInt8;
  float scale = 1;  // of floats
};
SchemaBuilder& add_frame_format_args(SchemaBuilder& schema);

// Output 0 of a sample: the frames of a sequence, "FHWC". One thread.
class FrameWriter {
 public:
  FrameWriter() = default;
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;
  virtual ~FrameWriter() = default;
  // Makes frame `i` of the sequence. The picture has the size that the writer was made for.
  virtual void write(int64_t i, const kernels::Picture& picture) = 0;
  // Fills frame `i` with a color, which has a value for each channel.
  virtual void fill(int64_t i, std::span<const uint8_t> color) = 0;
};

// Of pictures that come, and by how much they are to be turned clockwise.
struct PictureSize {
  int width = 0, height = 0, degrees = 0;
  bool sideways() const { return degrees % 180 != 0; }
  int upright_width() const { return sideways() ? height : width; }
  int upright_height() const { return sideways() ? width : height; }
  kernels::PictureRegion whole() const { return {0, 0, upright_width(), upright_height()}; }
};

// Makes output 0 for `frames` pictures.
std::unique_ptr<FrameWriter> make_frame_writer(SampleContext& ctx, const FrameFormat& format,
                                               int64_t frames, const PictureSize& size);
// The same for resized frames.
std::unique_ptr<FrameWriter> make_resizing_writer(SampleContext& ctx, const FrameFormat& format,
                                                  const ResizeArgs& resize,
                                                  const ResampleArgs& filters, int64_t frames,
                                                  const PictureSize& size);
// The same for a chain. `how`: what the frames are resized from, without their type.
std::unique_ptr<FrameSource> open_resized_frames(SampleContext& ctx,
                                                 std::shared_ptr<const io::video::VideoFile> video,
                                                 std::vector<int64_t> frames, SequenceFormat how,
                                                 const FrameFormat& format,
                                                 const ResizeArgs& resize,
                                                 const ResampleArgs& filters);

}  // namespace torchdali
