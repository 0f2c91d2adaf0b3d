// SPDX-License-Identifier: Apache-2.0
// Boxes against anchors: box_encoder, one step after the other.
#pragma once

#include "kernels/boxes/box_match.h"
#include "kernels/gpu/functor.h"

namespace torchdali::gpu {

struct BoxGrid {
  const BoxTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const BoxTask& task = tasks[t];
    switch (task.step) {
      case BoxStep::kScan: return scan(task, i);
      case BoxStep::kTake: return take(task, i);
      case BoxStep::kMatch: return match(task, i);
      case BoxStep::kBoxes: return encode(task, i);
      case BoxStep::kLabels: return label(task, i);
    }
  }

 private:
  using Box = kernels::Box;
  using Candidate = kernels::BoxCandidate;

  TORCHDALI_HOST_DEVICE const Box* anchors(const BoxTask& task) const {
    return list_of<Box>(blob, task.anchor_list);
  }
  TORCHDALI_HOST_DEVICE static kernels::BoxOffsets offsets(const BoxTask& task) {
    kernels::BoxOffsets by{.scale = task.scale, .means = {}, .stds = {}};
    for (int k = 0; k < 4; ++k) {
      by.means[k] = task.means[k];
      by.stds[k] = task.stds[k];
    }
    return by;
  }
  // Of equal anchors the last one.
  TORCHDALI_HOST_DEVICE void scan(const BoxTask& task, int64_t i) const {
    const Box box = static_cast<const Box*>(task.in)[i / task.parts];
    Candidate best{-1, 0};
    for (int64_t a = i % task.parts; a < task.anchors; a += task.parts) {
      const float overlap = kernels::box_overlap(box, anchors(task)[a]);
      if (overlap >= best.overlap) best = {overlap, static_cast<int32_t>(a)};
    }
    static_cast<Candidate*>(task.out)[i] = best;
  }
  TORCHDALI_HOST_DEVICE static void take(const BoxTask& task, int64_t i) {
    const Candidate* candidates = static_cast<const Candidate*>(task.in) + i * task.parts;
    Candidate best = candidates[0];
    for (int64_t p = 1; p < task.parts; ++p) {
      const Candidate next = candidates[p];
      const bool later = next.overlap == best.overlap && next.anchor > best.anchor;
      if (next.overlap > best.overlap || later) best = next;
    }
    static_cast<int32_t*>(task.out)[i] = best.anchor;
  }
  TORCHDALI_HOST_DEVICE void match(const BoxTask& task, int64_t i) const {
    const Box anchor = anchors(task)[i];
    float best = task.criteria;
    int32_t match = -1, forced = -1;
    for (int64_t b = 0; b < task.boxes; ++b) {
      const Box box = static_cast<const Box*>(task.in)[b];
      const float overlap = kernels::box_overlap(box, anchor);
      if (kernels::is_better_box(overlap, best, match >= 0 ? 1 : 0) != 0) {
        best = overlap;
        match = static_cast<int32_t>(b);
      }
      if (static_cast<const int32_t*>(task.taken)[b] == i) forced = static_cast<int32_t>(b);
    }
    static_cast<int32_t*>(task.out)[i] = forced >= 0 ? forced : match;
  }
  TORCHDALI_HOST_DEVICE void encode(const BoxTask& task, int64_t i) const {
    const int32_t match = static_cast<const int32_t*>(task.matches)[i];
    kernels::CenterSize result = kernels::center_size(anchors(task)[i]);
    if (match >= 0) {
      const kernels::CenterSize box = kernels::center_size(static_cast<const Box*>(task.in)[match]);
      result = task.offset ? kernels::box_offset(box, result, offsets(task)) : box;
    } else if (task.offset) {
      result = {};
    }
    static_cast<kernels::CenterSize*>(task.out)[i] = result;
  }
  TORCHDALI_HOST_DEVICE static void label(const BoxTask& task, int64_t i) {
    const int32_t match = static_cast<const int32_t*>(task.matches)[i];
    int32_t label = 0;
    if (match >= 0)
      with_type(task.label_dtype, [&]<class T>() {
        label = kernels::convert<int32_t>(static_cast<const T*>(task.labels)[match]);
      });
    static_cast<int32_t*>(task.out)[i] = label;
  }
};

}  // namespace torchdali::gpu
