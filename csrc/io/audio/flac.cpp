// SPDX-License-Identifier: Apache-2.0
#include "io/audio/flac.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"
#include "io/bytes.h"
#include "kernels/flac/crc.h"
#include "kernels/flac/frame_header.h"
#include "kernels/flac/subframe.h"

namespace torchdali::io {
namespace {

using Bytes = std::span<const uint8_t>;
using kernels::flac::FrameHeader;
using kernels::flac::Stereo;

bool starts_with(Bytes bytes, size_t at, const char* signature) {
  const size_t size = std::strlen(signature);
  return at <= bytes.size() && bytes.size() - at >= size &&
         std::memcmp(bytes.data() + at, signature, size) == 0;
}

// Where the file begins after an ID3v2 tag, which some programs put before it.
size_t skip_id3(Bytes bytes) {
  if (!starts_with(bytes, 0, "ID3") || bytes.size() < 10) return 0;
  size_t size = 10 + ((bytes[5] & 0x10) != 0 ? 10U : 0U);  // with a footer
  size += size_t{bytes[6] & 0x7fU} << 21 | size_t{bytes[7] & 0x7fU} << 14 |
          size_t{bytes[8] & 0x7fU} << 7 | (bytes[9] & 0x7fU);
  return size;
}

// A frame as it was decoded: channels one after another.
struct DecodedFrame {
  int64_t begin = 0, block = 0;  // samples of a channel
  size_t next = 0;               // the byte after it
  std::vector<int32_t> samples;
};

// How many headers of broken frames a search passes over: each of them may take the time of the
// rest of the file.
constexpr int kMostTries = 256;

class FlacReader final : public AudioReader {
 public:
  explicit FlacReader(Bytes bytes) : bytes_(bytes), header_(read_flac_header(bytes)) {
    info_ = {.frames = header_.frames,
             .channels = header_.channels,
             .rate = header_.rate,
             .format = "FLAC, " + std::to_string(header_.bits) + " bits"};
    examine_first_frame();
    frame_.next = header_.data;
    if (info_.frames == 0 && header_.data < bytes.size()) info_.frames = find_length();
    // Silence takes few bytes. A length that is unusual for a file of this size is trusted only if
    // its last frame is found, before memory is allocated for it.
    constexpr int64_t kUsual = 128;  // frames per byte
    if (info_.frames / kUsual > static_cast<int64_t>(bytes.size()))
      TORCHDALI_CHECK_KIND(kData, find_frame(info_.frames - 1),
                           "the FLAC file is broken or truncated: its header claims ", info_.frames,
                           " frames, more than its ", bytes.size(), " bytes have");
  }

  void seek(int64_t frame) override {
    TORCHDALI_ASSERT(frame >= 0 && frame <= info_.frames, "frame ", frame, " of ", info_.frames);
    next_ = frame;
    if (frame < info_.frames && !find_frame(frame)) raise_end(frame, "there is no such frame");
  }
  void read(float* out, int64_t frames) override { convert(out, frames); }
  void read(int16_t* out, int64_t frames) override { convert(out, frames); }
  void read(int32_t* out, int64_t frames) override { convert(out, frames); }

 private:
  [[noreturn]] void raise_end(int64_t at, const std::string& why) const {
    raise(ErrorKind::kData, "the FLAC file is broken or truncated: it claims ", info_.frames,
          " frames, but decoding ends after ", at, ": ", why);
  }

  // Numbers of frames count from that of the first one, which may be a part of a longer stream.
  void examine_first_frame() {
    FrameHeader h;
    if (read_header(header_.data, h) != nullptr) return;  // reading says what is wrong
    fixed_block_ = header_.min_block == header_.max_block ? header_.max_block : h.block;
    first_number_ = h.number;
  }

  const char* read_header(size_t at, FrameHeader& h) const {
    if (at >= bytes_.size()) return "the file ends before it";
    if (const char* error =
            kernels::flac::read_frame_header(bytes_.data() + at, bytes_.size() - at, h))
      return error;
    if (h.channels != header_.channels) return "its channels are not those of the file's header";
    if (h.bits != 0 && h.bits != header_.bits)
      return "its bit depth is not that of the file's header";
    return nullptr;
  }
  // The first sample of a frame; -1 if that cannot be.
  int64_t begin_of(const FrameHeader& h) const {
    if (h.number < first_number_) return -1;
    const uint64_t number = h.number - first_number_;  // less than 2^36
    return static_cast<int64_t>(h.variable ? number : number * static_cast<uint64_t>(fixed_block_));
  }

  // Decodes the frame at a byte. Null, or what is wrong; the frame is then empty.
  const char* decode(size_t at) {
    frame_.block = 0;
    FrameHeader h;
    if (const char* error = read_header(at, h)) return error;
    const auto block = static_cast<size_t>(h.block);
    const auto channels = static_cast<size_t>(h.channels);
    if (frame_.samples.size() < block * channels) frame_.samples.resize(block * channels);
    int32_t* out = frame_.samples.data();
    const Bytes body = bytes_.subspan(at);
    kernels::flac::BitReader bits(body.data() + h.bytes, body.size() - h.bytes);
    const bool wide = h.stereo != Stereo::kIndependent && header_.bits == 32;
    for (size_t c = 0; c < channels; ++c) {
      const bool side =
          h.stereo != Stereo::kIndependent && (c == 0) == (h.stereo == Stereo::kSideRight);
      const char* error = nullptr;
      if (side && wide) {
        wide_side_.resize(block);
        error = kernels::flac::decode_subframe(bits, 33, wide_side_.data(), h.block);
      } else {
        error = kernels::flac::decode_subframe(bits, header_.bits + (side ? 1 : 0), out + c * block,
                                               h.block);
      }
      if (bits.overran()) return "it is truncated";
      if (error != nullptr) return error;
    }
    bits.align_to_byte();
    const size_t size = h.bytes + bits.position() + 2;
    if (size > body.size()) return "it is truncated";
    if (kernels::flac::crc16(body.data(), size) != 0) return "its CRC-16 is wrong";
    if (wide)
      kernels::flac::decorrelate_wide(h.stereo, out, out + block, wide_side_.data(), h.block);
    else if (h.stereo != Stereo::kIndependent)
      kernels::flac::decorrelate(h.stereo, out, out + block, h.block);
    frame_.begin = begin_of(h);
    if (frame_.begin < 0) return "its number is less than that of the first frame";
    frame_.block = h.block;
    frame_.next = at + size;
    return nullptr;
  }

  bool has(int64_t sample) const {
    return sample >= frame_.begin && sample < frame_.begin + frame_.block;
  }

  // Decodes the next frame that begins at a byte in [at, end), as its checksums tell.
  bool decode_next(size_t at, size_t end) {
    end = std::min(end, bytes_.size());
    for (int tries = 0; at < end && tries < kMostTries;) {
      const void* found = std::memchr(bytes_.data() + at, 0xff, end - at);
      if (found == nullptr) return false;
      at = static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes_.data());
      FrameHeader h;
      if (read_header(at, h) == nullptr) {
        if (decode(at) == nullptr) return true;
        ++tries;
      }
      ++at;
    }
    return false;
  }

  // Decodes the frame that has a sample. False if there is none, or it is broken.
  bool find_frame(int64_t sample) {
    if (has(sample)) return true;
    // What is known: a frame begins at `low`, with low_sample; the sample is before `high`.
    size_t low = header_.data, high = bytes_.size();
    int64_t low_sample = 0, high_sample = std::max(info_.frames, sample + 1);
    if (frame_.block > 0 && frame_.begin + frame_.block <= sample) {
      low = frame_.next;
      low_sample = frame_.begin + frame_.block;
    }
    use_seek_table(sample, low, low_sample, high);
    // Interpolates, and halves where that does not help. Near the sample, frames in order.
    constexpr int64_t kNear = 2;  // blocks
    for (int i = 0; low < high && sample - low_sample > kNear * usual_block(); ++i) {
      const double part = static_cast<double>(sample - low_sample - usual_block()) /
                          static_cast<double>(high_sample - low_sample);
      const size_t range = high - low;
      const size_t guess =
          low + (i % 3 == 2
                     ? range / 2
                     : std::min(range - 1, static_cast<size_t>(part * static_cast<double>(range))));
      if (!decode_next(guess, high) || frame_.begin < low_sample) {
        if (guess == low) break;
        high = guess;  // no frame begins after it
      } else if (has(sample)) {
        return true;
      } else if (frame_.begin > sample) {
        high = guess;
        high_sample = std::min(high_sample, frame_.begin);
        if (guess == low) break;
      } else {
        low = frame_.next;
        low_sample = frame_.begin + frame_.block;
      }
    }
    for (size_t at = low; decode(at) == nullptr; at = frame_.next) {
      if (has(sample)) return true;
      if (frame_.begin > sample) return false;
    }
    return false;
  }
  int64_t usual_block() const { return std::max<int64_t>(fixed_block_, 16); }

  // Narrows a search by the points around the sample; a point counts if its frame is there.
  void use_seek_table(int64_t sample, size_t& low, int64_t& low_sample, size_t high) {
    constexpr size_t kPoint = 18;
    ByteReader in(header_.seek_table, Endian::kBig);
    uint64_t best = 0, best_offset = 0;
    while (in.left() >= kPoint) {
      const uint64_t point = in.u64(), offset = in.u64();
      in.skip(2);
      if (point > static_cast<uint64_t>(sample)) break;  // points are sorted, placeholders last
      if (offset >= bytes_.size() - header_.data) break;
      best = point;
      best_offset = offset;
    }
    const size_t at = header_.data + static_cast<size_t>(best_offset);
    if (best <= static_cast<uint64_t>(low_sample) || at <= low || at >= high) return;
    FrameHeader h;
    if (read_header(at, h) != nullptr || begin_of(h) != static_cast<int64_t>(best)) return;
    if (decode(at) != nullptr) return;
    low = at;
    low_sample = static_cast<int64_t>(best);
  }

  // The length of a file whose header does not have it: the end of its last frame. The one after it
  // may be truncated, as in files of other formats, but no more than one is left out.
  int64_t find_length() {
    int tries = 0;
    int64_t broken = -1;  // where the last of the broken frames begins
    for (size_t at = bytes_.size(); at-- > header_.data && tries < kMostTries;) {
      FrameHeader h;
      if (bytes_[at] != 0xff || read_header(at, h) != nullptr) continue;
      if (decode(at) == nullptr) {
        const int64_t end = frame_.begin + frame_.block;
        TORCHDALI_CHECK_KIND(kData, broken <= end, "the FLAC file is broken: its frames from byte ",
                             frame_.next, " on cannot be decoded");
        return end;
      }
      broken = std::max(broken, begin_of(h));
      ++tries;
    }
    TORCHDALI_CHECK_KIND(kData, tries < kMostTries, "the FLAC file is broken: none of its last ",
                         kMostTries, " frames is complete");
    const char* error = decode(header_.data);
    raise(ErrorKind::kData,
          "the FLAC file is broken or truncated: it has no complete frame: at byte ", header_.data,
          ", ", error == nullptr ? "it is empty" : error);
  }

  template <class T>
  void convert(T* out, int64_t frames) {
    TORCHDALI_ASSERT(frames >= 0 && frames <= info_.frames - next_, frames, " frames at ", next_,
                     " of ", info_.frames);
    while (frames > 0) {
      if (!has(next_)) decode_in_order();
      const int64_t from = next_ - frame_.begin;
      const int64_t count = std::min(frames, frame_.block - from);
      kernels::flac::interleave(frame_.samples.data() + from, frame_.block, info_.channels,
                                header_.bits, out, count);
      out += count * info_.channels;
      next_ += count;
      frames -= count;
    }
  }

  void decode_in_order() {
    if (next_ == 0) frame_.next = header_.data;
    else if (frame_.begin + frame_.block != next_ && !find_frame(next_))
      raise_end(next_, "there is no such frame");
    if (has(next_)) return;
    const size_t at = frame_.next;
    const char* error = decode(at);
    if (error == nullptr && frame_.begin != next_) {
      frame_.block = 0;
      error = "its number is not the next one";
    }
    if (error != nullptr)
      raise_end(next_, "in the frame at byte " + std::to_string(at) + ", " + error);
  }

  Bytes bytes_;
  FlacHeader header_;
  DecodedFrame frame_;
  std::vector<int64_t> wide_side_;
  int64_t fixed_block_ = 0, next_ = 0;
  uint64_t first_number_ = 0;
};

}  // namespace

bool is_flac(Bytes bytes) { return starts_with(bytes, skip_id3(bytes), "fLaC"); }

FlacHeader read_flac_header(Bytes bytes) {
  constexpr uint8_t kStreamInfo = 0, kSeekTable = 3, kForbidden = 127;
  constexpr size_t kStreamInfoBytes = 34;
  FlacHeader header;
  ByteReader in(bytes, Endian::kBig);
  in.seek(skip_id3(bytes) + 4);
  bool last = false;
  for (bool first = true; !last; first = false) {
    const size_t at = in.position();
    TORCHDALI_CHECK_KIND(kData, in.left() >= 4,
                         "the FLAC file is truncated: its metadata continue at byte ", at,
                         ", but it has ", bytes.size(), " bytes");
    const uint32_t word = in.u32();
    last = (word >> 31) != 0;
    const auto type = static_cast<uint8_t>(word >> 24 & 0x7f);
    const size_t size = word & 0xffffff;
    TORCHDALI_CHECK_KIND(kData, type != kForbidden,
                         "the FLAC file is broken: the metadata at byte ", at,
                         " have the forbidden type 127");
    TORCHDALI_CHECK_KIND(
        kData, first == (type == kStreamInfo),
        "the FLAC file is broken: its metadata must begin with one STREAMINFO, got "
        "type ",
        static_cast<int>(type), " at byte ", at);
    TORCHDALI_CHECK_KIND(kData, size <= in.left(),
                         "the FLAC file is truncated: the metadata at byte ", at, " have ", size,
                         " bytes, ", in.left(), " are left");
    const Bytes block = in.take(size);
    if (type == kSeekTable) header.seek_table = block;
    if (type != kStreamInfo) continue;
    TORCHDALI_CHECK_KIND(kData, size >= kStreamInfoBytes,
                         "the FLAC file is broken: its STREAMINFO has ", size, " bytes, expected ",
                         kStreamInfoBytes);
    ByteReader info(block, Endian::kBig);
    header.min_block = info.u16();
    header.max_block = info.u16();
    info.skip(6);  // sizes of frames
    const uint64_t packed = info.u64();
    header.rate = static_cast<int64_t>(packed >> 44);
    header.channels = static_cast<int>(packed >> 41 & 7) + 1;
    header.bits = static_cast<int>(packed >> 36 & 31) + 1;
    header.frames = static_cast<int64_t>(packed & 0xfffffffff);
    TORCHDALI_CHECK_KIND(kData, header.rate > 0,
                         "the FLAC file is broken: it claims a sample rate of 0");
    TORCHDALI_CHECK_KIND(kData, header.bits >= 4, "the FLAC file is broken: it claims samples of ",
                         header.bits, " bits, expected 4 to 32");
    TORCHDALI_CHECK_KIND(kData, header.max_block >= header.min_block && header.max_block > 0,
                         "the FLAC file is broken: it claims blocks of ", header.min_block, " to ",
                         header.max_block, " samples");
  }
  header.data = in.position();
  return header;
}

std::unique_ptr<AudioReader> open_flac(Bytes bytes) { return std::make_unique<FlacReader>(bytes); }

}  // namespace torchdali::io
