// SPDX-License-Identifier: Apache-2.0
#include "io/video/count_frames.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "io/video/decoder_pool.h"
#include "io/video/library.h"
#include "io/video/packet_reader.h"

namespace torchdali::io::video {
namespace {

// Decodes in order; use(packet, picture) returns whether to go on, on_error(packet, error) too.
void decode_all(const FileBytes& bytes, const Index& index,
                const std::function<bool(size_t, const kernels::Picture&)>& use,
                const std::function<void(size_t, int)>& on_error) {
  const libav::Api& api = library();
  const DecoderSession session(index.facts, 1);
  PacketReader reader(bytes, index);
  for (size_t i = 0; i <= index.packets.size(); ++i) {
    if (i < index.packets.size()) {
      reader.read(i, [&](int size) { return api.packet_buffer(session.get(), size); });
      const int sent = api.send(session.get(), static_cast<int64_t>(i), false);
      if (sent != 0) on_error(i, sent);
    } else {
      api.send_end(session.get());
    }
    for (;;) {
      kernels::Picture picture;
      int64_t mark = -1;
      const char* format = "";
      bool supported = false;
      const int got = api.receive(session.get(), &picture, &mark, &format, &supported);
      if (got < 0) {
        if (i < index.packets.size()) on_error(i, got);
        break;
      }
      if (got != libav::kDone) break;
      TORCHDALI_CHECK_KIND(kUnsupported, supported, bytes.name(), " has pictures of format ", format,
                           ", which is not supported",
                           to_fix("convert it with the program ffmpeg: -pix_fmt yuv420p"));
      if (mark < 0 || mark >= static_cast<int64_t>(index.packets.size())) continue;
      if (!use(static_cast<size_t>(mark), picture)) return;
    }
  }
}

void set_size(Index& index, const kernels::Picture& picture) {
  index.facts.mutable_facts().width = picture.width;
  index.facts.mutable_facts().height = picture.height;
}

// The times of frames are those of their packets, or else those of decoding, or else counted; each
// is later than the one before.
void set_times(Index& index, const std::vector<PacketTimes>& times) {
  std::vector<int64_t> decoded;
  int64_t duration = 1;
  for (const uint32_t i : index.frames) {
    if (times[i].dts != libav::kNoTime) decoded.push_back(times[i].dts);
    duration = std::max(duration, times[i].duration);
  }
  std::sort(decoded.begin(), decoded.end());
  const bool known = decoded.size() == index.frames.size();
  for (size_t i = 0; i < index.frames.size(); ++i) {
    int64_t& time = index.packets[index.frames[i]].pts;
    const int64_t before = i == 0 ? libav::kNoTime : index.packets[index.frames[i - 1]].pts;
    const int64_t counted = before == libav::kNoTime ? 0 : before + duration;
    if (time == libav::kNoTime) time = known ? decoded[i] : counted;
    if (before != libav::kNoTime && time <= before) time = before + 1;
  }
}

}  // namespace

void count_by_decoding(const FileBytes& bytes, Index& index, const std::vector<PacketTimes>& times,
                       const std::vector<bool>& may_show) {
  constexpr int64_t kLastTime = int64_t{1} << 60;  // so that there are later ones
  std::vector<bool> seen(index.packets.size());
  index.frames.clear();
  for (IndexedPacket& packet : index.packets)
    if (packet.pts > kLastTime || packet.pts < -kLastTime) packet.pts = libav::kNoTime;
  decode_all(
      bytes, index,
      [&](size_t packet, const kernels::Picture& picture) {
        if (index.frames.empty()) set_size(index, picture);
        if (!seen[packet] && may_show[packet]) index.frames.push_back(static_cast<uint32_t>(packet));
        seen[packet] = true;
        return true;
      },
      [&](size_t packet, int) { index.packets[packet].bad = true; });
  set_times(index, times);
}

void check_first_picture(const FileBytes& bytes, Index& index) {
  constexpr size_t kPatience = 100;
  bool found = false;
  const auto give_up = [&](size_t packet, int error) {
    TORCHDALI_CHECK_KIND(kData, packet < kPatience, "none of the first frames of ", bytes.name(),
                         " can be decoded: ", error_text(error));
  };
  decode_all(
      bytes, index,
      [&](size_t, const kernels::Picture& picture) {
        set_size(index, picture);
        found = true;
        return false;
      },
      give_up);
  TORCHDALI_CHECK_KIND(kData, found, "no frame of ", bytes.name(), " can be decoded");
}

}  // namespace torchdali::io::video
