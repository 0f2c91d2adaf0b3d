// SPDX-License-Identifier: Apache-2.0
#include "io/video/approximate_video.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/video/decoder_pool.h"
#include "io/video/library.h"
#include "io/video/packet_reader.h"

namespace torchdali::io::video {

ApproximateVideo::ApproximateVideo(std::unique_ptr<const FileBytes> bytes)
    : bytes_(std::move(bytes)) {
  const libav::Source source = bytes_->source();
  const DemuxerPtr demuxer = open_demuxer(*bytes_, source, true);
  libav::Facts facts;
  library().facts(demuxer.get(), &facts);
  facts_ = StreamFacts(facts);
  info_ = {.codec = facts.codec,
           .container = facts.container,
           .width = facts.width,
           .height = facts.height,
           .rotation = facts.rotation,
           .time_base = {facts.time_base.num, facts.time_base.den},
           .average_rate = {facts.average_rate.num, facts.average_rate.den}};
  const double unit = static_cast<double>(facts.time_base.num) / facts.time_base.den;
  const double rate = static_cast<double>(facts.average_rate.num) / facts.average_rate.den;
  TORCHDALI_CHECK_KIND(kData, unit > 0 && rate > 0, bytes_->name(),
                       " does not say how many frames per second it has", to_fix("use an index"));
  constexpr double kMost = 1 << 30;
  const double duration = static_cast<double>(std::max<int64_t>(facts.duration, 0)) * unit;
  frames_ = facts.frames > 0 ? facts.frames
                             : static_cast<int64_t>(std::min(std::round(duration * rate), kMost));
  TORCHDALI_CHECK_KIND(kData, frames_ > 0, bytes_->name(), " does not say how long it is",
                       to_fix("use an index"));
  step_ = 1 / (rate * unit);
  start_ = facts.start == libav::kNoTime ? 0 : facts.start;
}

int64_t ApproximateVideo::pts(int64_t frame) const {
  TORCHDALI_CHECK_KIND(kIndex, frame >= 0 && frame < frames_, "frame ", frame, " of ",
                       bytes_->name(), ", which has about ", frames_, " frames");
  return start_ + std::llround(static_cast<double>(frame) * step_);
}

void ApproximateVideo::decode(std::span<const int64_t> frames, const Use& use, int threads) const {
  if (frames.empty()) return;
  std::vector<size_t> order(frames.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(frames[a], a) < std::pair(frames[b], b); });
  const libav::Api& api = library();
  const libav::Source source = bytes_->source();
  const DemuxerPtr demuxer = open_demuxer(*bytes_, source, true);
  const DecoderSession session(facts_, threads);
  // A packet without a time has that of the packet before.
  int64_t time = start_;
  bool ended = false;
  const auto half = std::llround(step_ / 2);
  if (pts(frames[order.front()]) > start_)
    (void)api.seek_time(demuxer.get(), pts(frames[order.front()]));

  kernels::Picture picture;
  const char* format = "";
  bool supported = false;
  int64_t shown = 0;
  const auto next_picture = [&] {
    for (;;) {
      if (api.receive(session.get(), &picture, &shown, &format, &supported) == libav::kDone)
        return true;
      if (ended) return false;
      libav::Packet packet;
      if (api.next_packet(demuxer.get(), &packet) != libav::kDone) {
        ended = true;
        api.send_end(session.get());
        continue;
      }
      if (packet.discard) continue;
      time = packet.pts != libav::kNoTime   ? packet.pts
             : packet.dts != libav::kNoTime ? packet.dts
                                            : time;
      uint8_t* to = api.packet_buffer(session.get(), packet.size);
      TORCHDALI_CHECK_KIND(kRuntime, to != nullptr, "no memory for a packet");
      std::copy_n(packet.data, packet.size, to);
      (void)api.send(session.get(), time, packet.key);  // damaged ones are passed over
    }
  };
  bool has_picture = false;
  for (const size_t i : order) {
    const int64_t wanted = pts(frames[i]);
    // The first one at that time or later; a picture is valid until the next one is asked for.
    while (!has_picture || shown < wanted - half) {
      has_picture = next_picture();
      TORCHDALI_CHECK_KIND(kData, has_picture, "frame ", frames[i], " of ", bytes_->name(), " (",
                           seconds(frames[i]), " s) is after the last one",
                           to_fix("use an index, since the file does not have as many frames as it "
                                  "says"));
    }
    TORCHDALI_CHECK_KIND(kUnsupported, supported, bytes_->name(), " has pictures of format ",
                         format, ", which is not supported");
    TORCHDALI_CHECK_KIND(kUnsupported,
                         picture.width == info_.width && picture.height == info_.height,
                         bytes_->name(), " changes its size, which is not supported");
    use(i, picture);
  }
}

}  // namespace torchdali::io::video
