// SPDX-License-Identifier: Apache-2.0
// The width of a tile of frames.
#pragma once

namespace torchdali {

// Frames of a signal are computed together, one in each lane of a vector: a tile has the value
// `row` of frame `lane` at [row * kFrameLanes + lane].
inline constexpr int kFrameLanes = 16;

}  // namespace torchdali
