// SPDX-License-Identifier: Apache-2.0
// Dividing the decoding of videos between host and GPU: docs/design/video.md. Of the host part of a
// decoder or reader, output 0 is copied to the GPU, and the last output, a DeviceVideo, stays on
// the host for decoders.video_device_part.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/operator.h"
#include "core/reason_counts.h"
#include "io/video/video_file.h"
#include "io/video_clips/encoded_clip.h"
#include "kernels/video/picture_task.h"

namespace torchdali {

// Plain data, copied as bytes. For kPackets, `frames` numbers of frames follow, int64, then the
// packets, the extradata, and the bytes of the packets.
struct DeviceVideo {
  enum class Kind : int8_t {
    kPixels,   // output 0 is the decoded frames
    kPackets,  // a clip for the decoder of the GPU: output 0 is empty
  };
  Kind kind = Kind::kPixels;
  DType dtype = DType::kUInt8;
  int64_t frames = 0, height = 0, width = 0, channels = 0;
  // kPackets:
  gpu::FrameRules rules;
  uint8_t fill[3] = {};  // the color of frames that the video does not have
  io::video::libav::Facts facts = {};
  bool header_in_stream = false;
  uint64_t video = 0;
  int64_t packets = 0, header_bytes = 0, packet_bytes = 0;
};

// What follows it.
struct DeviceClip {
  DeviceVideo about;
  std::vector<int64_t> frames;  // of the output; -1: one of the color `fill`
  io::video::EncodedClip clip;
};
DeviceVideo read_device_video(const SampleView& description);
DeviceClip read_device_clip(const SampleView& description);

// What stands against a GPU's decoder decoding the stream: "codec mjpeg"; empty if nothing does.
std::string obstacle_to_nvdec(const io::video::VideoFile& video);
// The kind of a stream that nothing stands against.
int bits_of(const io::video::StreamFacts& facts);

// Part of the host part of an operator, whose schema has add_description_output().
class VideoPacker {
 public:
  // Null if the operator is no host part.
  static std::unique_ptr<VideoPacker> of(const OpSpec& spec);
  explicit VideoPacker(const OpSpec& spec);

  // Makes output 0 and the description, if a GPU may decode these frames; -1: one of the color
  // `fill`. Otherwise the operator makes output 0, and then calls describe_pixels().
  bool pack(SampleContext& ctx, const io::video::VideoFile& video, std::span<const int64_t> frames,
            const gpu::FrameRules& rules, std::span<const uint8_t> fill) const;
  static void describe_pixels(SampleContext& ctx);
  std::map<std::string, int64_t> counts() const { return counts_.read(); }

 private:
  const bool required_;
  mutable ReasonCounts counts_;
};
// "required": what the GPU does not decode is an error.
SchemaBuilder& add_nvdec_arg(SchemaBuilder& schema);
bool is_nvdec_required(const OpSpec& spec);
[[noreturn]] void raise_not_by_nvdec(const std::string& why);

}  // namespace torchdali
