// SPDX-License-Identifier: Apache-2.0
// Warping, a pixel at a time: where it comes from, and what is there. As kernels::WarpSampler,
// whose arithmetic it shares.
#pragma once

#include "core/random.h"
#include "kernels/gpu/functor.h"
#include "kernels/warp/warp_position.h"

namespace torchdali::gpu {

struct WarpGrid {
  const WarpTask* tasks;
  const void* blob;

  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const WarpTask& task = tasks[t];
    const int64_t first = i * task.channels;  // of the output's elements
    if (task.empty) return fill(task, first);
    const Point at = point(task, i);
    if (task.fixed_point) return sample_fixed(task, at, first);
    with_type(task.in_dtype, [&]<class In>() {
      if (task.filter == kernels::WarpFilter::kNearest) copy_nearest<In>(task, at, first);
      else if (task.filter == kernels::WarpFilter::kLinear) blend<In>(task, at, first);
      else blend_window<In>(task, at, first);
    });
  }

 private:
  struct Point {
    float x = 0, y = 0, z = 0;
  };

  TORCHDALI_HOST_DEVICE Point point(const WarpTask& task, int64_t i) const {
    Unravel index(i);
    const int64_t w = index.axis(task.out_extents[2]), h = index.axis(task.out_extents[1]);
    const int64_t d = index.rest();
    const auto middle = [](int64_t at) { return static_cast<float>(at) + 0.5f; };
    // As in blocks of the CPU's rows, whose positions are sums.
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
        return {static_cast<float>(w) + list_of<float>(blob, task.waves[0])[h],
                static_cast<float>(h) + list_of<float>(blob, task.waves[1])[w], 0};
      case WarpMap::kSphere: {
        const kernels::SphereMap map(task.in_extents[1], task.in_extents[2]);
        const float x = map.from_middle(w, map.middle_x), y = map.from_middle(h, map.middle_y);
        const float scale = map.scale(x, y);
        return {x * scale + map.middle_x, y * scale + map.middle_y, 0};
      }
      case WarpMap::kJitter: {
        // Two draws a pixel, of four that come at once.
        const auto draws = draw_block(task.seed, task.sample, static_cast<uint64_t>(i) / 2);
        const bool second = i % 2 == 1;
        return {middle(w + kernels::jitter_shift(second ? draws[2] : draws[0], task.degree)),
                middle(h + kernels::jitter_shift(second ? draws[3] : draws[1], task.degree)), 0};
      }
    }
    return {};
  }

  // As RandomStream makes them.
  static constexpr std::array<uint32_t, 4> draw_block(uint64_t seed, uint64_t sample,
                                                      uint64_t number) {
    const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
    return philox4x32({low(sample), low(sample >> 32), low(number), low(number >> 32)},
                      {low(seed), low(seed >> 32)});
  }

  TORCHDALI_HOST_DEVICE void fill(const WarpTask& task, int64_t first) const {
    for (int64_t c = 0; c < task.channels; ++c) fill_element(task, first, c);
  }
  TORCHDALI_HOST_DEVICE void fill_element(const WarpTask& task, int64_t first, int64_t c) const {
    const uint64_t bytes = list_of<uint64_t>(blob, task.fill_bytes)[c];
    const int64_t i = first + c;
    switch (itemsize(task.out_dtype)) {
      case 1: static_cast<uint8_t*>(task.out)[i] = static_cast<uint8_t>(bytes); break;
      case 2: static_cast<uint16_t*>(task.out)[i] = static_cast<uint16_t>(bytes); break;
      case 4: static_cast<uint32_t*>(task.out)[i] = static_cast<uint32_t>(bytes); break;
      default: static_cast<uint64_t*>(task.out)[i] = bytes;
    }
  }
  TORCHDALI_HOST_DEVICE float fill_value(const WarpTask& task, int64_t c) const {
    return list_of<float>(blob, task.fills)[task.num_fills == 1 ? 0 : c];
  }

  static TORCHDALI_HOST_DEVICE kernels::WarpTap tap(const WarpTask& task, float at, int axis) {
    const int64_t extent = task.in_extents[axis];
    if (!kernels::repeats(task.border)) return kernels::mapped_tap(at, extent, task.border);
    return kernels::AxisTaps(static_cast<int32_t>(extent),
                             task.border == kernels::Border::kClamp)(at);
  }
  static TORCHDALI_HOST_DEVICE int64_t nearest(const WarpTask& task, float at, int axis) {
    const int64_t extent = task.in_extents[axis];
    if (!kernels::repeats(task.border)) return kernels::mapped_nearest(at, extent, task.border);
    const kernels::AxisNearest index(static_cast<int32_t>(extent));
    return task.border == kernels::Border::kClamp ? index.clamped(at) : index.inside(at);
  }

  TORCHDALI_HOST_DEVICE void sample_fixed(const WarpTask& task, const Point& at,
                                          int64_t first) const {
    const kernels::WarpTap x = tap(task, at.x, 2), y = tap(task, at.y, 1);
    const kernels::FixedWeight w = kernels::fixed_weight(x.w0, x.w1, y.w0, y.w1);
    const int64_t row = task.in_extents[2] * task.channels;
    const uint8_t* upper = static_cast<const uint8_t*>(task.in) + y.i0 * row;
    const uint8_t* lower = static_cast<const uint8_t*>(task.in) + y.i1 * row;
    const int64_t left = x.i0 * task.channels, right = x.i1 * task.channels;
    for (int64_t c = 0; c < task.channels; ++c) {
      const int32_t sum = upper[left + c] * w.w00 + upper[right + c] * w.w01 +
                          lower[left + c] * w.w10 + lower[right + c] * w.w11 +
                          static_cast<int32_t>(fill_value(task, c)) * w.fill;
      static_cast<uint8_t*>(task.out)[first + c] = static_cast<uint8_t>(
          (sum + (1 << (kernels::kWarpWeightBits - 1))) >> kernels::kWarpWeightBits);
    }
  }

  template <class In>
  TORCHDALI_HOST_DEVICE void copy_nearest(const WarpTask& task, const Point& at,
                                          int64_t first) const {
    const int64_t x = nearest(task, at.x, 2), y = nearest(task, at.y, 1);
    const int64_t z = task.volume ? nearest(task, at.z, 0) : 0;
    if (x < 0 || y < 0 || z < 0) return fill(task, first);
    const In* from = static_cast<const In*>(task.in) +
                     ((z * task.in_extents[1] + y) * task.in_extents[2] + x) * task.channels;
    with_type(task.out_dtype, [&]<class Out>() {
      for (int64_t c = 0; c < task.channels; ++c)
        static_cast<Out*>(task.out)[first + c] = kernels::convert<Out>(from[c]);
    });
  }

  template <class In>
  TORCHDALI_HOST_DEVICE void blend(const WarpTask& task, const Point& at, int64_t first) const {
    const kernels::WarpTap x = tap(task, at.x, 2), y = tap(task, at.y, 1);
    kernels::WarpTap z{0, 0, 1, 0};
    if (task.volume) z = tap(task, at.z, 0);
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
    // A sum of 1 may come out as one of its neighbours.
    const float outside = 1 - inside;
    const bool filled = task.border == kernels::Border::kConstant && std::fabs(outside) > 1e-6f;
    for (int64_t c = 0; c < task.channels; ++c) {
      float sum = 0;
      for (int k = 0; k < rows; ++k)
        sum += static_cast<float>(from[k][left + c]) * w0[k] +
               static_cast<float>(from[k][right + c]) * w1[k];
      if (filled) sum += outside * fill_value(task, c);
      store_float(task.out, task.out_dtype, first + c, sum);
    }
  }

  template <class In>
  TORCHDALI_HOST_DEVICE void blend_window(const WarpTask& task, const Point& at,
                                          int64_t first) const {
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
          sum += w * fill_value(task, c);
        } else {
          const int64_t pixel = row * task.in_extents[2] + column;
          sum += w * static_cast<float>(static_cast<const In*>(task.in)[pixel * task.channels + c]);
        }
      }
      store_float(task.out, task.out_dtype, first + c, sum);
    }
  }
};

}  // namespace torchdali::gpu
