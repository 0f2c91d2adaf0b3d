// SPDX-License-Identifier: Apache-2.0
#include "ops/audio/stretched_signal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels/audio/time_stretch.h"

namespace torchdali {
namespace {

void add_channels(float* out, const float* in, int64_t frames, int64_t channels) {
  for (int64_t i = 0; i < frames; ++i, in += channels) {
    float sum = in[0];
    for (int64_t c = 1; c < channels; ++c) sum += in[c];
    out[i] = sum;
  }
}

void move_to_front(std::span<float> values, int64_t from, int64_t count) {
  std::memmove(values.data(), values.data() + from, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace

int64_t Stretching::output_frames() const {
  return std::llround(static_cast<double>(frames) / rate);
}

StretchedSignal::StretchedSignal(SampleContext& ctx, SignalReader& in, const Stretching& stretching)
    : SignalReader(stretching.output_frames() * stretching.channels), in_(in), s_(stretching) {
  const auto make = [&](int64_t count) { return ctx.scratch<float>(static_cast<size_t>(count)); };
  // More than 2 * (search + overlap) frames are never held.
  const int64_t candidates =
      (2 * s_.search + kernels::kStretchLanes) / kernels::kStretchLanes * kernels::kStretchLanes;
  const int64_t most = candidates + 2 * s_.overlap;
  frames_ = make(most * s_.channels);
  mono_ = s_.channels == 1 ? frames_ : make(most);
  target_ = make(s_.overlap * s_.channels);
  mono_target_ = s_.channels == 1 ? target_ : make(s_.overlap);
  distances_ = make(candidates);
  weights_ = make(s_.overlap);
  segment_ = make(s_.overlap * s_.channels);
  used_ = static_cast<int64_t>(segment_.size());
  std::fill(mono_.begin(), mono_.end(), 0.0f);
  constexpr double kPi = 3.14159265358979323846;
  for (int64_t i = 0; i < s_.overlap; ++i)
    weights_[static_cast<size_t>(i)] =
        static_cast<float>(0.5 - 0.5 * std::cos(kPi * (static_cast<double>(i) + 0.5) /
                                                static_cast<double>(s_.overlap)));
}

void StretchedSignal::read(float* out, int64_t count) {
  while (count > 0) {
    const auto size = static_cast<int64_t>(segment_.size());
    if (used_ == size) {
      make_segment();
      used_ = 0;
    }
    const int64_t n = std::min(count, size - used_);
    std::memcpy(out, segment_.data() + used_, static_cast<size_t>(n) * sizeof(float));
    used_ += n;
    out += n;
    count -= n;
  }
}

void StretchedSignal::hold(int64_t begin, int64_t end) {
  const int64_t channels = s_.channels;
  // Frames before `begin` that were not read yet are read in parts that fit.
  for (const auto most = static_cast<int64_t>(mono_.size()); end_ < begin;) {
    const int64_t n = std::min({begin - end_, most, std::max<int64_t>(s_.frames - end_, 0)});
    if (n > 0) in_.read(frames_.data(), n * channels);
    begin_ = end_ = n > 0 ? end_ + n : begin;
  }
  if (begin > begin_) {
    const int64_t kept = end_ - begin;
    move_to_front(frames_, (begin - begin_) * channels, kept * channels);
    if (channels > 1) move_to_front(mono_, begin - begin_, kept);
    begin_ = begin;
  }
  if (end <= end_) return;
  float* to = frames_.data() + (end_ - begin_) * channels;
  const int64_t missing = end - end_;
  const int64_t n = std::clamp<int64_t>(s_.frames - end_, 0, missing);
  if (n > 0) in_.read(to, n * channels);
  std::fill(to + n * channels, to + missing * channels, 0.0f);
  if (channels > 1) add_channels(mono_.data() + (end_ - begin_), to, missing, channels);
  end_ = end;
}

int64_t StretchedSignal::most_similar(int64_t nominal, int64_t first, int64_t last) {
  const int64_t count = last - first + 1;
  const int64_t candidates =
      (count + kernels::kStretchLanes - 1) / kernels::kStretchLanes * kernels::kStretchLanes;
  kernels::squared_distances(distances_.data(), mono_.data() + (first - begin_),
                             mono_target_.data(), candidates, s_.overlap);
  const auto distance = [&](int64_t q) { return distances_[static_cast<size_t>(q - first)]; };
  int64_t best = nominal;  // also if distances are NaN
  for (int64_t q = first; q <= last; ++q) {
    const float d = distance(q), least = distance(best);
    if (d < least || (d == least && std::abs(q - nominal) < std::abs(best - nominal))) best = q;
  }
  return best;
}

void StretchedSignal::make_segment() {
  const int64_t overlap = s_.overlap, channels = s_.channels;
  const double end = static_cast<double>(number_ + 1) * static_cast<double>(overlap) * s_.rate;
  ++number_;
  const int64_t nominal = std::max<int64_t>(std::llround(end) - overlap, 0);
  const int64_t first = std::max<int64_t>(nominal - s_.search, 0);
  // Frames after the end are used only if the nominal position has some.
  const int64_t last = std::max(nominal, std::min(nominal + s_.search, s_.frames - overlap));
  hold(std::min(next_, first), next_ + overlap);
  std::memcpy(target_.data(), frames_.data() + (next_ - begin_) * channels,
              target_.size() * sizeof(float));
  if (channels > 1)
    std::memcpy(mono_target_.data(), mono_.data() + (next_ - begin_),
                mono_target_.size() * sizeof(float));
  hold(first, last + overlap);
  const int64_t chosen = most_similar(nominal, first, last);
  kernels::cross_fade(segment_.data(), target_.data(),
                      frames_.data() + (chosen - begin_) * channels, weights_.data(), overlap,
                      channels);
  next_ = chosen + overlap;
}

}  // namespace torchdali
