// SPDX-License-Identifier: Apache-2.0
// Rows of frames: a tile, or a part of an array [rows][frames].
#pragma once

#include <cstdint>

#include "core/audio/frame_lanes.h"

namespace torchdali::kernels {

template <class T>
struct FrameRows {
  T* data;
  int64_t stride = kFrameLanes;  // from one row to the next

  constexpr FrameRows from(int64_t frame) const { return {data + frame, stride}; }
};

}  // namespace torchdali::kernels
