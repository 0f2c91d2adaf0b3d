// SPDX-License-Identifier: Apache-2.0
#include "kernels/flac/frame_header.h"

#include <bit>

#include "kernels/flac/crc.h"

namespace torchdali::kernels::flac {
namespace {

constexpr const char* kTruncated = "it is truncated";

// Bytes of a number that is coded as UTF-8 codes characters, by its first byte; 0: none.
size_t bytes_of_number(uint8_t first) {
  const int ones = std::countl_one(first);
  return ones == 0 ? 1 : ones == 1 || ones == 8 ? 0 : static_cast<size_t>(ones);
}

}  // namespace

const char* read_frame_header(const uint8_t* data, size_t size, FrameHeader& header) {
  if (size < 6) return kTruncated;
  if (data[0] != 0xff || (data[1] & 0xfe) != 0xf8) return "it does not begin with a sync code";
  header = {.variable = (data[1] & 1) != 0};
  const unsigned block = data[2] >> 4, rate = data[2] & 15, channels = data[3] >> 4,
                 bits = (data[3] >> 1) & 7;
  if (block == 0) return "its block size has the reserved value 0";
  if (rate == 15) return "its sample rate has the forbidden value 15";
  if (channels > 10) return "its channels have a reserved value";
  if (bits == 3) return "its bit depth has the reserved value 3";
  if ((data[3] & 1) != 0) return "a reserved bit of its header is set";
  header.channels = channels < 8 ? static_cast<int>(channels) + 1 : 2;
  header.stereo = channels < 8 ? Stereo::kIndependent : static_cast<Stereo>(channels - 7);
  constexpr int kBits[] = {0, 8, 12, 0, 16, 20, 24, 32};
  header.bits = kBits[bits];

  size_t at = 4;
  const size_t length = bytes_of_number(data[at]);
  if (length == 0) return "its number is coded wrongly";
  const size_t extra = (block == 6   ? 1U
                        : block == 7 ? 2U
                                     : 0U) +
                       (rate == 12                 ? 1U
                        : rate == 13 || rate == 14 ? 2U
                                                   : 0U);
  if (size < at + length + extra + 1) return kTruncated;
  header.number = length == 1 ? data[at] : data[at] & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((data[at + i] & 0xc0) != 0x80) return "its number is coded wrongly";
    header.number = header.number << 6 | (data[at + i] & 0x3fU);
  }
  at += length;
  header.bytes = at + extra + 1;
  if (crc8(data, header.bytes) != 0) return "the CRC-8 of its header is wrong";
  if (block == 1) header.block = 192;
  else if (block < 6) header.block = int64_t{144} << block;
  else if (block == 6) header.block = int64_t{data[at]} + 1;
  else if (block == 7) header.block = (int64_t{data[at]} << 8 | data[at + 1]) + 1;
  else header.block = int64_t{1} << block;
  if (header.block > 65535) return "its block size is the forbidden 65536";
  return nullptr;
}

}  // namespace torchdali::kernels::flac
