// SPDX-License-Identifier: Apache-2.0
// Contrast limited adaptive histogram equalization: clahe, one step after the other.
#pragma once

#include "kernels/color/clahe_scalar.h"
#include "kernels/gpu/atomics.h"
#include "kernels/gpu/functor.h"

namespace torchdali::gpu {

struct ClaheGrid {
  const ClaheTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ClaheTask& task = tasks[t];
    switch (task.step) {
      case ClaheStep::kCount: return count(task, i);
      case ClaheStep::kTables: return make_table(task, i);
      case ClaheStep::kApply: return apply(task, i);
    }
  }

 private:
  // What is equalised, of the pixel at `at`.
  TORCHDALI_HOST_DEVICE static uint8_t value(const ClaheTask& task, const uint8_t* at, int plane) {
    return task.planes < task.channels ? kernels::clahe_scalar::luma(at) : at[plane];
  }

  TORCHDALI_HOST_DEVICE static void count(const ClaheTask& task, int64_t i) {
    namespace scalar = kernels::clahe_scalar;
    const kernels::ClaheTiles& tiles = task.tiles;
    Unravel index(i);
    const int64_t x = index.axis(tiles.columns * tiles.options.tiles_x);
    const int64_t y = index.axis(tiles.rows * tiles.options.tiles_y);
    const int64_t plane = index.rest();
    const int64_t tile = y / tiles.rows * tiles.options.tiles_x + x / tiles.columns;
    const int64_t pixel =
        scalar::reflect(y, tiles.height) * tiles.width + scalar::reflect(x, tiles.width);
    const uint8_t* at = static_cast<const uint8_t*>(task.in) + pixel * task.channels;
    const int bins = tiles.options.bins;
    const int bin = scalar::bin_of(value(task, at, static_cast<int>(plane)), bins);
    add_atomically(task.counts + (plane * tiles.count() + tile) * bins + bin, 1);
  }
  TORCHDALI_HOST_DEVICE static void make_table(const ClaheTask& task, int64_t i) {
    const int64_t first = i * task.tiles.options.bins;
    kernels::clahe_scalar::make_table(task.tables + first, task.counts + first, task.tiles);
  }
  TORCHDALI_HOST_DEVICE static void apply(const ClaheTask& task, int64_t i) {
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
      const uint8_t x_in = value(task, in, plane);
      const uint8_t* tables =
          task.tables + plane * tiles.count() * bins + scalar::bin_of(x_in, bins);
      const auto entry = [&](int64_t tile_y, int64_t tile_x) {
        return tables[(tile_y * across + tile_x) * bins];
      };
      const uint8_t result = scalar::blend(
          entry(row.left, column.left), entry(row.left, column.right),
          entry(row.right, column.left), entry(row.right, column.right), row.weight, column.weight);
      if (task.planes == task.channels) out[plane] = result;
      else
        for (int c = 0; c < task.channels; ++c) out[c] = scalar::gained(in[c], result - x_in);
    }
  }
};

}  // namespace torchdali::gpu
