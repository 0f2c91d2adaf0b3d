// SPDX-License-Identifier: Apache-2.0
// The interface of decoders of sequences, ImageRole::kDecoder: each frame is an image for the chain
// of operators that follows (core/image/image_part.h), and no sequence of whole frames is stored.
#pragma once

#include <functional>
#include <memory>

#include "core/image/image_part.h"

namespace torchdali {

// The frames of the current sample before they are decoded. One worker thread.
class FrameSource {
 public:
  using Use = std::function<void(int64_t index, std::unique_ptr<ImageSource> frame)>;
  virtual ~FrameSource() = default;
  int64_t frames() const { return frames_; }
  // Describes a frame, all of which are equal in this; has no data.
  const SampleView& frame() const { return frame_; }
  // Calls use() for each frame once, in any order. A frame is not used after the call.
  virtual void decode(SampleContext& ctx, const Use& use) = 0;

 protected:
  int64_t frames_ = 0;
  SampleView frame_;
};

// Makes output 0 of all frames, "FHWC".
inline void output_frames(SampleContext& ctx, FrameSource& source) {
  const SampleView& frame = source.frame();
  Shape shape{source.frames()};
  for (const int64_t extent : frame.shape) shape.push_back(extent);
  auto* out = ctx.output(0, frame.dtype, shape, "FHWC").as<std::byte>();
  const int64_t size = frame.size_bytes();
  source.decode(ctx, [&](int64_t i, const std::unique_ptr<ImageSource>& image) {
    if (size > 0) image->make(ctx, ImagePart::whole(frame.shape), out + i * size);
  });
}

class MakesSequence {
 public:
  virtual ~MakesSequence() = default;
  virtual std::unique_ptr<FrameSource> open_frames(SampleContext& ctx) const = 0;
};

// A base class of the batches of a source that leaves its frames to another node
// (OpSpec::leaves_frames): who knows them.
struct FramesOfBatch {
  const MakesSequence* source = nullptr;
};

}  // namespace torchdali
