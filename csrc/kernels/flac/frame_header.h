// SPDX-License-Identifier: Apache-2.0
// The header of a FLAC frame: RFC 9639, section 9.1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchdali::kernels::flac {

enum class Stereo : int8_t { kIndependent, kLeftSide, kSideRight, kMidSide };

struct FrameHeader {
  bool variable = false;  // blocks differ in size: the number counts samples, else frames
  uint64_t number = 0;
  int64_t block = 0;  // samples of a channel
  int channels = 0;
  Stereo stereo = Stereo::kIndependent;
  int bits = 0;      // of a sample; 0: as in STREAMINFO
  size_t bytes = 0;  // of the header, with its checksum
};

// Null, or what is wrong.
const char* read_frame_header(const uint8_t* data, size_t size, FrameHeader& header);

}  // namespace torchdali::kernels::flac
