// SPDX-License-Identifier: Apache-2.0
// What frames of videos consist of, and frames that are resized.
#pragma once

#include <memory>
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

// Resized frames of a video; -1: one of the color `how.fill`. `how`: without colors and type.
std::unique_ptr<FrameSource> open_resized_frames(SampleContext& ctx,
                                                 std::shared_ptr<const io::video::VideoFile> video,
                                                 std::vector<int64_t> frames, SequenceFormat how,
                                                 const FrameFormat& format,
                                                 const ResizeArgs& resize,
                                                 const ResampleArgs& filters);

}  // namespace torchdali
