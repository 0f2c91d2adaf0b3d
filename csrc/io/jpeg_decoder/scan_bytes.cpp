// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/scan_bytes.h"

#include <algorithm>
#include <cstring>

namespace torchdali::io::jpeg {
namespace {

// New bytes at a time: small enough for the first cache, with the tables and some blocks.
constexpr size_t kChunk = size_t{16} << 10;
constexpr size_t kReserve = kernels::kJpegMcuBytes;
// Behind the last byte of an interval: up to seven bytes are read ahead of the codes when an MCU
// begins, and a word when it ends.
constexpr size_t kZeros = kReserve + 2 * sizeof(uint64_t);

}  // namespace

ScanBytes::ScanBytes(Bytes bytes, ScratchMemory& scratch)
    : from_(bytes.data()), from_end_(bytes.data() + bytes.size()) {
  // What is left of the last window comes before the new bytes.
  window_ = static_cast<uint8_t*>(scratch.allocate(kReserve + kChunk + kZeros));
  end_ = window_;
  bits_.next = window_;
  fill();
}

bool ScanBytes::overrun() const {
  return (bits_.next - window_) * 8 - bits_.count > (end_ - window_) * 8;
}

// Moves what is left to the front, adds a chunk, and zeros where the interval ends.
void ScanBytes::fill() {
  // Never past the end here: an MCU is shorter than the distance of the limit. Bytes before `next`
  // that are not used up are in bits_.bits.
  const auto left = static_cast<size_t>(end_ - bits_.next);
  std::memmove(window_, bits_.next, left);
  bits_.next = window_;
  end_ = window_ + left;
  size_t room = kChunk;
  while (room && !at_marker_) {
    const size_t have = std::min<size_t>(room, static_cast<size_t>(from_end_ - from_));
    const auto* mark = have ? static_cast<const uint8_t*>(std::memchr(from_, 0xFF, have)) : nullptr;
    const size_t plain = mark ? static_cast<size_t>(mark - from_) : have;
    std::memcpy(end_, from_, plain);
    end_ += plain;
    from_ += plain;
    room -= plain;
    if (!mark) {
      at_marker_ = from_ == from_end_;
    } else if (from_end_ - from_ >= 2 && from_[1] == 0) {
      *end_++ = 0xFF;
      from_ += 2;
      --room;
    } else {
      at_marker_ = true;
    }
  }
  std::memset(end_, 0, kZeros);
  limit_ = at_marker_ ? end_ : end_ - kReserve;
}

bool ScanBytes::prepare() {
  if (bits_.next <= limit_) [[likely]]
    return true;
  if (!at_marker_) {
    fill();
    return true;
  }
  return !overrun();
}

bool ScanBytes::restart(int number) {
  // The interval goes on behind the window, and an MCU cannot have used all that is left there.
  if (!at_marker_) return false;
  // All bytes are used; of the last one some bits may be left (T.81, F.1.2.3).
  const auto used = ((bits_.next - window_) * 8 - bits_.count + 7) >> 3;
  if (used != end_ - window_) return false;
  while (from_end_ - from_ >= 2 && from_[0] == 0xFF && from_[1] == 0xFF) ++from_;
  if (from_end_ - from_ < 2 || from_[0] != 0xFF || from_[1] != 0xD0 + number) return false;
  from_ += 2;
  at_marker_ = false;
  end_ = window_;
  bits_ = {.next = window_};
  fill();
  return true;
}

}  // namespace torchdali::io::jpeg
