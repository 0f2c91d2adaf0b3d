// SPDX-License-Identifier: Apache-2.0
#include "ops/audio_augment/stretched_signal.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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

void make_fade(std::span<float> weights) {
  constexpr double kPi = 3.14159265358979323846;
  const auto count = static_cast<double>(weights.size());
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] =
        static_cast<float>(0.5 - 0.5 * std::cos(kPi * (static_cast<double>(i) + 0.5) / count));
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
  make_fade(weights_);
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

int64_t StretchedSignal::most_similar(const kernels::StretchCandidates& candidates) {
  const int64_t first = candidates.first, count = candidates.last - first + 1;
  const int64_t rounded =
      (count + kernels::kStretchLanes - 1) / kernels::kStretchLanes * kernels::kStretchLanes;
  kernels::squared_distances(distances_.data(), mono_.data() + (first - begin_),
                             mono_target_.data(), rounded, s_.overlap);
  kernels::StretchChoice best{distances_[0], first};
  for (int64_t i = 1; i < count; ++i) {
    const kernels::StretchChoice choice{distances_[static_cast<size_t>(i)], first + i};
    if (choice.is_better_than(best, candidates.nominal)) best = choice;
  }
  return best.position;
}

void StretchedSignal::make_segment() {
  const int64_t overlap = s_.overlap, channels = s_.channels;
  const auto candidates =
      kernels::StretchCandidates::of(number_++, s_.rate, overlap, s_.search, s_.frames);
  hold(std::min(next_, candidates.first), next_ + overlap);
  std::memcpy(target_.data(), frames_.data() + (next_ - begin_) * channels,
              target_.size() * sizeof(float));
  if (channels > 1)
    std::memcpy(mono_target_.data(), mono_.data() + (next_ - begin_),
                mono_target_.size() * sizeof(float));
  hold(candidates.first, candidates.last + overlap);
  const int64_t chosen = most_similar(candidates);
  kernels::cross_fade(segment_.data(), target_.data(),
                      frames_.data() + (chosen - begin_) * channels, weights_.data(), overlap,
                      channels);
  next_ = chosen + overlap;
}

}  // namespace torchdali
