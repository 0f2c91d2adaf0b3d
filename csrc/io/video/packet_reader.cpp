// SPDX-License-Identifier: Apache-2.0
#include "io/video/packet_reader.h"

#include <cstring>

#include "core/error.h"
#include "io/video/library.h"

namespace torchdali::io::video {
namespace {

// How many packets after a seek are looked at.
constexpr size_t kSearch = 64;

}  // namespace

void CloseDemuxer::operator()(libav::Demuxer* demuxer) const { library().close_demuxer(demuxer); }

DemuxerPtr open_demuxer(const FileBytes& bytes, const libav::Source& source, bool probe) {
  libav::Demuxer* demuxer = nullptr;
  const int error = library().open_demuxer(&source, probe, &demuxer);
  TORCHDALI_CHECK_KIND(kData, error >= 0, bytes.name(),
                       " is not a video that FFmpeg can read: ", error_text(error));
  return DemuxerPtr(demuxer);
}

void PacketReader::read(size_t packet, uint32_t size,
                        const std::function<uint8_t*(int)>& allocate) {
  const IndexedPacket& wanted = index_.packets[packet];
  if (!index_.direct) demux(packet);
  uint8_t* to = allocate(static_cast<int>(size));
  TORCHDALI_CHECK_KIND(kRuntime, to != nullptr, "no memory for a packet of ", size, " bytes");
  if (index_.direct) bytes_.read(to, size, wanted.offset);
  else std::memcpy(to, last_.data, size);
}

bool PacketReader::is(size_t packet) const {
  const IndexedPacket& wanted = index_.packets[packet];
  return last_.size == static_cast<int32_t>(wanted.size) && last_.position == wanted.offset &&
         packet_check({last_.data, wanted.size}) == wanted.check;
}

bool PacketReader::find(size_t packet, size_t most) {
  for (size_t i = 0; i < most; ++i) {
    if (library().next_packet(demuxer_.get(), &last_) != libav::kDone) return false;
    if (is(packet)) return true;
  }
  return false;
}

void PacketReader::demux(size_t packet) {
  const auto changed = [&](bool found) {
    TORCHDALI_CHECK_KIND(kData, found, "packet ", packet, " of ", bytes_.name(),
                         " is not what it was when the index was made",
                         to_fix("the file has changed; open it again"));
  };
  if (demuxer_ != nullptr && next_ <= packet && packet - next_ < kSearch) {
    for (size_t i = next_; i <= packet; ++i) changed(find(i, 1));
  } else {
    const IndexedPacket& wanted = index_.packets[packet];
    bool found = false;
    if (packet > 0) {
      if (demuxer_ == nullptr) {
        source_ = bytes_.source();
        demuxer_ = open_demuxer(bytes_, source_, true);
      }
      found = wanted.offset >= 0 && library().seek_position(demuxer_.get(), wanted.offset) >= 0 &&
              find(packet, kSearch);
      if (!found)
        found = library().seek_time(demuxer_.get(), wanted.pts) >= 0 && find(packet, kSearch);
    }
    if (!found) {
      source_ = bytes_.source();
      demuxer_ = open_demuxer(bytes_, source_, true);
      // One after the other, since several packets may look alike.
      for (size_t i = 0; i <= packet; ++i) changed(find(i, 1));
    }
  }
  next_ = packet + 1;
}

}  // namespace torchdali::io::video
