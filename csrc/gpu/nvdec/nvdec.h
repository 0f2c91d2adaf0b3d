// SPDX-License-Identifier: Apache-2.0
// Decoding of clips by NVDEC, which is loaded on demand: docs/design/video.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/nvdec/decoder.h"
#include "kernels/video/picture_gpu.h"

namespace torchdali::gpu::nvdec {

// Consecutive packets of a video, the first of which needs none before it, as the library
// takes them: H.264 and HEVC with start codes.
struct Clip {
  Kind kind;
  int width = 0, height = 0;  // of the pictures that are shown
  std::span<const uint8_t> header;
  bool header_in_stream = false;  // the header is a part of the stream, before its first packet
  std::vector<std::span<const uint8_t>> packets;
  std::vector<bool> wanted;  // whether the picture of each packet is
};

// Appends what is to be done with the picture of a packet of a clip.
using MakeTasks = std::function<void(size_t clip, size_t packet, const kernels::Picture& picture,
                                     std::vector<PictureTask>& tasks)>;

struct FailedClip {
  size_t clip;
  std::string why;
};

// One thread at a time.
class NvDec {
 public:
  explicit NvDec(const cuvid::Api& api) : api_(api) {}
  // Decodes clips, and queues what is to be done with their pictures on the device's stream.
  // Returns those that could not be decoded; their frames may be written in part.
  std::vector<FailedClip> decode(std::span<const Clip> clips, const Device& device,
                                 const MakeTasks& make_tasks);

 private:
  friend class Session;
  std::string obstacle_to(const Kind& kind, int width, int height);
  std::unique_ptr<Decoder> take(const Kind& kind, const cuvid::Format& format, unsigned surfaces);
  void give(std::unique_ptr<Decoder> decoder);

  const cuvid::Api& api_;
  std::map<Kind, Answer> answers_;
  std::vector<std::unique_ptr<Decoder>> idle_;  // the last one used is last
};

}  // namespace torchdali::gpu::nvdec
