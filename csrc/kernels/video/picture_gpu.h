// SPDX-License-Identifier: Apache-2.0
// Pictures of videos to pixels on the GPU: colors, rotation and element type in one kernel,
// bit-identical to to_rgb.h on the CPU.
#pragma once

#include "kernels/gpu/runs.h"
#include "kernels/video/yuv_scalar.h"

namespace torchdali::gpu {

// A frame [height, width, channels], `out`, of uint8 or float. `size` counts runs of up to
// kPictureRun pixels of a row. picture_task.h fills it in.
inline constexpr int kPictureRun = 4;
struct PictureTask : TaskBase {
  // Where the samples of each kind are, as in kernels::PictureRows.
  const uint8_t* first[3] = {};  // device memory; null: all are in the middle of their range
  int64_t stride[3] = {};
  int step[3] = {}, shift_x[3] = {}, shift_y[3] = {};
  int sample_bytes = 1, shift = 8;  // shift: bits that a stored sample lacks to 16
  kernels::PixelMap map;
  // Of the output, and how the axes of the picture are swapped and reversed in it.
  int width = 0, height = 0, channels = 3;
  bool transpose = false, flip_rows = false, flip_columns = false;
  DType dtype = DType::kUInt8;
  float scale = 1;        // of floats
  bool is_color = false;  // no picture: `color` everywhere
  uint8_t color[3] = {};
};
struct PictureKernel : Kernel<PictureTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    Unravel index(i);
    const auto x =
        static_cast<int>(index.axis((task.width + kPictureRun - 1) / kPictureRun)) * kPictureRun;
    const auto y = static_cast<int>(index.rest());
    TORCHDALI_KERNEL_CHECK(y < task.height);
    const int count = task.width - x < kPictureRun ? task.width - x : kPictureRun;
    const int64_t at = (static_cast<int64_t>(y) * task.width + x) * task.channels;
    if (task.channels == 1) return store<1>(x, y, count, at);
    return store<3>(x, y, count, at);
  }

 private:
  template <int kChannels>
  TORCHDALI_HOST_DEVICE void store(int x, int y, int count, int64_t at) const {
    uint8_t pixels[kPictureRun * kChannels];
    TORCHDALI_UNROLL
    for (int k = 0; k < kPictureRun; ++k)
      pixel<kChannels>(k < count ? x + k : x, y, pixels + k * kChannels);
    if (task.dtype == DType::kFloat) {
      float* out = static_cast<float*>(task.out) + at;
      TORCHDALI_UNROLL
      for (int k = 0; k < kPictureRun * kChannels; ++k)
        if (k < count * kChannels) out[k] = static_cast<float>(pixels[k]) * task.scale;
      return;
    }
    uint8_t* out = static_cast<uint8_t*>(task.out) + at;
    if (count == kPictureRun) return store_bytes_run(out, pixels);
    TORCHDALI_UNROLL
    for (int k = 0; k < kPictureRun * kChannels; ++k)
      if (k < count * kChannels) out[k] = pixels[k];
  }
  // Pixel (x, y) of the output.
  template <int kChannels>
  TORCHDALI_HOST_DEVICE void pixel(int x, int y, uint8_t* out) const {
    if (task.is_color) {
      TORCHDALI_UNROLL
      for (int c = 0; c < kChannels; ++c) out[c] = task.color[c];
      return;
    }
    int row = task.transpose ? x : y, column = task.transpose ? y : x;
    const int rows = task.transpose ? task.width : task.height;
    const int columns = task.transpose ? task.height : task.width;
    if (task.flip_rows) row = rows - 1 - row;
    if (task.flip_columns) column = columns - 1 - column;
    const int a = sample(0, column, row), b = sample(1, column, row), d = sample(2, column, row);
    TORCHDALI_UNROLL
    for (int c = 0; c < kChannels; ++c) out[c] = kernels::yuv_scalar::channel(task.map, c, a, b, d);
  }
  // The centered sample of kind k at a pixel of the picture.
  TORCHDALI_HOST_DEVICE int sample(int k, int x, int y) const {
    if (task.first[k] == nullptr) return 0;
    const uint8_t* at =
        task.first[k] + (y >> task.shift_y[k]) * task.stride[k] +
        static_cast<int64_t>((x >> task.shift_x[k]) * task.step[k]) * task.sample_bytes;
    unsigned value = *at;
    if (task.sample_bytes == 2) {
      TORCHDALI_KERNEL_CHECK(is_aligned(at, 2));
      value = *reinterpret_cast<const uint16_t*>(at);
    }
    return kernels::yuv_scalar::centered(value, task.shift);
  }
};
TORCHDALI_GPU_KERNEL(PictureKernel)

}  // namespace torchdali::gpu
