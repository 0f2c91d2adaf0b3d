// SPDX-License-Identifier: Apache-2.0
// Colors or gray from a sensor with a Bayer pattern, on the GPU.
#pragma once

#include "kernels/debayer/debayer_scalar.h"
#include "kernels/debayer/vng_scalar.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// `size` counts pixels.
struct DebayerTask : TypedTask {
  kernels::DebayerAlgorithm algorithm = kernels::DebayerAlgorithm::kBilinear;
  int64_t height = 3, width = 3;
  int64_t blue_y = 1, blue_x = 1;  // as in kernels::DebayerJob
};
struct DebayerKernel : Kernel<DebayerTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    if (task.algorithm == kernels::DebayerAlgorithm::kVng) vng(i);
    else if (task.in_dtype == DType::kUInt16) pixel<uint16_t>(i);
    else pixel<uint8_t>(i);
  }

 private:
  template <class T>
  TORCHDALI_HOST_DEVICE void pixel(int64_t i) const {
    Unravel index(i);
    const int64_t x = inner(index.axis(task.width), task.width);
    const int64_t y = inner(index.rest(), task.height);
    const T* at = static_cast<const T*>(task.in) + y * task.width + x;
    const T *above = at - task.width, *below = at + task.width;
    T* to = static_cast<T*>(task.out);
    const bool blue_row = y % 2 == task.blue_y;
    const bool color = blue_row == (x % 2 == task.blue_x);
    if (task.algorithm == kernels::DebayerAlgorithm::kGray) {
      const uint32_t own = blue_row ? kernels::kDebayerBlue : kernels::kDebayerRed;
      const uint32_t other = blue_row ? kernels::kDebayerRed : kernels::kDebayerBlue;
      const uint32_t beside = uint32_t{at[-1]} + at[1], over = uint32_t{*above} + *below;
      const uint32_t diagonal = uint32_t{above[-1]} + above[1] + below[-1] + below[1];
      to[i] = static_cast<T>(
          color ? kernels::debayer_gray_at_color(*at, beside + over, diagonal, own, other)
                : kernels::debayer_gray_at_green(*at, beside, over, own, other));
      return;
    }
    const bool edge_aware = task.algorithm == kernels::DebayerAlgorithm::kEdgeAware;
    const int32_t own = color ? *at : kernels::debayer_mean(at[-1], at[1]);
    const int32_t other = color ? kernels::debayer_mean(above[-1], above[1], below[-1], below[1])
                                : kernels::debayer_mean(*above, *below);
    const int32_t green =
        color ? kernels::debayer_green(at[-1], at[1], *above, *below, edge_aware) : *at;
    to[3 * i] = static_cast<T>(blue_row ? other : own);
    to[3 * i + 1] = static_cast<T>(green);
    to[3 * i + 2] = static_cast<T>(blue_row ? own : other);
  }
  struct Around {
    uint8_t values[5][5];
    TORCHDALI_HOST_DEVICE int32_t at(int y, int x) const { return values[2 + y][2 + x]; }
  };
  TORCHDALI_HOST_DEVICE void vng(int64_t i) const {
    Unravel index(i);
    const int64_t x = index.axis(task.width), y = index.rest();
    const auto* in = static_cast<const uint8_t*>(task.in);
    Around around{};
    for (int row = 0; row < 5; ++row)
      for (int column = 0; column < 5; ++column)
        around.values[row][column] = in[kernels::vng_inside(y + row - 2, task.height) * task.width +
                                        kernels::vng_inside(x + column - 2, task.width)];
    const bool blue_row = y % 2 == task.blue_y;
    const bool color = blue_row == (x % 2 == task.blue_x);
    const kernels::VngColors made =
        color ? kernels::vng_pixel<false>(around) : kernels::vng_pixel<true>(around);
    auto* to = static_cast<uint8_t*>(task.out);
    to[3 * i] = static_cast<uint8_t>(blue_row ? made.other : made.own);
    to[3 * i + 1] = static_cast<uint8_t>(made.green);
    to[3 * i + 2] = static_cast<uint8_t>(blue_row ? made.own : made.other);
  }
  TORCHDALI_HOST_DEVICE static int64_t inner(int64_t at, int64_t extent) {
    return at < 1 ? 1 : at > extent - 2 ? extent - 2 : at;
  }
};
TORCHDALI_GPU_KERNEL(DebayerKernel)

}  // namespace torchdali::gpu
