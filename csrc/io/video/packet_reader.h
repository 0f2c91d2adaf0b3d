// SPDX-License-Identifier: Apache-2.0
// PacketReader: the bytes of the packets of an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "io/video/file_bytes.h"
#include "io/video/index.h"

namespace torchdali::io::video {

// Closes a demuxer.
struct CloseDemuxer {
  void operator()(libav::Demuxer* demuxer) const;
};
using DemuxerPtr = std::unique_ptr<libav::Demuxer, CloseDemuxer>;

// Raises kData with FFmpeg's reason.
DemuxerPtr open_demuxer(const FileBytes& bytes, const libav::Source& source, bool probe);

// Used by one thread at a time. Bytes and index must outlive it.
class PacketReader {
 public:
  PacketReader(const FileBytes& bytes, const Index& index) : bytes_(bytes), index_(index) {}

  // Reads a packet, or its first `size` bytes, into allocate(size). Raises kFile, or kData if it is
  // not what the index says.
  void read(size_t packet, const std::function<uint8_t*(int)>& allocate) {
    read(packet, index_.packets[packet].size, allocate);
  }
  void read(size_t packet, uint32_t size, const std::function<uint8_t*(int)>& allocate);

 private:
  // Whether the last packet of the demuxer is this one of the index.
  bool is(size_t packet) const;
  // Reads up to `most` packets, until `packet` is found.
  bool find(size_t packet, size_t most);
  // Makes `packet` the last one of the demuxer.
  void demux(size_t packet);

  const FileBytes& bytes_;
  const Index& index_;
  libav::Source source_;
  DemuxerPtr demuxer_;
  size_t next_ = 0;  // of the demuxer
  libav::Packet last_;
};

}  // namespace torchdali::io::video
