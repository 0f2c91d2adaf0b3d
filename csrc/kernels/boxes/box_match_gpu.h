// SPDX-License-Identifier: Apache-2.0
// Matching of boxes and anchors (kernels/boxes/box_match.h), in four launches: scan, take, match,
// and the boxes and labels of all anchors. Boxes and anchors are float[..., 4].
#pragma once

#include "kernels/boxes/box_match.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// BoxCandidate[boxes, parts]: which anchor of every `parts`-th a box overlaps most. The last one of
// equal anchors.
struct ScanAnchorsTask : TaskBase {
  int64_t anchors = 0, parts = 1;
  BlobOffset anchor_list = 0;
};
struct ScanAnchorsKernel : Kernel<ScanAnchorsTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const kernels::Box box = static_cast<const kernels::Box*>(task.in)[i / task.parts];
    const auto* anchors = list<kernels::Box>(task.anchor_list);
    kernels::BoxCandidate best{-1, 0};
    for (int64_t a = i % task.parts; a < task.anchors; a += task.parts) {
      const float overlap = kernels::box_overlap(box, anchors[a]);
      if (overlap >= best.overlap) best = {overlap, static_cast<int32_t>(a)};
    }
    static_cast<kernels::BoxCandidate*>(task.out)[i] = best;
  }
};
TORCHDALI_GPU_KERNEL(ScanAnchorsKernel)

// int32[boxes]: the best candidate of each box.
struct TakeAnchorTask : TaskBase {
  int64_t parts = 1;
};
struct TakeAnchorKernel : Kernel<TakeAnchorTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const auto* candidates = static_cast<const kernels::BoxCandidate*>(task.in) + i * task.parts;
    kernels::BoxCandidate best = candidates[0];
    for (int64_t p = 1; p < task.parts; ++p) {
      const kernels::BoxCandidate next = candidates[p];
      const bool later = next.overlap == best.overlap && next.anchor > best.anchor;
      if (next.overlap > best.overlap || later) best = next;
    }
    static_cast<int32_t*>(task.out)[i] = best.anchor;
  }
};
TORCHDALI_GPU_KERNEL(TakeAnchorKernel)

// int32[anchors]: the box of each anchor, or -1.
struct MatchBoxesTask : TaskBase {
  int64_t boxes = 0;
  const int32_t* taken = nullptr;  // the anchor that each box has taken
  BlobOffset anchor_list = 0;
  float criteria = 0;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(taken);
  }
};
struct MatchBoxesKernel : Kernel<MatchBoxesTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const kernels::Box anchor = list<kernels::Box>(task.anchor_list)[i];
    float best = task.criteria;
    int32_t match = -1, forced = -1;
    for (int64_t b = 0; b < task.boxes; ++b) {
      const kernels::Box box = static_cast<const kernels::Box*>(task.in)[b];
      const float overlap = kernels::box_overlap(box, anchor);
      if (kernels::is_better_box(overlap, best, match >= 0 ? 1 : 0) != 0) {
        best = overlap;
        match = static_cast<int32_t>(b);
      }
      if (task.taken[b] == i) forced = static_cast<int32_t>(b);
    }
    static_cast<int32_t*>(task.out)[i] = forced >= 0 ? forced : match;
  }
};
TORCHDALI_GPU_KERNEL(MatchBoxesKernel)

// float[anchors, 4]: the box of each anchor, encoded.
struct EncodeBoxesTask : TaskBase {
  bool offset = false;
  kernels::BoxOffsets by = {};
  const int32_t* matches = nullptr;
  BlobOffset anchor_list = 0;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(matches);
  }
};
struct EncodeBoxesKernel : Kernel<EncodeBoxesTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    using kernels::CenterSize;
    const int32_t match = task.matches[i];
    CenterSize result = kernels::center_size(list<kernels::Box>(task.anchor_list)[i]);
    if (match >= 0) {
      const CenterSize box = kernels::center_size(static_cast<const kernels::Box*>(task.in)[match]);
      result = task.offset ? kernels::box_offset(box, result, task.by) : box;
    } else if (task.offset) {
      result = {};
    }
    static_cast<CenterSize*>(task.out)[i] = result;
  }
};
TORCHDALI_GPU_KERNEL(EncodeBoxesKernel)

// int32[anchors]: the label of each anchor's box, or 0. The input is the labels of the boxes.
struct LabelAnchorsTask : TaskBase {
  DType in_dtype = DType::kNone;
  const int32_t* matches = nullptr;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(matches);
  }
};
struct LabelAnchorsKernel : Kernel<LabelAnchorsTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int32_t match = task.matches[i];
    int32_t label = 0;
    if (match >= 0)
      with_type(task.in_dtype, [&]<class T>() {
        label = kernels::convert<int32_t>(static_cast<const T*>(task.in)[match]);
      });
    static_cast<int32_t*>(task.out)[i] = label;
  }
};
TORCHDALI_GPU_KERNEL(LabelAnchorsKernel)

}  // namespace torchdali::gpu
