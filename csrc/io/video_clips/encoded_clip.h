// SPDX-License-Identifier: Apache-2.0
// EncodedClip: the packets that frames of a video are decoded from, for a decoder that does not see
// the file, as that of a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/video/index.h"
#include "kernels/video/picture.h"

namespace torchdali::io::video {

struct EncodedPacket {
  int64_t number = 0;  // in the video
  int64_t offset = 0;  // in EncodedClip::bytes
  int64_t size = 0;
  int64_t frame = -1;  // the number in the video of the picture, if that is wanted
  bool key = false;
  bool start = false;  // decoding begins anew with this packet
};

struct EncodedClip {
  uint64_t video = 0;             // equal for clips of one open file
  StreamFacts facts = {};         // for these packets
  bool header_in_stream = false;  // the extradata belongs before the first packet
  std::vector<EncodedPacket> packets = {};
  std::vector<uint8_t> bytes = {};
};

// The matrix and the range of its pictures are those of Picture. False if it is another matrix.
bool set_colors(const StreamFacts& facts, kernels::Picture& picture);

// Calls use(packet, picture) for the pictures that are wanted, decoded by FFmpeg. `name` is for
// errors.
void decode_clip(const EncodedClip& clip, const std::string& name,
                 const std::function<void(size_t packet, const kernels::Picture&)>& use);

}  // namespace torchdali::io::video
