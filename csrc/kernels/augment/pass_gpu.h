// SPDX-License-Identifier: Apache-2.0
// A pass over an image: pixels as a map moves them, or sharpened, and operations on single pixels.
// docs/design/transforms.md.
#pragma once

#include "kernels/augment/color_scalar.h"
#include "kernels/augment/map_scalar.h"
#include "kernels/augment/operation.h"
#include "kernels/augment/value_tables.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// `size` pixels of the result. The input has the extents of `map`, the result too if nothing moves.
struct PixelPassTask : TaskBase {
  DType dtype = DType::kUInt8;
  kernels::ImageArithmetic arithmetic = kernels::ImageArithmetic::kTorch;
  kernels::MapPlan map;
  bool moves = false;      // by `map`; else `first` may be a sharpening
  BlobOffset columns = 0;  // kernels::scaled_columns(), if the map needs them
  // What depends on more than a pixel: the first operation, and what is known of the whole image,
  // which the kernels of statistics_gpu.h found out.
  kernels::Step first;
  const void* statistics = nullptr;
  BlobOffset steps = 0;  // kernels::Step, on single pixels
  int32_t count = 0;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(statistics);
  }
};

struct PixelPassKernel : Kernel<PixelPassTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const bool gray = task.map.image.channels == 1;
    if (task.dtype == DType::kUInt8) gray ? run<uint8_t, 1>(i) : run<uint8_t, 3>(i);
    else gray ? run<float, 1>(i) : run<float, 3>(i);
  }

 private:
  bool TORCHDALI_HOST_DEVICE is_pillow() const {
    return task.arithmetic == kernels::ImageArithmetic::kPillow;
  }

  template <class T, int kChannels>
  TORCHDALI_HOST_DEVICE void run(int64_t i) const {
    T x[kChannels] = {};
    load(x, i);
    if (task.statistics != nullptr) adapt(x);
    const auto* steps = list<kernels::Step>(task.steps);
    for (int32_t k = 0; k < task.count; ++k) change(x, steps[k]);
    const int64_t pixels = task.map.height * task.map.width;
    T* out = static_cast<T*>(task.out);
    TORCHDALI_UNROLL
    for (int c = 0; c < kChannels; ++c)
      out[task.map.image.planar ? c * pixels + i : i * kChannels + c] = x[c];
  }

  template <class T, int kChannels>
  TORCHDALI_HOST_DEVICE void load(T (&x)[kChannels], int64_t i) const {
    const T* in = static_cast<const T*>(task.in);
    Unravel index(i);
    const int64_t column = index.axis(task.map.width), row = index.rest();
    if (task.moves) {
      const auto* columns = list<int32_t>(task.columns);
      kernels::map_pixel(x, in, task.map, columns, column, row);
      return;
    }
    const kernels::ImageExtents& image = task.map.image;
    const kernels::SourceSteps<kChannels> step(image);
    in += i * step.pixel;
    const bool inside = row > 0 && column > 0 && row + 1 < image.height && column + 1 < image.width;
    const bool is_sharpness = task.first.operation == kernels::Operation::kSharpness;
    const bool sharpens = inside && is_sharpness;
    // Edges are not sharpened, but clamped.
    const bool clamps = is_sharpness && !inside && image.height > 2 && image.width > 2;
    TORCHDALI_UNROLL
    for (int c = 0; c < kChannels; ++c, in += step.channel) {
      x[c] = *in;
      if constexpr (sizeof(T) != 1) {
        if (clamps) x[c] = kernels::store_clamped<T>(x[c]);
      }
      if (!sharpens) continue;
      const T *above = in - step.row, *below = in + step.row;
      const float factor = task.first.magnitude;
      if constexpr (sizeof(T) == 1) {
        if (is_pillow()) {
          x[c] = kernels::sharpened<true, true>(above, in, below, step.pixel, factor);
          continue;
        }
      }
      x[c] = kernels::sharpened<false, true>(above, in, below, step.pixel, factor);
    }
  }

  // By what is known of the whole image.
  template <int kChannels>
  TORCHDALI_HOST_DEVICE void adapt(uint8_t (&x)[kChannels]) const {
    const auto* table = static_cast<const uint8_t*>(task.statistics);
    const int step = task.first.operation == kernels::Operation::kContrast ? 0 : 256;
    TORCHDALI_UNROLL
    for (int c = 0; c < kChannels; ++c) x[c] = table[c * step + x[c]];
  }
  template <int kChannels>
  TORCHDALI_HOST_DEVICE void adapt(float (&x)[kChannels]) const {
    const float by = task.first.magnitude;
    TORCHDALI_UNROLL
    for (int c = 0; c < kChannels; ++c) {
      if (task.first.operation == kernels::Operation::kContrast) {
        const float rest = (1.0f - by) * *static_cast<const float*>(task.statistics);
        x[c] = kernels::to_unit(x[c] * by + rest);
      } else if (task.first.operation == kernels::Operation::kAutoContrast) {
        x[c] = kernels::spread_float(x[c],
                                     static_cast<const kernels::FloatRange*>(task.statistics)[c]);
      } else {
        const auto* table = static_cast<const uint8_t*>(task.statistics) + 256 * c;
        x[c] = kernels::float_of(table[kernels::byte_of(x[c])]);
      }
    }
  }

  template <class T, int kChannels>
  TORCHDALI_HOST_DEVICE void change(T (&x)[kChannels], const kernels::Step& step) const {
    switch (step.operation) {
      case kernels::Operation::kColor:
      case kernels::Operation::kHue:
      case kernels::Operation::kGray:
        if constexpr (kChannels == 3) change_colors(x, step);
        return;
      case kernels::Operation::kPermuteChannels:
        if constexpr (kChannels == 3) {
          const T before[3] = {x[0], x[1], x[2]};
          const auto number = static_cast<int>(step.magnitude);
          for (int c = 0; c < 3; ++c) x[c] = before[kernels::permuted_channel(number, c)];
        }
        return;
      default: break;
    }
    TORCHDALI_UNROLL
    for (int c = 0; c < kChannels; ++c) x[c] = changed(x[c], step);
  }
  TORCHDALI_HOST_DEVICE uint8_t changed(uint8_t x, const kernels::Step& step) const {
    switch (step.operation) {
      case kernels::Operation::kBrightness:
        return kernels::blend_byte(x, 0, step.magnitude, task.arithmetic);
      case kernels::Operation::kPosterize:
        return static_cast<uint8_t>(x & kernels::posterize_mask(step.magnitude));
      case kernels::Operation::kSolarize: return kernels::solarized(x, step.magnitude);
      default: return static_cast<uint8_t>(255 - x);  // kInvert
    }
  }
  TORCHDALI_HOST_DEVICE float changed(float x, const kernels::Step& step) const {
    switch (step.operation) {
      case kernels::Operation::kBrightness: return kernels::to_unit(x * step.magnitude);
      case kernels::Operation::kPosterize:
        return kernels::posterized(x, kernels::posterize_levels(step.magnitude));
      case kernels::Operation::kSolarize: return kernels::solarized(x, step.magnitude);
      default: return 1.0f - x;  // kInvert
    }
  }

  template <class T>
  TORCHDALI_HOST_DEVICE void change_colors(T (&x)[3], const kernels::Step& step) const {
    if constexpr (sizeof(T) == 1) {
      if (is_pillow()) return change_colors<true>(x, step);
    }
    change_colors<false>(x, step);
  }
  template <bool kPillow, class T>
  TORCHDALI_HOST_DEVICE static void change_colors(T (&x)[3], const kernels::Step& step) {
    if (step.operation == kernels::Operation::kHue) return turn_hue<kPillow>(x, step.magnitude);
    const float gray = kernels::gray_level<kPillow, true>(x[0], x[1], x[2]);
    TORCHDALI_UNROLL
    for (int c = 0; c < 3; ++c)
      x[c] = step.operation == kernels::Operation::kGray
                 ? static_cast<T>(gray)
                 : kernels::saturated<kPillow, true>(x[c], gray, step.magnitude);
  }
  template <bool kPillow, class T>
  TORCHDALI_HOST_DEVICE static void turn_hue(T (&x)[3], float turn) {
    float r, g, b, scale = 1.0f;
    if constexpr (kPillow) {
      const auto parts = kernels::pillow_parts(x[0], x[1], x[2]);
      const double h = kernels::pillow_hue(parts.r, parts.g, parts.b, kernels::pillow_turn(turn));
      kernels::pillow_to_rgb(r, g, b, h, kernels::pillow_saturation(parts.s), parts.v);
    } else {
      const auto value = [&](int c) { return static_cast<float>(x[c]) * kernels::kFromElement<T>; };
      kernels::to_rgb(r, g, b, kernels::turned_hsv(value(0), value(1), value(2), turn));
      scale = kernels::kToElement<T>;
    }
    x[0] = static_cast<T>(r * scale);
    x[1] = static_cast<T>(g * scale);
    x[2] = static_cast<T>(b * scale);
  }
};
TORCHDALI_GPU_KERNEL(PixelPassKernel)

}  // namespace torchdali::gpu
