// SPDX-License-Identifier: Apache-2.0
#include "ops/audio/padded_signal.h"

#include <algorithm>

#include "kernels/audio/frames.h"

namespace torchdali {

PaddedSignal::PaddedSignal(SampleContext& ctx, SignalReader& in, int64_t before, int64_t after,
                           bool reflects)
    : in_(in),
      length_(in.length()),
      after_(after),
      reflects_(reflects && in.length() > 0),
      position_(-before) {
  if (!reflects_) return;
  // What is mirrored, and the sample at which it is.
  const auto kept = static_cast<size_t>(std::min(length_, std::max(before, after) + 1));
  tail_ = ctx.scratch<float>(kept);
  head_ = ctx.scratch<float>(kept);
  read_signal(head_.data(), static_cast<int64_t>(kept));
}

void PaddedSignal::read(float* out, int64_t count) {
  while (count > 0) {
    const int64_t done = read_some(out, count);
    out += done;
    count -= done;
    position_ += done;
  }
}

void PaddedSignal::skip(int64_t count) {
  float ignored[1024];
  for (int64_t n = 0; count > 0; count -= n) {
    n = std::min<int64_t>(count, std::size(ignored));
    read(ignored, n);
  }
}

int64_t PaddedSignal::read_some(float* out, int64_t count) {
  const auto head = static_cast<int64_t>(head_.size());
  if (position_ < 0) {
    count = std::min(count, -position_);
    for (int64_t i = 0; i < count; ++i)
      out[i] = reflects_ ? head_[kernels::reflect_index(position_ + i, length_)] : 0.0f;
  } else if (position_ < head) {
    count = std::min(count, head - position_);
    std::copy_n(head_.data() + position_, count, out);
  } else if (position_ < length_) {
    count = std::min(count, length_ - position_);
    read_signal(out, count);
  } else if (reflects_ && position_ < length_ + after_) {
    count = std::min(count, length_ + after_ - position_);
    const int64_t first = length_ - static_cast<int64_t>(tail_.size());
    for (int64_t i = 0; i < count; ++i)
      out[i] = tail_[kernels::reflect_index(position_ + i, length_) - first];
  } else {
    std::fill_n(out, count, 0.0f);
  }
  return count;
}

void PaddedSignal::read_signal(float* out, int64_t count) {
  in_.read(out, count);
  const auto kept = static_cast<int64_t>(tail_.size());
  if (count >= kept) {
    std::copy_n(out + count - kept, kept, tail_.data());
    return;
  }
  std::copy(tail_.begin() + count, tail_.end(), tail_.begin());
  std::copy_n(out, count, tail_.end() - count);
}

}  // namespace torchdali
