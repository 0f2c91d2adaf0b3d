// SPDX-License-Identifier: Apache-2.0
// Index: the packets of a video, and which of them is which frame. docs/design/video.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/video/libav_api.h"

namespace torchdali::io::video {

// libav::Facts that own their extradata.
class StreamFacts {
 public:
  StreamFacts() = default;
  explicit StreamFacts(const libav::Facts& facts)
      : facts_(facts), extradata_(facts.extradata, facts.extradata + facts.extradata_size) {}

  libav::Facts get() const {
    libav::Facts facts = facts_;
    facts.extradata = extradata_.data();
    facts.extradata_size = static_cast<int32_t>(extradata_.size());
    return facts;
  }
  // Without extradata.
  libav::Facts& mutable_facts() { return facts_; }
  const libav::Facts& operator*() const { return facts_; }
  const libav::Facts* operator->() const { return &facts_; }
  const std::vector<uint8_t>& extradata() const { return extradata_; }
  std::vector<uint8_t>& mutable_extradata() { return extradata_; }

 private:
  libav::Facts facts_;
  std::vector<uint8_t> extradata_;
};

struct IndexedPacket {
  int64_t pts = libav::kNoTime;
  int64_t offset = -1;  // of its bytes if the index is direct; else where the demuxer found it
  uint32_t size = 0;
  uint32_t needed = 0;  // bytes, from the first one on, that other pictures than its own depend on
  uint32_t check = 0;   // of its bytes
  bool key = false;     // the container says that this is a key frame
  bool start = false;   // decoding may start here
  bool bad = false;     // it does not decode, and ffmpeg passes over it
};

struct Index {
  StreamFacts facts;
  bool direct = false;                 // the bytes of each packet are in the file, unchanged
  std::vector<IndexedPacket> packets;  // in the order of decoding
  std::vector<uint32_t> frames;        // the packet of each frame, in the order of presentation
};

// Part of the name and of the contents of stored indices. Others are made again.
inline constexpr uint32_t kIndexVersion = 3;

// What an index is stored as, for a file with this `version` (of its contents). Raises kData if the
// text is damaged, of another version, or does not fit to a file of this size.
std::string serialize(const Index& index, const std::string& version);
Index parse_index(std::span<const uint8_t> text, const std::string& version, int64_t file_size);

uint32_t packet_check(std::span<const uint8_t> bytes);

}  // namespace torchdali::io::video
