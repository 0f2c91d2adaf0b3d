// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/scan/scan_segments.h"

#include <cstring>

namespace torchdali::io::jpeg {
namespace {

// Zeros after an interval: the bytes that a block may read, and those that are read ahead.
constexpr size_t kZeros = kernels::kJpegMcuBytes + 2 * sizeof(uint64_t);

}  // namespace

ScanSegments::ScanSegments(size_t bytes, ScratchMemory& scratch)
    : begin_(static_cast<uint8_t*>(scratch.allocate(bytes + kZeros))), end_(begin_) {}

void ScanSegments::start(Bytes bytes) {
  rest_ = bytes;
  fill();
}

void ScanSegments::fill() {
  end_ = begin_;
  for (;;) {
    const auto* mark =
        rest_.empty() ? nullptr
                      : static_cast<const uint8_t*>(std::memchr(rest_.data(), 0xFF, rest_.size()));
    const size_t plain = mark ? static_cast<size_t>(mark - rest_.data()) : rest_.size();
    if (plain) std::memcpy(end_, rest_.data(), plain);
    end_ += plain;
    rest_ = rest_.subspan(plain);
    if (rest_.size() < 2 || rest_[1] != 0) break;
    *end_++ = 0xFF;
    rest_ = rest_.subspan(2);
  }
  std::memset(end_, 0, kZeros);
  bits_ = {.next = begin_};
}

bool ScanSegments::restart(int number) {
  if (!all_used()) return false;
  while (rest_.size() >= 2 && rest_[1] == 0xFF) rest_ = rest_.subspan(1);
  if (rest_.size() < 2 || rest_[1] != 0xD0 + number) return false;
  rest_ = rest_.subspan(2);
  fill();
  return true;
}

bool ScanSegments::finish(Bytes& rest) const {
  rest = rest_;
  return all_used();
}

}  // namespace torchdali::io::jpeg
