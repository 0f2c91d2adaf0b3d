// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/scan/scan_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace torchdali::io::jpeg {
namespace {

// New bytes at a time: small enough for the first cache, with the tables and some blocks.
constexpr size_t kChunk = size_t{16} << 10;
constexpr size_t kReserve = kernels::kJpegMcuBytes;
// After the last byte of an interval: up to seven bytes are read ahead of the codes when an MCU
// begins, and a word when it ends.
constexpr size_t kZeros = kReserve + 2 * sizeof(uint64_t);
// Before the window: bytes with unused bits. position() needs to know whether they were stuffed.
constexpr size_t kBack = sizeof(uint64_t);

// Counts bytes that are 0xFF, in 8-bit counters while these cannot overflow. std::count takes 5 %
// of the time of a region, this less than 1 %.
int64_t count_stuffed(const uint8_t* begin, const uint8_t* end) {
  constexpr int64_t kLanes = 64;
  int64_t total = 0;
  while (end - begin >= kLanes) {
    std::array<uint8_t, kLanes> lanes{};
    const int64_t steps = std::min<int64_t>((end - begin) / kLanes, 255);
    for (int64_t i = 0; i < steps; ++i, begin += kLanes)
      for (size_t k = 0; k < kLanes; ++k) lanes[k] += begin[k] == 0xFF;
    total = std::accumulate(lanes.begin(), lanes.end(), total);
  }
  return total + std::count(begin, end, uint8_t{0xFF});
}

}  // namespace

ScanBytes::ScanBytes(Bytes bytes, ScratchMemory& scratch)
    : begin_(bytes.data()), from_(begin_), from_end_(begin_ + bytes.size()) {
  // The rest of the last window is kept before the new bytes.
  auto* memory = static_cast<uint8_t*>(scratch.allocate(kBack + kReserve + kChunk + kZeros));
  std::memset(memory, 0, kBack);
  window_ = memory + kBack;
  end_ = window_;
  bits_.next = window_;
  anchor_ = window_;
  anchor_from_ = from_;
  fill();
}

bool ScanBytes::overrun() const { return bits_before() > (end_ - window_) * 8; }

// Moves the anchor to the byte with the next bit; returns its offset in the file.
const uint8_t* ScanBytes::advance_anchor() {
  const uint8_t* to = window_ + (bits_before() >> 3);
  anchor_from_ += to - anchor_ + count_stuffed(anchor_, to);
  anchor_ = to;
  return anchor_from_;
}

uint64_t ScanBytes::position() {
  return static_cast<uint64_t>(advance_anchor() - begin_) * 8 +
         static_cast<uint64_t>(bits_before() & 7);
}

bool ScanBytes::seek(uint64_t position) {
  const uint64_t offset = position >> 3;
  const int used = static_cast<int>(position & 7);
  if (offset > static_cast<uint64_t>(from_end_ - begin_)) return false;
  const uint8_t* to = begin_ + offset;
  const uint8_t* inside = nullptr;
  if (to >= anchor_from_ && to < from_)
    inside = anchor_ + (to - anchor_from_ - count_stuffed(anchor_from_, to));
  const bool refill = inside < window_;
  if (refill) {
    inside = end_ = window_;
    from_ = to;
    at_marker_ = false;
  }
  bits_ = {.next = inside};
  anchor_ = inside;
  anchor_from_ = to;
  if (refill) fill();
  if (used == 0) return true;
  if (bits_.next == end_) return false;
  bits_ = {.next = bits_.next + 1,
           .bits = static_cast<uint64_t>(*bits_.next) << (56 + used),
           .count = 8 - used};
  return true;
}

// Moves the rest to the front and adds a chunk, or zeros after the end of the interval.
void ScanBytes::fill() {
  // Never past the end here: an MCU is shorter than the distance of the limit. Bytes before `next`
  // that are not used up are in bits_.bits.
  const auto left = static_cast<size_t>(end_ - bits_.next);
  if (follow_) {
    advance_anchor();
    anchor_ -= bits_.next - window_;
  }
  std::memmove(window_ - kBack, bits_.next - kBack, kBack + left);
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
  // The interval continues after the window, and an MCU cannot have used the whole rest.
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
  anchor_ = window_;
  anchor_from_ = from_;
  fill();
  return true;
}

}  // namespace torchdali::io::jpeg
