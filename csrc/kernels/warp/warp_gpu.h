// SPDX-License-Identifier: Apache-2.0
// Warping on the GPU, a pixel at a time: its position in the source, and the value there. Shares
// the arithmetic of kernels::WarpSampler.
#pragma once

#include <array>

#include "core/random.h"
#include "kernels/gpu/kernel.h"
#include "kernels/warp/warp.h"
#include "kernels/warp/warp_position.h"

namespace torchdali::gpu {

// How the positions in the source are computed.
enum class WarpMap : uint8_t { kAffine, kPerspective, kLists, kWaves, kSphere, kJitter };
// kernels/warp/warp.h. `size` counts pixels. Extents are D, H, W.
struct WarpTask : TypedTask {
  WarpMap map = WarpMap::kAffine;
  kernels::WarpFilter filter = kernels::WarpFilter::kLinear;
  kernels::Border border = kernels::Border::kClamp;
  bool volume = false, fixed_point = false, empty = false;
  int64_t in_extents[3] = {}, out_extents[3] = {}, channels = 1;
  // Outside the source: float[num_fills] before conversion, and uint64[channels], the bytes of an
  // element of the output.
  BlobOffset fills = 0, fill_bytes = 0;
  int64_t num_fills = 1;
  float matrix[12] = {};      // kAffine: rows; kPerspective: its first column
  double columns[6] = {};     // kPerspective: the others, row by row
  const void* lists[2] = {};  // kLists: x and y of each pixel, to which `shift` is added
  DType list_dtypes[2] = {DType::kFloat, DType::kFloat};
  float shift = 0;
  BlobOffset waves[2] = {};       // kWaves: float[H] is added to x, float[W] to y
  uint64_t seed = 0, sample = 0;  // kJitter
  int64_t degree = 0;
};
struct WarpKernel : Kernel<WarpTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = i * task.channels;  // of the output's elements
    if (task.empty) return fill(first);
    const Point at = point(i);
    if (task.fixed_point) return sample_fixed(at, first);
    with_type(task.in_dtype, [&]<class In>() {
      if (task.filter == kernels::WarpFilter::kNearest) copy_nearest<In>(at, first);
      else if (task.filter == kernels::WarpFilter::kLinear) blend<In>(at, first);
      else blend_window<In>(at, first);
    });
  }

 private:
  struct Point {
    float x = 0, y = 0, z = 0;
  };

  TORCHDALI_HOST_DEVICE Point point(int64_t i) const {
    Unravel index(i);
    const int64_t w = index.axis(task.out_extents[2]), h = index.axis(task.out_extents[1]);
    const int64_t d = index.rest();
    const auto middle = [](int64_t at) { return static_cast<float>(at) + 0.5f; };
    // The CPU computes positions in blocks of a row, as sums.
    const int64_t block = w / kernels::kWarpBlock * kernels::kWarpBlock;
    const auto in_block = static_cast<int32_t>(w - block);
    switch (task.map) {
      case WarpMap::kAffine: {
        const int columns = task.volume ? 4 : 3;
        float xyz[3] = {};
        for (int a = 0; a < columns - 1; ++a) {
          const float* m = task.matrix + a * columns;
          float base = m[columns - 1] + m[1] * middle(h);
          if (task.volume) base += m[2] * middle(d);
          xyz[a] = kernels::affine_position(m[0], base, block, in_block);
        }
        return {xyz[0], xyz[1], xyz[2]};
      }
      case WarpMap::kPerspective: {
        float values[3];
        for (int k = 0; k < 3; ++k) {
          const double base =
              task.columns[2 * k] * (static_cast<double>(h) + 0.5) + task.columns[2 * k + 1];
          values[k] =
              kernels::affine_position(task.matrix[k], static_cast<float>(base), block, in_block);
        }
        return {values[0] / values[2], values[1] / values[2], 0};
      }
      case WarpMap::kLists:
        return {load_float(task.lists[0], task.list_dtypes[0], i) + task.shift,
                load_float(task.lists[1], task.list_dtypes[1], i) + task.shift, 0};
      case WarpMap::kWaves:
        return {static_cast<float>(w) + list<float>(task.waves[0])[h],
                static_cast<float>(h) + list<float>(task.waves[1])[w], 0};
      case WarpMap::kSphere: {
        const kernels::SphereMap map(task.in_extents[1], task.in_extents[2]);
        const float x = map.from_middle(w, map.middle_x), y = map.from_middle(h, map.middle_y);
        const float scale = map.scale(x, y);
        return {x * scale + map.middle_x, y * scale + map.middle_y, 0};
      }
      case WarpMap::kJitter: {
        // Two draws a pixel, of the four in a block of the generator.
        const auto draws = draw_block(task.seed, task.sample, static_cast<uint64_t>(i) / 2);
        const bool second = i % 2 == 1;
        return {middle(w + kernels::jitter_shift(second ? draws[2] : draws[0], task.degree)),
                middle(h + kernels::jitter_shift(second ? draws[3] : draws[1], task.degree)), 0};
      }
    }
    return {};
  }

  // The draws of RandomStream.
  static constexpr std::array<uint32_t, 4> draw_block(uint64_t seed, uint64_t sample,
                                                      uint64_t number) {
    const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
    return philox4x32({low(sample), low(sample >> 32), low(number), low(number >> 32)},
                      {low(seed), low(seed >> 32)});
  }

  TORCHDALI_HOST_DEVICE void fill(int64_t first) const {
    for (int64_t c = 0; c < task.channels; ++c) fill_element(first, c);
  }
  TORCHDALI_HOST_DEVICE void fill_element(int64_t first, int64_t c) const {
    store_bytes(task.out, size_of(task.out_dtype), first + c, list<uint64_t>(task.fill_bytes)[c]);
  }
  TORCHDALI_HOST_DEVICE float fill_value(int64_t c) const {
    return list<float>(task.fills)[task.num_fills == 1 ? 0 : c];
  }

  TORCHDALI_HOST_DEVICE kernels::WarpTap tap(float at, int axis) const {
    const int64_t extent = task.in_extents[axis];
    if (!kernels::repeats(task.border)) return kernels::mapped_tap(at, extent, task.border);
    return kernels::AxisTaps(static_cast<int32_t>(extent),
                             task.border == kernels::Border::kClamp)(at);
  }
  TORCHDALI_HOST_DEVICE int64_t nearest(float at, int axis) const {
    const int64_t extent = task.in_extents[axis];
    if (!kernels::repeats(task.border)) return kernels::mapped_nearest(at, extent, task.border);
    const kernels::AxisNearest index(static_cast<int32_t>(extent));
    return task.border == kernels::Border::kClamp ? index.clamped(at) : index.inside(at);
  }

  TORCHDALI_HOST_DEVICE void sample_fixed(const Point& at, int64_t first) const {
    const kernels::WarpTap x = tap(at.x, 2), y = tap(at.y, 1);
    const kernels::FixedWeight w = kernels::fixed_weight(x.w0, x.w1, y.w0, y.w1);
    const int64_t row = task.in_extents[2] * task.channels;
    const uint8_t* upper = static_cast<const uint8_t*>(task.in) + y.i0 * row;
    const uint8_t* lower = static_cast<const uint8_t*>(task.in) + y.i1 * row;
    const int64_t left = x.i0 * task.channels, right = x.i1 * task.channels;
    for (int64_t c = 0; c < task.channels; ++c) {
      const int32_t sum = upper[left + c] * w.w00 + upper[right + c] * w.w01 +
                          lower[left + c] * w.w10 + lower[right + c] * w.w11 +
                          static_cast<int32_t>(fill_value(c)) * w.fill;
      static_cast<uint8_t*>(task.out)[first + c] = static_cast<uint8_t>(
          (sum + (1 << (kernels::kWarpWeightBits - 1))) >> kernels::kWarpWeightBits);
    }
  }

  template <class In>
  TORCHDALI_HOST_DEVICE void copy_nearest(const Point& at, int64_t first) const {
    const int64_t x = nearest(at.x, 2), y = nearest(at.y, 1);
    const int64_t z = task.volume ? nearest(at.z, 0) : 0;
    if (x < 0 || y < 0 || z < 0) return fill(first);
    const In* from = static_cast<const In*>(task.in) +
                     ((z * task.in_extents[1] + y) * task.in_extents[2] + x) * task.channels;
    with_type(task.out_dtype, [&]<class Out>() {
      for (int64_t c = 0; c < task.channels; ++c)
        static_cast<Out*>(task.out)[first + c] = kernels::convert<Out>(from[c]);
    });
  }

  template <class In>
  TORCHDALI_HOST_DEVICE void blend(const Point& at, int64_t first) const {
    const kernels::WarpTap x = tap(at.x, 2), y = tap(at.y, 1);
    kernels::WarpTap z{0, 0, 1, 0};
    if (task.volume) z = tap(at.z, 0);
    const int64_t row = task.in_extents[2] * task.channels, slice = task.in_extents[1] * row;
    const int64_t left = x.i0 * task.channels, right = x.i1 * task.channels;
    const int rows = task.volume ? 4 : 2;
    const In* from[4];
    float w0[4], w1[4], inside = 0;
    for (int k = 0; k < rows; ++k) {
      float w = k % 2 == 0 ? y.w0 : y.w1;
      int64_t offset = (k % 2 == 0 ? y.i0 : y.i1) * row;
      if (task.volume) {
        w *= k < 2 ? z.w0 : z.w1;
        offset += (k < 2 ? z.i0 : z.i1) * slice;
      }
      from[k] = static_cast<const In*>(task.in) + offset;
      w0[k] = w * x.w0;
      w1[k] = w * x.w1;
      inside += w0[k] + w1[k];
    }
    // A sum of 1 may be rounded to an adjacent number.
    const float outside = 1 - inside;
    const bool filled = task.border == kernels::Border::kConstant && std::fabs(outside) > 1e-6f;
    for (int64_t c = 0; c < task.channels; ++c) {
      float sum = 0;
      for (int k = 0; k < rows; ++k)
        sum += static_cast<float>(from[k][left + c]) * w0[k] +
               static_cast<float>(from[k][right + c]) * w1[k];
      if (filled) sum += outside * fill_value(c);
      store_float(task.out, task.out_dtype, first + c, sum);
    }
  }

  template <class In>
  TORCHDALI_HOST_DEVICE void blend_window(const Point& at, int64_t first) const {
    const kernels::AxisWindow x(at.x, task.in_extents[2], task.border, task.filter);
    const kernels::AxisWindow y(at.y, task.in_extents[1], task.border, task.filter);
    const int taps = task.filter == kernels::WarpFilter::kCubic ? 4 : 6;
    for (int64_t c = 0; c < task.channels; ++c) {
      float sum = 0;
      for (int k = 0; k < taps * taps; ++k) {
        const int64_t row = y.index[k / taps], column = x.index[k % taps];
        const float w = y.weight[k / taps] * x.weight[k % taps];
        if (w == 0) continue;
        if (row < 0 || column < 0) {
          sum += w * fill_value(c);
        } else {
          const int64_t pixel = row * task.in_extents[2] + column;
          sum += w * static_cast<float>(static_cast<const In*>(task.in)[pixel * task.channels + c]);
        }
      }
      store_float(task.out, task.out_dtype, first + c, sum);
    }
  }
};
TORCHDALI_GPU_KERNEL(WarpKernel)

}  // namespace torchdali::gpu
