// SPDX-License-Identifier: Apache-2.0
#include "io/video_clips/encoded_clip.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "io/video/decoder_pool.h"
#include "io/video/indexed_video.h"
#include "io/video/library.h"

namespace torchdali::io::video {
namespace {

struct CloseFilter {
  void operator()(libav::Filter* filter) const { library().close_filter(filter); }
};
using FilterPtr = std::unique_ptr<libav::Filter, CloseFilter>;

constexpr const char* kDamaged = "damaged data";

// Whether a packet of H.264 with start codes has a slice of an IDR picture (ITU-T H.264, table
// 7-1).
bool has_idr(std::span<const uint8_t> packet) {
  constexpr int kIdrSlice = 5, kTypeBits = 0x1F;
  for (size_t i = 0; i + 3 < packet.size(); ++i)
    if (packet[i] == 0 && packet[i + 1] == 0 && packet[i + 2] == 1 &&
        (packet[i + 3] & kTypeBits) == kIdrSlice)
      return true;
  return false;
}

void decode_run(const EncodedClip& clip, size_t begin, size_t end, const std::string& name,
                const std::function<void(size_t packet, const kernels::Picture&)>& use) {
  const libav::Api& api = library();
  DecoderSession session(clip.facts, 1);
  std::vector<bool> done(end - begin);
  const auto check = [&](bool good, size_t i, const std::string& why) {
    TORCHDALI_CHECK_KIND(kData, good, "frame ", clip.packets[i].frame, " of ", name,
                         " cannot be decoded: ", why,
                         to_fix("skip the file, or repair it with the program ffmpeg"));
  };
  const auto drain = [&] {
    kernels::Picture picture;
    int64_t mark = -1;
    const char* format = "";
    bool supported = false;
    while (api.receive(session.get(), &picture, &mark, &format, &supported) == libav::kDone) {
      const auto i = static_cast<size_t>(mark);
      if (i < begin || i >= end || clip.packets[i].frame < 0 || done[i - begin]) continue;
      check(supported && picture.width == clip.facts->width && picture.height == clip.facts->height,
            i, str_cat("it has the format ", format, ", ", picture.width, "x", picture.height));
      done[i - begin] = true;
      use(i, picture);
    }
  };
  for (size_t i = begin; i < end; ++i) {
    const EncodedPacket& packet = clip.packets[i];
    uint8_t* to = api.packet_buffer(session.get(), static_cast<int>(packet.size));
    TORCHDALI_CHECK_KIND(kRuntime, to != nullptr, "no memory for a packet of ", packet.size,
                         " bytes");
    std::memcpy(to, clip.bytes.data() + packet.offset, static_cast<size_t>(packet.size));
    const int error = api.send(session.get(), static_cast<int64_t>(i), packet.key);
    check(error >= 0 || packet.frame < 0, i, error_text(error));
    drain();
  }
  api.send_end(session.get());
  drain();
  for (size_t i = begin; i < end; ++i)
    check(clip.packets[i].frame < 0 || done[i - begin], i, "it is missing or damaged");
}

}  // namespace

// Numbers of ITU-T H.273, table 4, as FFmpeg has them.
bool set_colors(const StreamFacts& facts, kernels::Picture& picture) {
  constexpr int kFullRange = 2;  // FFmpeg's AVCOL_RANGE_JPEG
  picture.full_range =
      facts->range == kFullRange || std::string_view(facts->pixel_format).starts_with("yuvj");
  switch (facts->matrix) {
    case 1: picture.matrix = kernels::YuvMatrix::kBt709; return true;
    case 9:
    case 10: picture.matrix = kernels::YuvMatrix::kBt2020; return true;
    case 0:  // no matrix: RGB
    case 8: return false;
    default: picture.matrix = kernels::YuvMatrix::kBt601; return true;
  }
}

std::string IndexedVideo::encoded(std::span<const int64_t> frames, EncodedClip& out) const {
  const libav::Api& api = library();
  out = {.video = number_, .facts = index_.facts};
  const libav::Facts facts = index_.facts.get();
  libav::Filter* opened = nullptr;
  if (api.open_filter(&facts, &opened) < 0) return "no bitstream filter";
  const FilterPtr filter(opened);
  const std::string_view codec = facts.codec;
  out.header_in_stream = codec == "h264" || codec == "hevc";
  if (filter != nullptr) {
    const uint8_t* header = nullptr;
    int size = 0;
    api.filter_header(filter.get(), &header, &size);
    out.facts.mutable_extradata().assign(header, header + size);
  }
  PacketReader reader(*bytes_, index_);
  std::vector<uint8_t> buffer;
  std::vector<Wanted> all = sorted(frames);
  for (std::span<Wanted> left(all); !left.empty();) {
    const Run run = first_run(left);
    left = left.subspan(run.wanted.size());
    size_t wanted = 0;
    for (size_t i = run.key; i <= run.last_packet; ++i) {
      const IndexedPacket& packet = index_.packets[i];
      if (packet.bad) return kDamaged;
      const int64_t frame = frame_of_[i];
      const auto is_it = [frame](const Wanted& w) { return w.frame == frame; };
      const auto uses = std::count_if(run.wanted.begin(), run.wanted.end(), is_it);
      if (uses == 0 && packet.needed == 0) continue;
      reader.read(i, [&](int size) {
        buffer.resize(static_cast<size_t>(size));
        return buffer.data();
      });
      std::span<const uint8_t> bytes = buffer;
      libav::Packet changed;
      if (filter != nullptr) {
        if (api.filter_packet(filter.get(), buffer.data(), static_cast<int>(buffer.size()),
                              packet.key, &changed) != libav::kDone)
          return kDamaged;
        bytes = {changed.data, static_cast<size_t>(changed.size)};
      }
      // Whether a decoder begins there, and shows which of the first pictures, differs.
      if (i == run.key && codec == "h264" && !has_idr(bytes)) return "no IDR picture before it";
      EncodedPacket& to = out.packets.emplace_back();
      to = {.number = static_cast<int64_t>(i),
            .offset = std::ssize(out.bytes),
            .size = std::ssize(bytes),
            .key = packet.key,
            .start = i == run.key};
      out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
      if (uses > 0) to.frame = frame;
      wanted += static_cast<size_t>(uses);
    }
    if (wanted != run.wanted.size()) return kDamaged;
  }
  return "";
}

void decode_clip(const EncodedClip& clip, const std::string& name,
                 const std::function<void(size_t packet, const kernels::Picture&)>& use) {
  for (size_t begin = 0; begin < clip.packets.size();) {
    size_t end = begin + 1;
    while (end < clip.packets.size() && !clip.packets[end].start) ++end;
    decode_run(clip, begin, end, name, use);
    begin = end;
  }
}

}  // namespace torchdali::io::video
