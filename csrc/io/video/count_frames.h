// SPDX-License-Identifier: Apache-2.0
// Decodes all of a video to find out which packets are which frames, where that cannot be told from
// the packets.
#pragma once

#include <cstdint>
#include <vector>

#include "io/video/file_bytes.h"
#include "io/video/index.h"

namespace torchdali::io::video {

// What the demuxer says of a packet, and the index does not keep.
struct PacketTimes {
  int64_t position = -1, dts = libav::kNoTime, duration = 0;
};

// Sets frames, the times of their packets, `bad`, and the size of the picture. Packets that are not
// `may_show` are no frames.
void count_by_decoding(const FileBytes& bytes, Index& index, const std::vector<PacketTimes>& times,
                       const std::vector<bool>& may_show);

// Sets the size of the picture. Raises kData if there is none, kUnsupported if it cannot be used.
void check_first_picture(const FileBytes& bytes, Index& index);

}  // namespace torchdali::io::video
