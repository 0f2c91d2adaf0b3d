// SPDX-License-Identifier: Apache-2.0
#include "io/video/decoder_pool.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/video/library.h"

namespace torchdali::io::video {
namespace {

// Of decoders that are not in use.
constexpr size_t kMaxIdle = 64;
constexpr int64_t kMaxIdleBytes = int64_t{1} << 30;

std::string kind_of(const StreamFacts& facts, int threads, uint64_t file) {
  const libav::Facts& f = *facts;
  std::string kind = str_cat(f.codec, ' ', f.width, 'x', f.height, ' ', f.pixel_format, ' ', f.tag,
                             ' ', f.bits_per_sample, ' ', f.reorder, ' ', f.range, ' ', f.matrix,
                             ' ', f.field_order, ' ', threads, ' ', file, '\n');
  kind.append(reinterpret_cast<const char*>(facts.extradata().data()), facts.extradata().size());
  return kind;
}

}  // namespace

DecoderSession::DecoderSession(const StreamFacts& facts, int threads) {
  const libav::Facts f = facts.get();
  const int error = library().open_decoder(&f, threads, &decoder_);
  TORCHDALI_CHECK_KIND(kUnsupported, error >= 0, "FFmpeg has no decoder for ", f.codec, ": ",
                       error_text(error), to_fix("install an FFmpeg that has one"));
  // The pictures that a decoder keeps: those that others depend on, and those to be shown later.
  constexpr int64_t kPictures = 6;
  bytes_ = int64_t{f.width} * f.height * 3 / 2 * kPictures;
}

DecoderSession::~DecoderSession() {
  if (decoder_ != nullptr) library().close_decoder(decoder_);
}

void DecoderSession::flush() {
  library().flush(decoder_);
  ended = false;
}

struct DecoderPool::Impl {
  std::mutex mutex;
  std::list<std::unique_ptr<DecoderSession>> idle;  // the last one used is first
};

DecoderPool& DecoderPool::instance() {
  static DecoderPool pool;
  return pool;
}

// Never destroyed: threads may decode until the process ends.
DecoderPool::Impl& DecoderPool::impl() {
  static Impl& all = *new Impl;
  return all;
}

uint64_t DecoderPool::new_file() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

std::unique_ptr<DecoderSession> DecoderPool::take(const StreamFacts& facts, int threads,
                                                  uint64_t file, size_t key, int64_t frame,
                                                  bool private_to_file) {
  std::string kind = kind_of(facts, threads, private_to_file ? file : 0);
  std::unique_ptr<DecoderSession> session;
  {
    Impl& all = impl();
    const std::lock_guard lock(all.mutex);
    auto best = all.idle.end();
    for (auto i = all.idle.begin(); i != all.idle.end(); ++i) {
      const DecoderSession& s = **i;
      if (s.kind != kind) continue;
      if (s.file == file && !s.ended && s.next_packet >= key && s.next_frame <= frame) {
        best = i;
        break;
      }
      // One without a position rather than one that another clip may go on with.
      if (best == all.idle.end() || (**best).file != 0) best = i;
    }
    if (best != all.idle.end()) {
      session = std::move(*best);
      all.idle.erase(best);
    }
  }
  if (session == nullptr) {
    session = std::make_unique<DecoderSession>(facts, threads);
    session->kind = std::move(kind);
  } else if (session->file != file || session->ended || session->next_packet < key ||
             session->next_frame > frame) {
    session->flush();
    if (session->file != file) session->reader = nullptr;
    session->file = 0;
  }
  return session;
}

void DecoderPool::give(std::unique_ptr<DecoderSession> session) {
  std::vector<std::unique_ptr<DecoderSession>> dropped;  // closed without the lock
  Impl& all = impl();
  const std::lock_guard lock(all.mutex);
  all.idle.push_front(std::move(session));
  int64_t bytes = 0;
  for (const auto& s : all.idle) bytes += s->bytes();
  while (all.idle.size() > kMaxIdle || (bytes > kMaxIdleBytes && all.idle.size() > 1)) {
    bytes -= all.idle.back()->bytes();
    dropped.push_back(std::move(all.idle.back()));
    all.idle.pop_back();
  }
}

void DecoderPool::forget(uint64_t file) {
  Impl& all = impl();
  const std::lock_guard lock(all.mutex);
  for (auto& session : all.idle) {
    if (session->file == file) {
      session->flush();
      session->file = 0;
    }
    // Readers refer to their file. Those of another file have none: see take().
    if (session->reader != nullptr && session->file == 0) session->reader = nullptr;
  }
  std::erase_if(all.idle, [&](const auto& s) {
    return s->kind.find(str_cat(' ', file, '\n')) != std::string::npos && file != 0;
  });
}

}  // namespace torchdali::io::video
