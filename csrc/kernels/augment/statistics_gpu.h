// SPDX-License-Identifier: Apache-2.0
// What operations of fn.augment need to know of a whole image: tables of bytes from histograms;
// means and ranges of floats.
#pragma once

#include "kernels/augment/color_scalar.h"
#include "kernels/augment/operation.h"
#include "kernels/augment/value_tables.h"
#include "kernels/gpu/atomics.h"
#include "kernels/gpu/kernel.h"

namespace torchdali::gpu {

// Of which image, and for which operation: kContrast, kAutoContrast or kEqualize.
struct StatisticsTask : TaskBase {
  kernels::ImageExtents image;
  DType dtype = DType::kUInt8;
  kernels::ImageArithmetic arithmetic = kernels::ImageArithmetic::kTorch;
  kernels::Step step;

  // Contrast depends on the levels of gray, the other operations on each channel.
  constexpr int64_t levels() const {
    return step.operation == kernels::Operation::kContrast ? 1 : image.channels;
  }
};

// The elements of an image.
template <class T>
class ImagePixels {
 public:
  TORCHDALI_HOST_DEVICE ImagePixels(const void* in, const kernels::ImageExtents& image)
      : in_(static_cast<const T*>(in)),
        step_(image.planar ? 1 : image.channels),
        plane_(image.planar ? image.pixels() : 1) {}
  TORCHDALI_HOST_DEVICE T operator()(int64_t pixel, int64_t channel) const {
    return in_[pixel * step_ + channel * plane_];
  }

 private:
  const T* in_;
  int64_t step_, plane_;
};
template <class T, bool kPillow>
TORCHDALI_HOST_DEVICE inline float gray_of(const ImagePixels<T>& image, int64_t pixel) {
  return kernels::gray_level<kPillow, true>(image(pixel, 0), image(pixel, 1), image(pixel, 2));
}

// Adds to `out`, uint32[copies, levels, 256], how often each byte occurs; `size` pixels. Threads
// take turns in the copies, so that fewer of them collide.
struct CountLevelsTask : StatisticsTask {
  int64_t copies = 1;
};
struct CountLevelsKernel : Kernel<CountLevelsTask> {
  static constexpr int kElementsPerCall = 16;
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = i * kElementsPerCall, rest = task.size - first;
    const int64_t end = first + (rest < kElementsPerCall ? rest : kElementsPerCall);
    const int64_t levels = task.levels();
    uint32_t* counts = static_cast<uint32_t*>(task.out) + i % task.copies * levels * 256;
    if (task.dtype == DType::kFloat) {
      const ImagePixels<float> image(task.in, task.image);
      for (int64_t c = 0; c < levels; ++c)
        add(counts + c * 256, first, end, [&](int64_t p) { return kernels::byte_of(image(p, c)); });
      return;
    }
    const ImagePixels<uint8_t> image(task.in, task.image);
    if (levels == task.image.channels) {
      for (int64_t c = 0; c < levels; ++c)
        add(counts + c * 256, first, end, [&](int64_t p) { return image(p, c); });
    } else if (task.arithmetic == kernels::ImageArithmetic::kPillow) {
      add(counts, first, end,
          [&](int64_t p) { return static_cast<uint8_t>(gray_of<uint8_t, true>(image, p)); });
    } else {
      add(counts, first, end,
          [&](int64_t p) { return static_cast<uint8_t>(gray_of<uint8_t, false>(image, p)); });
    }
  }

 private:
  // Adjacent values are often equal, and are then added at once.
  template <class Value>
  TORCHDALI_HOST_DEVICE static void add(uint32_t* counts, int64_t first, int64_t end,
                                        Value&& value_of) {
    uint8_t value = value_of(first);
    uint32_t run = 1;
    for (int64_t p = first + 1; p < end; ++p) {
      const uint8_t next = value_of(p);
      if (next != value) {
        add_atomically(counts + value, run);
        value = next;
        run = 0;
      }
      ++run;
    }
    add_atomically(counts + value, run);
  }
};
TORCHDALI_GPU_KERNEL(CountLevelsKernel)

// The tables of bytes of the operation, uint8[levels, 256], from such counts. `size` entries.
struct LevelTableKernel : Kernel<CountLevelsTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const uint32_t* counts = static_cast<const uint32_t*>(task.in) + i / 256 * 256;
    const auto count_of = [&](int value) {
      uint32_t count = 0;
      for (int64_t k = 0; k < task.copies; ++k) count += counts[k * task.levels() * 256 + value];
      return count;
    };
    static_cast<uint8_t*>(task.out)[i] = entry(static_cast<int>(i % 256), count_of);
  }

 private:
  template <class Counts>
  TORCHDALI_HOST_DEVICE uint8_t entry(int v, Counts&& count_of) const {
    if (task.step.operation == kernels::Operation::kAutoContrast)
      return kernels::spread_value(v, kernels::range_of(count_of), task.arithmetic);
    uint64_t sum = 0;
    if (task.step.operation == kernels::Operation::kEqualize) {
      for (int k = 0; k < v; ++k) sum += count_of(k);
      return kernels::equalized_value(v, static_cast<int64_t>(sum),
                                      kernels::equalize_step(count_of));
    }
    for (int k = 1; k < 256; ++k) sum += static_cast<uint64_t>(k) * count_of(k);
    const double mean = static_cast<double>(sum) / static_cast<double>(task.image.pixels());
    return kernels::blend_byte(static_cast<float>(v),
                               kernels::contrast_center(mean, task.arithmetic), task.step.magnitude,
                               task.arithmetic);
  }
};
TORCHDALI_GPU_KERNEL(LevelTableKernel)

// Of floats. For contrast, float[size]: the sums of the levels of gray of each lane of each block,
// see kernels::kSumLanes. For autocontrast, float[channels, parts, 2]: least and greatest values.
struct FloatPartsTask : StatisticsTask {
  int64_t parts = 1;  // of a channel, or blocks
};
struct FloatPartsKernel : Kernel<FloatPartsTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const ImagePixels<float> image(task.in, task.image);
    float* out = static_cast<float*>(task.out);
    const int64_t pixels = task.image.pixels();
    if (task.step.operation == kernels::Operation::kContrast) {
      const int64_t lane = i % kernels::kSumLanes;
      const int64_t first = i / kernels::kSumLanes * kernels::kSumBlock;
      const int64_t end = first + kernels::kSumBlock < pixels ? first + kernels::kSumBlock : pixels;
      float sum = 0;
      for (int64_t p = first + lane; p < end; p += kernels::kSumLanes)
        sum += task.image.channels == 1 ? image(p, 0) : gray_of<float, false>(image, p);
      out[i] = sum;
      return;
    }
    const int64_t channel = i / task.parts;
    // All parts begin with the same element, so that they agree about NaN.
    float low = image(0, channel), high = low;
    for (int64_t p = i % task.parts; p < pixels; p += task.parts) {
      const float x = image(p, channel);
      low = x < low ? x : low;
      high = high < x ? x : high;
    }
    out[2 * i] = low;
    out[2 * i + 1] = high;
  }
};
TORCHDALI_GPU_KERNEL(FloatPartsKernel)

// From these: the mean, as a float, of one call; or a kernels::FloatRange for each channel.
struct CombinePartsKernel : Kernel<FloatPartsTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const float* parts = static_cast<const float*>(task.in);
    if (task.step.operation == kernels::Operation::kContrast) {
      double totals[kernels::kSumLanes] = {};
      for (int64_t b = 0; b < task.parts; ++b, parts += kernels::kSumLanes) {
        TORCHDALI_UNROLL
        for (int64_t k = 0; k < kernels::kSumLanes; ++k) totals[k] += parts[k];
      }
      double sum = 0;
      TORCHDALI_UNROLL
      for (int64_t k = 0; k < kernels::kSumLanes; ++k) sum += totals[k];
      *static_cast<float*>(task.out) =
          static_cast<float>(sum / static_cast<double>(task.image.pixels()));
      return;
    }
    parts += 2 * i * task.parts;
    float low = parts[0], high = parts[1];
    for (int64_t k = 1; k < task.parts; ++k) {
      low = parts[2 * k] < low ? parts[2 * k] : low;
      high = high < parts[2 * k + 1] ? parts[2 * k + 1] : high;
    }
    static_cast<kernels::FloatRange*>(task.out)[i] = kernels::float_range(low, high);
  }
};
TORCHDALI_GPU_KERNEL(CombinePartsKernel)

}  // namespace torchdali::gpu
