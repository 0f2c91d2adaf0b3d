// SPDX-License-Identifier: Apache-2.0
// Decoders of videos, which are expensive to make, for use by any file of the same kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "io/video/index.h"
#include "io/video/packet_reader.h"

namespace torchdali::io::video {

// A decoder, and where in a file it stands.
class DecoderSession {
 public:
  // Raises kUnsupported if FFmpeg has no decoder.
  DecoderSession(const StreamFacts& facts, int threads);
  ~DecoderSession();
  DecoderSession(const DecoderSession&) = delete;
  DecoderSession& operator=(const DecoderSession&) = delete;

  libav::Decoder* get() const { return decoder_; }
  int64_t bytes() const { return bytes_; }
  // Forgets what was decoded.
  void flush();

  std::string kind;   // decoders of the same kind are interchangeable after flush()
  uint64_t file = 0;  // what was decoded is of this one; 0: of none
  size_t next_packet = 0;
  int64_t next_frame = 0;  // frames before have been given out or skipped
  bool primed = false;     // it knows what only the first packet of its file says
  bool ended = false;      // it takes no packet before flush()
  std::unique_ptr<PacketReader> reader;

 private:
  libav::Decoder* decoder_ = nullptr;
  int64_t bytes_ = 0;  // about as much memory
};

// Any thread.
class DecoderPool {
 public:
  static DecoderPool& instance();

  // A number for a file, other than 0.
  static uint64_t new_file();
  // A decoder that is in the file between packet `key` and the frame, if there is one; else
  // any, flushed. `private_to_file`: its decoders are of no use for other files.
  std::unique_ptr<DecoderSession> take(const StreamFacts& facts, int threads, uint64_t file,
                                       size_t key, int64_t frame, bool private_to_file);
  void give(std::unique_ptr<DecoderSession> session);
  // To be called before a file ends.
  void forget(uint64_t file);

 private:
  DecoderPool() = default;
  struct Impl;
  static Impl& impl();
};

}  // namespace torchdali::io::video
