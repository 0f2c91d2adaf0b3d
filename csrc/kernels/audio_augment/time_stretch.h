// SPDX-License-Identifier: Apache-2.0
// The inner loops of fn.time_stretch, and what the GPU shares with them.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// The number of candidates that are compared is a multiple of this.
constexpr int64_t kStretchLanes = 16;

// out[d] = the sum of (x[d + i] - target[i])^2 over i < count, in order, for d < candidates.
// `candidates` is a multiple of kStretchLanes; x has candidates + count - 1 elements.
void squared_distances(float* out, const float* x, const float* target, int64_t candidates,
                       int64_t count);

// out[i] = faded(from[i], to[i], weight), with a weight for each `channels` elements.
void cross_fade(float* out, const float* from, const float* to, const float* weights, int64_t count,
                int64_t channels);

// Not rounded where `from` equals `to`.
constexpr float faded(float from, float to, float weight) { return from + weight * (to - from); }

// Which frames a segment may fade to.
struct StretchCandidates {
  int64_t nominal, first, last;

  // The end of segment `k`, frame (k + 1) * overlap, is made of the input at that time * rate.
  static constexpr StretchCandidates of(int64_t k, double rate, int64_t overlap, int64_t search,
                                        int64_t frames) {
    const double end = static_cast<double>(k + 1) * static_cast<double>(overlap) * rate;
    // Halves go up, on the CPU as on the GPU.
    int64_t nominal = static_cast<int64_t>(end + 0.5) - overlap;  // NOLINT(*-incorrect-roundings)
    if (nominal < 0) nominal = 0;
    const int64_t first = nominal > search ? nominal - search : 0;
    // Frames after the end are used only if the nominal position has some.
    int64_t last = nominal + search;
    if (last > frames - overlap) last = frames - overlap;
    if (last < nominal) last = nominal;
    return {nominal, first, last};
  }
};

// A candidate and its distance.
struct StretchChoice {
  float distance;
  int64_t position;

  // Of equal distances, that nearest to the nominal position counts, then the first. NaN counts as
  // infinite.
  constexpr bool is_better_than(const StretchChoice& other, int64_t nominal) const {
    constexpr float kInfinity = __builtin_huge_valf();
    const float a = distance == distance ? distance : kInfinity;
    const float b = other.distance == other.distance ? other.distance : kInfinity;
    if (a != b) return a < b;
    const int64_t here = position - nominal, there = other.position - nominal;
    const int64_t near = here < 0 ? -here : here, far = there < 0 ? -there : there;
    return near != far ? near < far : here < there;
  }
};

}  // namespace torchdali::kernels
