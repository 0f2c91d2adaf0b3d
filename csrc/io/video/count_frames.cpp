// SPDX-License-Identifier: Apache-2.0
#include "io/video/count_frames.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "io/content_hash.h"
#include "io/video/decoder_pool.h"
#include "io/video/library.h"
#include "io/video/packet_reader.h"

namespace torchdali::io::video {
namespace {

// Decodes in order.
class Pass {
 public:
  Pass(const FileBytes& bytes, const Index& index)
      : bytes_(bytes), index_(index), session_(index.facts, 1), reader_(bytes, index) {}

  // use(packet, picture) returns whether to go on, on_error(packet, error) too.
  using Use = std::function<bool(size_t, const kernels::Picture&)>;
  using OnError = std::function<void(size_t, int)>;
  // The packets from `begin` up to `end`.
  void run(size_t begin, size_t end, const Use& use, const OnError& on_error) {
    const libav::Api& api = library();
    for (size_t i = begin; i <= end; ++i) {
      if (i < end) {
        reader_.read(i, [&](int size) { return api.packet_buffer(session_.get(), size); });
        const int sent = api.send(session_.get(), static_cast<int64_t>(i), index_.packets[i].key);
        if (sent != 0) on_error(i, sent);
      } else {
        api.send_end(session_.get());
      }
      const int got = receive(use);
      if (got < 0 && i < end) on_error(i, got);
      if (got == kStop) return;
    }
  }
  void flush() { session_.flush(); }

 private:
  static constexpr int kStop = 100;

  // Takes pictures until there are none. An error, or kStop if use() said so.
  int receive(const Use& use) {
    for (;;) {
      kernels::Picture picture;
      int64_t mark = -1;
      const char* format = "";
      bool supported = false;
      const int got = library().receive(session_.get(), &picture, &mark, &format, &supported);
      if (got != libav::kDone) return got;
      TORCHDALI_CHECK_KIND(kUnsupported, supported, bytes_.name(), " has pictures of format ",
                           format, ", which is not supported",
                           to_fix("convert it with the program ffmpeg: -pix_fmt yuv420p"));
      if (mark < 0 || mark >= static_cast<int64_t>(index_.packets.size())) continue;
      if (!use(static_cast<size_t>(mark), picture)) return kStop;
    }
  }

  const FileBytes& bytes_;
  const Index& index_;
  DecoderSession session_;
  PacketReader reader_;
};

uint64_t hash_of(const kernels::Picture& picture) {
  uint64_t hash = 0;
  const auto bytes = picture.bits > 8 ? 2 : 1;
  for (size_t plane = 0; plane < 3 && picture.planes[plane] != nullptr; ++plane) {
    const bool chroma = plane > 0 && picture.model == kernels::PictureModel::kYuv;
    const int x = chroma ? picture.chroma_shift_x : 0, y = chroma ? picture.chroma_shift_y : 0;
    const int rows = (picture.height + (1 << y) - 1) >> y;
    auto samples = static_cast<int64_t>((picture.width + (1 << x) - 1) >> x);
    if (picture.model == kernels::PictureModel::kGray && plane > 0) break;
    if (picture.model == kernels::PictureModel::kRgbPacked) samples *= picture.pixel_samples;
    if (chroma && picture.interleaved_chroma) samples *= 2;
    for (int row = 0; row < rows; ++row) {
      const uint8_t* from = picture.planes[plane] + row * picture.strides[plane];
      hash = hash * 0x9e3779b97f4a7c15 + content_hash({from, static_cast<size_t>(samples * bytes)});
    }
  }
  return hash;
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

// Keeps as starts those packets from where decoding gives the same pictures as from the beginning.
// `hashes`: of the picture of each packet.
void check_starts(Pass& pass, Index& index, const std::vector<uint64_t>& hashes) {
  std::vector<IndexedPacket>& packets = index.packets;
  std::vector<bool> is_frame(packets.size());
  for (const uint32_t frame : index.frames) is_frame[frame] = true;
  std::vector<size_t> starts;
  for (size_t i = 1; i < packets.size(); ++i)
    if (packets[i].start) starts.push_back(i);
  for (size_t s = 0; s < starts.size(); ++s) {
    const size_t begin = starts[s], next = s + 1 < starts.size() ? starts[s + 1] : packets.size();
    // With those that follow the next start and are shown before it.
    size_t end = next;
    while (end < packets.size() && (end == next || packets[end].pts < packets[next].pts)) ++end;
    std::vector<bool> right(end - begin);
    pass.flush();
    pass.run(
        begin, end,
        [&](size_t packet, const kernels::Picture& picture) {
          if (packet >= begin && packet < end)
            right[packet - begin] = hash_of(picture) == hashes[packet];
          return true;
        },
        [](size_t, int) {});
    for (size_t i = begin; i < end; ++i)
      if (is_frame[i] && i != next && packets[i].pts >= packets[begin].pts && !right[i - begin])
        packets[begin].start = false;
  }
}

}  // namespace

void count_by_decoding(const FileBytes& bytes, Index& index, const std::vector<PacketTimes>& times,
                       const std::vector<bool>& may_show) {
  constexpr int64_t kLastTime = int64_t{1} << 60;  // so that there are later ones
  std::vector<bool> seen(index.packets.size());
  std::vector<uint64_t> hashes(index.packets.size());
  index.frames.clear();
  for (IndexedPacket& packet : index.packets)
    if (packet.pts > kLastTime || packet.pts < -kLastTime) packet.pts = libav::kNoTime;
  Pass pass(bytes, index);
  pass.run(
      0, index.packets.size(),
      [&](size_t packet, const kernels::Picture& picture) {
        if (seen[packet]) return true;
        seen[packet] = true;
        hashes[packet] = hash_of(picture);
        if (index.frames.empty()) set_size(index, picture);
        if (may_show[packet]) index.frames.push_back(static_cast<uint32_t>(packet));
        return true;
      },
      [&](size_t packet, int) { index.packets[packet].bad = true; });
  set_times(index, times);
  check_starts(pass, index, hashes);
}

void check_first_picture(const FileBytes& bytes, Index& index) {
  constexpr size_t kPatience = 100;
  bool found = false;
  Pass(bytes, index)
      .run(
          0, index.packets.size(),
          [&](size_t, const kernels::Picture& picture) {
            set_size(index, picture);
            found = true;
            return false;
          },
          [&](size_t packet, int error) {
            TORCHDALI_CHECK_KIND(kData, packet < kPatience, "none of the first frames of ",
                                 bytes.name(), " can be decoded: ", error_text(error));
          });
  TORCHDALI_CHECK_KIND(kData, found, "no frame of ", bytes.name(), " can be decoded");
}

}  // namespace torchdali::io::video
