// SPDX-License-Identifier: Apache-2.0
// Contrast limited adaptive histogram equalization on the GPU, in three launches: count, make
// tables, apply them.
#pragma once

#include "kernels/color/clahe_scalar.h"
#include "kernels/gpu/atomics.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// kernels/color/clahe.h. `planes` is 1 where only the luma of three channels is equalized, else the
// number of channels.
struct ClaheTask : TaskBase {
  int channels = 1, planes = 1;
  kernels::ClaheTiles tiles;
  uint32_t* counts = nullptr;  // [planes, tiles, bins]
  uint8_t* tables = nullptr;   // [planes, tiles, bins]

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(counts);
    fn(tables);
  }
  // The value of `pixel` that is equalized in a plane.
  TORCHDALI_HOST_DEVICE uint8_t value(const uint8_t* pixel, int plane) const {
    return planes < channels ? kernels::clahe_scalar::luma(pixel) : pixel[plane];
  }
};

// Adds to `counts`, which are zeros before. `size` counts the pixels of all tiles of all planes.
struct ClaheCountKernel : Kernel<ClaheTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    namespace scalar = kernels::clahe_scalar;
    const kernels::ClaheTiles& tiles = task.tiles;
    Unravel index(i);
    const int64_t x = index.axis(tiles.columns * tiles.options.tiles_x);
    const int64_t y = index.axis(tiles.rows * tiles.options.tiles_y);
    const int64_t plane = index.rest();
    const int64_t tile = y / tiles.rows * tiles.options.tiles_x + x / tiles.columns;
    const int64_t pixel =
        scalar::reflect(y, tiles.height) * tiles.width + scalar::reflect(x, tiles.width);
    const uint8_t* in = static_cast<const uint8_t*>(task.in) + pixel * task.channels;
    const int bins = tiles.options.bins;
    const int bin = scalar::bin_of(task.value(in, static_cast<int>(plane)), bins);
    add_atomically(task.counts + (plane * tiles.count() + tile) * bins + bin, 1);
  }
};
TORCHDALI_GPU_KERNEL(ClaheCountKernel)

// Makes `tables` from `counts`, which it changes. `size` counts tables.
struct ClaheTableKernel : Kernel<ClaheTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = i * task.tiles.options.bins;
    kernels::clahe_scalar::make_table(task.tables + first, task.counts + first, task.tiles);
  }
};
TORCHDALI_GPU_KERNEL(ClaheTableKernel)

// Applies `tables`. `size` counts pixels.
struct ClaheApplyKernel : Kernel<ClaheTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    namespace scalar = kernels::clahe_scalar;
    const kernels::ClaheTiles& tiles = task.tiles;
    const int64_t across = tiles.options.tiles_x;
    Unravel index(i);
    const int64_t x = index.axis(tiles.width), y = index.rest();
    const kernels::ClaheColumn column = scalar::place(x, across, tiles.columns);
    const kernels::ClaheColumn row = scalar::place(y, tiles.options.tiles_y, tiles.rows);
    const uint8_t* in = static_cast<const uint8_t*>(task.in) + i * task.channels;
    uint8_t* out = static_cast<uint8_t*>(task.out) + i * task.channels;
    const int bins = tiles.options.bins;
    for (int plane = 0; plane < task.planes; ++plane) {
      const uint8_t value = task.value(in, plane);
      const uint8_t* tables =
          task.tables + plane * tiles.count() * bins + scalar::bin_of(value, bins);
      const auto entry = [&](int64_t tile_y, int64_t tile_x) {
        return tables[(tile_y * across + tile_x) * bins];
      };
      const uint8_t result = scalar::blend(
          entry(row.left, column.left), entry(row.left, column.right),
          entry(row.right, column.left), entry(row.right, column.right), row.weight, column.weight);
      if (task.planes == task.channels) out[plane] = result;
      else
        for (int c = 0; c < task.channels; ++c) out[c] = scalar::gained(in[c], result - value);
    }
  }
};
TORCHDALI_GPU_KERNEL(ClaheApplyKernel)

}  // namespace torchdali::gpu
