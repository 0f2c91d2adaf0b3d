// SPDX-License-Identifier: Apache-2.0
// Copies tiles of frames (core/audio/frame_lanes.h) to and from whole arrays.
#pragma once

#include <cstdint>

#include "core/audio/frame_lanes.h"

namespace torchdali::kernels {

// An array of frames: [rows][frames], or [frames][rows] if `time_first`.
struct FrameArray {
  int64_t rows = 0, frames = 0;
  bool time_first = false;
};

// Copies the frames `first`, `first` + 1, ... of a tile to `out`, until the tile or the array ends.
void store_tile(float* out, const FrameArray& array, int64_t first, const float* tile);
// Asks for the memory that store_tile() will write, some time before. The processor does not
// foresee it, as rows are far apart, and the stores would wait for each line.
void prefetch_tile(float* out, const FrameArray& array, int64_t first);
// Copies frames `first`, `first` + 1, ... of `in` to a tile. The lanes after the last frame are 0.
void load_tile(float* tile, const float* in, const FrameArray& array, int64_t first);

}  // namespace torchdali::kernels
