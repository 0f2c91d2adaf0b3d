// SPDX-License-Identifier: Apache-2.0
// IndexedVideo: the VideoFile whose frames are known from an index.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "io/video/decoder_pool.h"
#include "io/video/file_bytes.h"
#include "io/video/index.h"
#include "io/video/video_file.h"

namespace torchdali::io::video {

class IndexedVideo final : public VideoFile {
 public:
  IndexedVideo(std::unique_ptr<const FileBytes> bytes, Index index);
  ~IndexedVideo() override;

  int64_t frames() const override { return static_cast<int64_t>(index_.frames.size()); }
  int64_t pts(int64_t frame) const override;
  bool constant_rate() const override { return constant_rate_; }
  void decode(std::span<const int64_t> frames, const Use& use, int threads) const override;
  const StreamFacts* facts() const override { return &index_.facts; }
  // In io/video_clips/.
  std::string encoded(std::span<const int64_t> frames, EncodedClip& out) const override;

 private:
  // Frames that are asked for: which, in ascending order, and for which i.
  struct Wanted {
    int64_t frame = 0;
    size_t i = 0;
    bool done = false;
  };
  // How a run of frames is decoded.
  struct Run {
    std::span<Wanted> wanted;
    size_t key = 0;          // the packet to start with
    size_t last_packet = 0;  // the last one of a wanted frame
    bool skip = true;        // pictures that nothing depends on
    bool go_on = false;      // the next frames are likely to be wanted next
    bool fresh = false;      // no decoder that has decoded packets before
  };
  size_t key_before(int64_t frame, int earlier) const;
  // Of frames in any order.
  std::vector<Wanted> sorted(std::span<const int64_t> frames) const;
  // The frames at the start of `wanted` that are decoded from one key frame.
  Run first_run(std::span<Wanted> wanted) const;
  void decode_run(const Run& run, const Use& use, int threads) const;
  // Returns FFmpeg's error if the packet should decode and does not; else 0.
  int send(DecoderSession& session, size_t packet, bool skippable) const;
  void check_sent(int error, size_t packet) const;
  void prime(DecoderSession& session) const;
  void feed(DecoderSession& session, const Run& run) const;
  // Takes pictures until the decoder needs a packet.
  void drain(DecoderSession& session, const Run& run, const Use& use) const;
  [[noreturn]] void raise_undecoded(int64_t frame) const;
  std::string describe(int64_t frame, size_t packet) const;

  std::unique_ptr<const FileBytes> bytes_;
  Index index_;
  std::vector<int64_t> frame_of_;  // of a packet; -1: none
  std::vector<size_t> keys_;       // packets, ascending
  bool complete_;                  // the extradata has all that a decoder needs before a key frame
  bool constant_rate_ = true;
  uint64_t number_;
  mutable std::atomic<int64_t> expected_ = 0;  // the frame after the last one
};

}  // namespace torchdali::io::video
