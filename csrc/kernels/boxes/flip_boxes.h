// SPDX-License-Identifier: Apache-2.0
// Mirroring of points and boxes, for the host and the GPU.
#pragma once

namespace torchdali::kernels {

// One axis of a box in an image of extent 1. `end` is its end or, if not `is_end`, its size.
struct BoxSide {
  float begin, end;
};
constexpr BoxSide mirrored_side(BoxSide side, bool is_end, bool mirrored) {
  float begin = side.begin, end = is_end ? side.end : side.end + side.begin;
  if (mirrored) {
    const float last = 1 - begin;
    begin = 1 - end;
    end = last;
  }
  return {begin, is_end ? end : end - begin};
}

}  // namespace torchdali::kernels
