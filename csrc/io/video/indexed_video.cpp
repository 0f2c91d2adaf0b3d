// SPDX-License-Identifier: Apache-2.0
#include "io/video/indexed_video.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "io/video/bitstream/packet_facts.h"
#include "io/video/library.h"

namespace torchdali::io::video {
namespace {

// Pictures that a decoder may hold back, more than any codec does.
constexpr size_t kMostDelay = 64;

}  // namespace

IndexedVideo::IndexedVideo(std::unique_ptr<const FileBytes> bytes, Index index)
    : bytes_(std::move(bytes)),
      index_(std::move(index)),
      frame_of_(index_.packets.size(), -1),
      complete_(!index_.facts.extradata().empty() && is_known(index_.facts)),
      number_(DecoderPool::new_file()) {
  const libav::Facts& facts = *index_.facts;
  info_ = {.codec = facts.codec,
           .container = facts.container,
           .width = facts.width,
           .height = facts.height,
           .rotation = facts.rotation,
           .time_base = {facts.time_base.num, facts.time_base.den},
           .average_rate = {facts.average_rate.num, facts.average_rate.den}};
  for (size_t i = 0; i < index_.frames.size(); ++i)
    frame_of_[index_.frames[i]] = static_cast<int64_t>(i);
  for (size_t i = 0; i < index_.packets.size(); ++i)
    if (i == 0 || index_.packets[i].start) keys_.push_back(i);
  for (int64_t i = 2; i < frames() && constant_rate_; ++i)
    constant_rate_ = pts(i) - pts(i - 1) == pts(1) - pts(0);
}

IndexedVideo::~IndexedVideo() { DecoderPool::instance().forget(number_); }

int64_t IndexedVideo::pts(int64_t frame) const {
  TORCHDALI_CHECK_KIND(kIndex, frame >= 0 && frame < frames(), "frame ", frame, " of ",
                       bytes_->name(), ", which has ", frames(), " frames");
  return index_.packets[index_.frames[static_cast<size_t>(frame)]].pts;
}

size_t IndexedVideo::key_before(int64_t frame, int earlier) const {
  const size_t packet = index_.frames[static_cast<size_t>(frame)];
  auto key = std::upper_bound(keys_.begin(), keys_.end(), packet) - 1;
  // Frames that are shown before a key frame may depend on those before it.
  while (key != keys_.begin() && index_.packets[*key].pts > index_.packets[packet].pts) --key;
  for (; earlier > 0 && key != keys_.begin(); --earlier) --key;
  return *key;
}

std::string IndexedVideo::describe(int64_t frame, size_t packet) const {
  const IndexedPacket& at = index_.packets[packet];
  std::string text = str_cat("frame ", frame, " of ", bytes_->name(), " (", seconds(frame), " s");
  if (at.offset >= 0) text += str_cat(", byte ", at.offset);
  return text + ")";
}

void IndexedVideo::raise_undecoded(int64_t frame) const {
  raise(ErrorKind::kData, describe(frame, index_.frames[static_cast<size_t>(frame)]),
        " cannot be decoded: it is missing or damaged",
        to_fix("skip the file, or repair it with the program ffmpeg"));
}

IndexedVideo::Run IndexedVideo::first_run(std::span<Wanted> wanted) const {
  const auto packet_of = [&](const Wanted& w) -> size_t {
    return index_.frames[static_cast<size_t>(w.frame)];
  };
  Run run{.wanted = wanted.first(1),
          .key = key_before(wanted.front().frame, 0),
          .last_packet = packet_of(wanted.front())};
  size_t count = 1;
  for (; count < wanted.size(); ++count) {
    // To go on is cheaper if no key frame is skipped by not doing so.
    if (key_before(wanted[count].frame, 0) > run.last_packet + 1) break;
    run.last_packet = std::max(run.last_packet, packet_of(wanted[count]));
  }
  run.wanted = wanted.first(count);
  return run;
}

int IndexedVideo::send(DecoderSession& session, size_t packet, bool skippable) const {
  const libav::Api& api = library();
  const IndexedPacket& what = index_.packets[packet];
  const uint32_t bytes = skippable ? what.needed : what.size;
  if (bytes == 0) return 0;
  if (session.reader == nullptr) session.reader = std::make_unique<PacketReader>(*bytes_, index_);
  session.reader->read(packet, bytes,
                       [&](int size) { return api.packet_buffer(session.get(), size); });
  const int error = api.send(session.get(), static_cast<int64_t>(packet), what.key);
  return what.bad || frame_of_[packet] < 0 ? 0 : std::min(error, 0);
}

void IndexedVideo::check_sent(int error, size_t packet) const {
  TORCHDALI_CHECK_KIND(kData, error == 0, describe(frame_of_[packet], packet),
                       " cannot be decoded: ", error_text(error),
                       to_fix("skip the file, or repair it with the program ffmpeg"));
}

// Lets a decoder see what only the first packet says, as the encoder's name in MPEG-4.
void IndexedVideo::prime(DecoderSession& session) const {
  check_sent(send(session, 0, false), 0);
  session.flush();
  session.primed = true;
}

void IndexedVideo::feed(DecoderSession& session, const Run& run) const {
  const libav::Api& api = library();
  const size_t packet = session.next_packet;
  if (packet >= index_.packets.size() || (packet > run.last_packet && !run.go_on)) {
    api.send_end(session.get());
    session.ended = true;
    return;
  }
  const int64_t frame = frame_of_[packet];
  const auto last = run.wanted.back().frame;
  const auto wanted =
      std::lower_bound(run.wanted.begin(), run.wanted.end(), frame,
                       [](const Wanted& w, int64_t number) { return w.frame < number; });
  const bool is_wanted = wanted != run.wanted.end() && wanted->frame == frame;
  const bool skippable = run.skip && !is_wanted && frame < last;
  ++session.next_packet;
  const int error = send(session, packet, skippable);
  if (error == 0) return;
  // What comes after the wanted frames is read ahead, and its damage concerns those who want it.
  if (packet <= run.last_packet) check_sent(error, packet);
  api.send_end(session.get());
  session.ended = true;
}

void IndexedVideo::drain(DecoderSession& session, const Run& run, const Use& use) const {
  const libav::Api& api = library();
  for (;;) {
    kernels::Picture picture;
    int64_t mark = -1;
    const char* format = "";
    bool supported = false;
    const int result = api.receive(session.get(), &picture, &mark, &format, &supported);
    if (result == libav::kEnd) session.ended = true;
    if (result != libav::kDone) return;  // of an error, send() has told, or the frame is missing
    if (mark < 0 || mark >= static_cast<int64_t>(frame_of_.size())) continue;
    const int64_t frame = frame_of_[static_cast<size_t>(mark)];
    auto wanted =
        std::lower_bound(run.wanted.begin(), run.wanted.end(), frame,
                         [](const Wanted& w, int64_t number) { return w.frame < number; });
    session.next_frame = std::max(session.next_frame, frame + 1);
    if (frame < 0 || wanted == run.wanted.end() || wanted->frame != frame || wanted->done) continue;
    TORCHDALI_CHECK_KIND(kUnsupported, supported, describe(frame, static_cast<size_t>(mark)),
                         " has the format ", format, ", which is not supported",
                         to_fix("convert the file with the program ffmpeg: -pix_fmt yuv420p"));
    TORCHDALI_CHECK_KIND(kUnsupported,
                         picture.width == info_.width && picture.height == info_.height,
                         describe(frame, static_cast<size_t>(mark)), " is ", picture.width, "x",
                         picture.height, ", and the first frame is ", info_.width, "x",
                         info_.height, ": videos whose size changes are not supported",
                         to_fix("convert the file with the program ffmpeg"));
    for (; wanted != run.wanted.end() && wanted->frame == frame; ++wanted) {
      use(wanted->i, picture);
      wanted->done = true;
    }
    if (run.wanted.back().done) return;
  }
}

void IndexedVideo::decode_run(const Run& run, const Use& use, int threads) const {
  auto session =
      DecoderPool::instance().take(index_.facts, threads, number_, run.key,
                                   run.fresh ? -1 : run.wanted.front().frame, !complete_);
  if (session->file == 0) {
    if (!session->primed && !complete_ && run.key > 0) prime(*session);
    session->file = number_;
    session->next_packet = run.key;
    session->next_frame = 0;
  }
  const auto all_done = [&] {
    return std::all_of(run.wanted.begin(), run.wanted.end(),
                       [](const Wanted& w) { return w.done; });
  };
  // On an error the session ends here, so that its decoder is not used again.
  drain(*session, run, use);
  while (!run.wanted.back().done && !session->ended &&
         session->next_packet <= run.last_packet + kMostDelay) {
    feed(*session, run);
    drain(*session, run, use);
  }
  if (!all_done() && !session->ended) {
    library().send_end(session->get());
    session->ended = true;
    drain(*session, run, use);
  }
  DecoderPool::instance().give(std::move(session));
}

std::vector<IndexedVideo::Wanted> IndexedVideo::sorted(std::span<const int64_t> frames) const {
  std::vector<Wanted> all;
  all.reserve(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    (void)pts(frames[i]);  // checks the number
    all.push_back({.frame = frames[i], .i = i});
  }
  std::sort(all.begin(), all.end(), [](const Wanted& a, const Wanted& b) {
    return std::pair(a.frame, a.i) < std::pair(b.frame, b.i);
  });
  return all;
}

void IndexedVideo::decode(std::span<const int64_t> frames, const Use& use, int threads) const {
  std::vector<Wanted> all = sorted(frames);
  if (all.empty()) return;
  // A clip that follows the last one is taken to be one of a sequence, and so is the first one of
  // the file, unless it is so short that to begin anew is cheaper than to feed the decoder until it
  // gives its pictures out by itself.
  const int64_t first = all.front().frame, last = all.back().frame;
  const int64_t expected = expected_.exchange(last + 1);
  const bool in_sequence = first == 0 ? last > index_.facts->reorder
                                      : first >= expected && first - expected <= last - first;

  std::span<Wanted> left(all);
  while (!left.empty()) {
    Run run = first_run(left);
    left = left.subspan(run.wanted.size());
    run.go_on = in_sequence && left.empty();
    decode_run(run, use, threads);
    // Streams that are not what the index takes them for: from further before, all of it.
    for (const int earlier : {1, 1 << 30}) {
      for (size_t i = 0; i < run.wanted.size(); ++i) {
        if (run.wanted[i].done) continue;
        const size_t frame = static_cast<size_t>(run.wanted[i].frame);
        Run again{.wanted = run.wanted.subspan(i, 1),
                  .key = key_before(run.wanted[i].frame, earlier),
                  .last_packet = index_.frames[frame],
                  .skip = false,
                  .fresh = true};
        while (i + 1 < run.wanted.size() && run.wanted[i + 1].frame == run.wanted[i].frame) ++i;
        again.wanted = std::span(again.wanted.data(), run.wanted.data() + i + 1);
        decode_run(again, use, threads);
      }
    }
    for (const Wanted& wanted : run.wanted)
      if (!wanted.done) raise_undecoded(wanted.frame);
  }
}

}  // namespace torchdali::io::video
