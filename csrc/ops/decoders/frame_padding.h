// SPDX-License-Identifier: Apache-2.0
// What follows the last frame of a video or of a range: one rule for the decoder and the readers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/border.h"

namespace torchdali {

// `pad_mode`. Raises kValue.
struct PadMode {
  const char* name = "constant";
  bool pads = true;
  kernels::Border border = kernels::Border::kConstant;
};
const PadMode& pad_mode_of(std::string_view name);

// `fill_value`, one value or one for each channel, as a value for each. Raises kValue.
std::vector<uint8_t> fill_color(std::span<const int64_t> values, size_t channels);

// A range of frames is continued as an axis is at its border: what is reflected are all its frames,
// whatever the stride and the first frame of the sequence.
struct PaddedRange {
  int64_t begin = 0, size = 0;  // size > 0
  kernels::Border border = kernels::Border::kConstant;
};
// The frames at `first`, `first + stride`, ..., counted from the beginning of the range; -1: a
// frame that is filled. The product of length and stride has less than 63 bits.
void sequence_frames(const PaddedRange& range, int64_t first, int64_t stride, int64_t length,
                     std::vector<int64_t>& frames);

}  // namespace torchdali
