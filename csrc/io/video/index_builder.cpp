// SPDX-License-Identifier: Apache-2.0
#include "io/video/index_builder.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/video/bitstream/packet_facts.h"
#include "io/video/count_frames.h"
#include "io/video/library.h"
#include "io/video/packet_reader.h"

namespace torchdali::io::video {
namespace {

// Finds the bytes of packets in the file.
class Locator {
 public:
  explicit Locator(const FileBytes& bytes) : bytes_(bytes) {}

  // The offset of the bytes; -1 if they are not found.
  int64_t find(const libav::Packet& packet) {
    int64_t at = packet.position >= 0 ? packet.position + gap_ : -1;
    if (!is_at(packet, at)) {
      at = packet.position >= 0 ? search(packet, packet.position) : -1;
      if (at >= 0) gap_ = at - packet.position;
      else if (is_at(packet, end_)) at = end_;
    }
    end_ = at < 0 ? -1 : at + packet.size;
    return at;
  }

 private:
  static constexpr int64_t kSearch = 64;  // the header of a packet is shorter

  bool is_at(const libav::Packet& packet, int64_t offset) {
    if (offset < 0 || offset > bytes_.size() - packet.size) return false;
    buffer_.resize(static_cast<size_t>(packet.size));
    bytes_.read(buffer_.data(), packet.size, offset);
    return std::equal(buffer_.begin(), buffer_.end(), packet.data);
  }

  int64_t search(const libav::Packet& packet, int64_t from) {
    if (from > bytes_.size()) return -1;
    const int64_t count = std::min(packet.size + kSearch, bytes_.size() - from);
    buffer_.resize(static_cast<size_t>(count));
    bytes_.read(buffer_.data(), count, from);
    const auto found =
        std::search(buffer_.begin(), buffer_.end(), packet.data, packet.data + packet.size);
    return found == buffer_.end() ? -1 : from + (found - buffer_.begin());
  }

  const FileBytes& bytes_;
  int64_t gap_ = 0, end_ = -1;
  std::vector<uint8_t> buffer_;
};

struct Found {
  Index index;
  std::vector<PacketTimes> times;
  std::vector<bool> shown;  // as far as that is known without decoding
  bool certain = true;      // it is
  bool steady = true;       // PacketFacts::needed is right, but for layers
  std::vector<uint8_t> layers;
};

void add_packet(Found& found, Locator& locator, const libav::Packet& packet) {
  const std::span<const uint8_t> data(packet.data, static_cast<size_t>(packet.size));
  Index& index = found.index;
  TORCHDALI_CHECK_KIND(kData, index.packets.size() < std::numeric_limits<int32_t>::max(),
                       "has too many packets");
  TORCHDALI_CHECK_KIND(kUnsupported, !packet.side_data,
                       "changes the parameters of its codec from frame to frame, which is not "
                       "supported",
                       to_fix("convert it with the program ffmpeg"));
  const PacketFacts facts = look_at(index.facts, data, packet.key);
  const bool first = index.packets.empty(), start = first || facts.start != Start::kNone;
  IndexedPacket to{
      .pts = packet.pts,
      .offset = packet.position,
      .size = static_cast<uint32_t>(packet.size),
      .needed = static_cast<uint32_t>(start ? data.size() : std::min(facts.needed, data.size())),
      .check = packet_check(data),
      .key = packet.key,
      .start = start};
  if (index.direct) {
    const int64_t offset = locator.find(packet);
    // The offsets of packets before are not those of the demuxer; see build_index().
    if (offset < 0) index.direct = false;
    else to.offset = offset;
  }
  found.times.push_back(
      {.position = packet.position, .dts = packet.dts, .duration = packet.duration});
  found.shown.push_back(!packet.discard && facts.pictures == 1);
  const bool broken = first ? facts.start == Start::kNone : facts.start == Start::kBroken;
  if (facts.changes) found.steady = false;
  found.layers.push_back(facts.layer);
  if (broken || facts.pictures < 0 || facts.pictures > 1) found.certain = false;
  if (!packet.discard && facts.pictures > 0) {
    // Pictures that are shown before the first packet may lack what they refer to.
    const int64_t start = first ? packet.pts : index.packets.front().pts;
    if (packet.pts == libav::kNoTime || packet.pts < start) found.certain = false;
  }
  index.packets.push_back(to);
}

Found demux(const FileBytes& bytes) {
  const libav::Source source = bytes.source();
  const DemuxerPtr demuxer = open_demuxer(bytes, source, true);
  libav::Facts facts;
  library().facts(demuxer.get(), &facts);
  Found found;
  found.index.facts = StreamFacts(facts);
  found.index.direct = true;
  found.certain = is_known(found.index.facts);
  Locator locator(bytes);
  libav::Packet packet;
  for (;;) {
    const int result = library().next_packet(demuxer.get(), &packet);
    // A file that is cut has the frames of its whole packets.
    if (result != libav::kDone) break;
    const bool cut =
        packet.corrupt && packet.position >= 0 && packet.position + packet.size >= bytes.size();
    if (!cut) add_packet(found, locator, packet);
  }
  TORCHDALI_CHECK_KIND(kData, !found.index.packets.empty(), bytes.name(),
                       " has a video stream without frames");
  if (!found.index.direct)
    for (size_t i = 0; i < found.times.size(); ++i)
      found.index.packets[i].offset = found.times[i].position;
  const uint8_t highest = *std::max_element(found.layers.begin(), found.layers.end());
  for (size_t i = 0; i < found.layers.size(); ++i) {
    IndexedPacket& p = found.index.packets[i];
    if (!found.steady || found.layers[i] < highest) p.needed = p.size;
  }
  // Each field of interlaced H.264 may be a packet of its own.
  constexpr int kProgressive = 1;
  const bool fields = facts.field_order > kProgressive;
  if (fields && !found.index.direct) found.certain = false;
  return found;
}

// The frames are the packets in the order of their times. False if the times are not all different.
bool order_by_time(Found& found) {
  Index& index = found.index;
  for (size_t i = 0; i < index.packets.size(); ++i)
    if (found.shown[i]) index.frames.push_back(static_cast<uint32_t>(i));
  const auto time = [&](uint32_t i) { return index.packets[i].pts; };
  std::sort(index.frames.begin(), index.frames.end(),
            [&](uint32_t a, uint32_t b) { return time(a) < time(b); });
  return std::adjacent_find(index.frames.begin(), index.frames.end(), [&](uint32_t a, uint32_t b) {
           return time(a) == time(b);
         }) == index.frames.end();
}

// Most frames that come before a frame in the order of decoding, and after it in that of time.
int reordering(const Index& index) {
  constexpr size_t kMost = 16;  // of any codec
  std::vector<int64_t> ranks(index.packets.size(), -1);
  for (size_t i = 0; i < index.frames.size(); ++i) ranks[index.frames[i]] = static_cast<int64_t>(i);
  int most = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0) continue;
    int later = 0;
    for (size_t j = i - std::min(i, 2 * kMost); j < i; ++j) later += ranks[j] > ranks[i] ? 1 : 0;
    most = std::max(most, later);
  }
  return std::min<int>(most, kMost);
}

}  // namespace

Index build_index(const FileBytes& bytes) {
  Found found = demux(bytes);
  Index& index = found.index;
  if (found.certain && order_by_time(found)) {
    libav::Facts& facts = index.facts.mutable_facts();
    facts.reorder = std::max(facts.reorder, reordering(index));
    check_first_picture(bytes, index);
  } else {
    count_by_decoding(bytes, index, found.times, found.shown);
  }
  TORCHDALI_CHECK_KIND(kData, !index.frames.empty(), bytes.name(), " has no frames");
  return std::move(index);
}

}  // namespace torchdali::io::video
