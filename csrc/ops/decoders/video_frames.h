// SPDX-License-Identifier: Apache-2.0
// Frames of a video as pixels: what operators that decode videos have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/argument.h"
#include "core/image/frame_source.h"
#include "core/operator.h"
#include "io/video/video_file.h"
#include "kernels/video/to_rgb.h"
#include "ops/decoders/frame_padding.h"

namespace torchdali {

// The shape of a frame, turned upright if that is wanted.
Shape frame_shape(const io::video::VideoFile& video, bool upright,
                  kernels::PixelOutput colors = kernels::PixelOutput::kRGB);

// Writes a window of a picture that is turned clockwise by `degrees`. `unturned`: memory for that.
void turned_pixels(const kernels::Picture& picture, int degrees,
                   const kernels::PictureRegion& window, kernels::PixelOutput colors,
                   std::vector<uint8_t>& unturned, uint8_t* out);

// Decodes frames: calls use(i, picture) for frames[i], as VideoFile::decode(); a frame of -1 is
// left out. `threads`: of the decoder.
void decode_chosen(const io::video::VideoFile& video, std::span<const int64_t> frames,
                   const io::video::VideoFile::Use& use, int threads = 1);
// Writes frames[i] to out + i * (size of a frame); a frame of -1 is left out.
void decode_frames(const io::video::VideoFile& video, std::span<const int64_t> frames, bool upright,
                   kernels::PixelOutput colors, uint8_t* out, int threads = 1);

// What the frames of a sequence consist of, and how they are made.
struct SequenceFormat {
  kernels::PixelOutput colors = kernels::PixelOutput::kRGB;
  DType dtype = DType::kUInt8;  // or kFloat
  float scale = 1;              // of floats
  int degrees = 0;              // by which they are turned clockwise
  std::vector<uint8_t> fill;    // the color of frames that the video does not have
  int threads = 1;              // of the decoder
};
// Frames of a video for a chain; -1: one of the color `fill`.
std::unique_ptr<FrameSource> open_video_frames(std::shared_ptr<const io::video::VideoFile> video,
                                               std::vector<int64_t> frames, SequenceFormat format);

// The arguments that choose frames: `start_frame`, `end_frame`, `sequence_length`, `stride`,
// `frames`, `pad_mode` and `fill_value`.
void frame_choice_args(SchemaBuilder& schema);

class FrameChoice {
 public:
  explicit FrameChoice(const OpSpec& spec);
  // The frames of a sample's output, for a video of that many; -1 for those that are filled.
  std::vector<int64_t> operator()(const SampleContext& ctx, int64_t count) const;
  // The color of frames that are filled.
  std::span<const uint8_t> color() const { return fill_; }
  // Fills frames of `channels` interleaved values.
  void fill(uint8_t* frame, int64_t pixels) const;

 private:
  std::vector<int64_t> listed(const SampleContext& ctx, int64_t count) const;

  PadMode padding(const SampleContext& ctx) const;

  Arg<int64_t> start_, end_, length_, stride_;
  ListArg<int64_t> frames_;
  std::vector<uint8_t> fill_;  // a value for each channel
  PadMode padding_;
  int padding_slot_ = -1;  // of the argument input; -1: it is a constant
};

}  // namespace torchdali
