// SPDX-License-Identifier: Apache-2.0
// What becomes of a resampling's sums. A sink is called once for each pixel, in any order.
#pragma once

#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

// They are the result.
struct StoreSums {
  const ResampleTask& task;

  // Pixels x to x + count of a row of the output, as many as `sums` has room for or fewer; rows are
  // counted through slices and frames.
  template <int kChannels, int kSums>
  TORCHDALI_HOST_DEVICE void pixels(int64_t row, int64_t x, int count,
                                    const float (&sums)[kSums]) const {
    const int64_t pixel = row * task.axes[2].out + x;
    store_run(task.out, task.out_dtype, pixel * kChannels, (pixel + count) * kChannels, sums);
  }
  // Channels c to c + count of pixel x.
  template <int kSums>
  TORCHDALI_HOST_DEVICE void channels(int64_t row, int64_t x, int64_t c, int count,
                                      const float (&sums)[kSums]) const {
    const int64_t first = (row * task.axes[2].out + x) * task.channels + c;
    for (int k = 0; k < count; ++k) store_float(task.out, task.out_dtype, first + k, sums[k]);
  }
};

// Some pixels of a row, three places each, of which the first `channels` count: the channels of the
// image from `first` on.
template <int kPixels>
struct ChainPixels {
  int64_t row = 0, x = 0, first = 0;
  int count = 0, channels = 0;
  float values[3 * kPixels] = {};
};

// What a chain does behind its resampling, for some pixels. Values between two operators are kept
// as floats, rounded to the type that they would have in memory.
template <int kPixels>
class ChainRest {
 public:
  // A function of its own on the device, since it is called from many places.
  TORCHDALI_HOST_DEVICE TORCHDALI_NOINLINE static void run(const ChainTask& task, const void* blob,
                                                           ChainPixels<kPixels> pixels) {
    ChainRest{task, blob, pixels}.run();
  }

 private:
  static constexpr int kColors = 3, kValues = kColors * kPixels;
  using Values = float[kValues];

  TORCHDALI_HOST_DEVICE ChainRest(const ChainTask& t, const void* b, ChainPixels<kPixels>& p)
      : task(t), blob(b), at(p), values(p.values) {}
  TORCHDALI_HOST_DEVICE void run() {
    DType dtype = task.resampled ? task.out_dtype : DType::kFloat;  // to be rounded to
    const auto* steps = list_of<PixelStep>(blob, task.steps);
    for (int s = 0; s < task.num_steps; ++s) {
      round_to(dtype);
      apply(steps[s]);
      dtype = steps[s].dtype;
    }
    if (task.normalized) {
      round_to(dtype);
      normalize();
    }
    store();
  }
  TORCHDALI_HOST_DEVICE void round_to(DType dtype) {
    if (dtype == DType::kFloat) return;
    if (dtype == DType::kUInt8) {
      TORCHDALI_UNROLL
      for (float& x : values) x = static_cast<float>(kernels::round_to_byte(x));
      return;
    }
    with_type(dtype, [&]<class T>() {
      TORCHDALI_UNROLL
      for (float& x : values) x = kernels::convert<float>(kernels::convert<T>(x));
    });
  }
  TORCHDALI_HOST_DEVICE void apply(const PixelStep& step) {
    switch (step.kind) {
      case PixelStep::Kind::kConvert: return;
      case PixelStep::Kind::kLinear:
        TORCHDALI_UNROLL
        for (float& x : values) x = x * step.m[0][0] + step.offset[0];
        return;
      case PixelStep::Kind::kColor:
        TORCHDALI_UNROLL
        for (int p = 0; p < kPixels; ++p) map(step, at.channels == 1, values + p * kColors);
        at.channels = step.channels;
        return;
      case PixelStep::Kind::kLookup:
        with_type(step.dtype, [&]<class T>() {
          const T* table = list_of<T>(blob, step.table);
          TORCHDALI_UNROLL
          for (float& x : values) {
            // Negative ones become large ones.
            const auto key = static_cast<uint64_t>(static_cast<int64_t>(x));
            const auto end = static_cast<uint64_t>(step.entries);
            x = kernels::convert<float>(table[key < end ? key : end]);
          }
        });
    }
  }
  TORCHDALI_HOST_DEVICE static void map(const PixelStep& step, bool gray, float* x) {
    const float in[3] = {x[0], gray ? x[0] : x[1], gray ? x[0] : x[2]};
    TORCHDALI_UNROLL
    for (int c = 0; c < kColors; ++c)
      x[c] = step.m[c][0] * in[0] + step.m[c][1] * in[1] + step.m[c][2] * in[2] + step.offset[c];
  }
  TORCHDALI_HOST_DEVICE void normalize() {
    const float* mean = list_of<float>(blob, task.mean) + at.first;
    const float* scale = list_of<float>(blob, task.scale) + at.first;
    TORCHDALI_UNROLL
    for (int c = 0; c < kColors; ++c) {
      if (c >= at.channels) continue;
      const float m = mean[c], s = scale[c];
      TORCHDALI_UNROLL
      for (int p = 0; p < kPixels; ++p) {
        float& x = values[p * kColors + c];
        x = (x - m) * s + task.shift;
      }
    }
  }
  TORCHDALI_HOST_DEVICE void store() const {
    const int64_t base =
        at.row * task.row_stride + at.x * task.column_stride + at.first * task.channel_stride;
    if constexpr (kPixels % 4 == 0) {
      if (task.column_stride == 1) {
        TORCHDALI_UNROLL
        for (int c = 0; c < kColors; ++c) {
          if (c >= at.channels) continue;
          float line[kPixels];
          TORCHDALI_UNROLL
          for (int p = 0; p < kPixels; ++p) line[p] = values[p * kColors + c];
          const int64_t first = base + c * task.channel_stride;
          store_run(task.out, task.final_dtype, first, first + at.count, line);
        }
        return;
      }
      if (at.channels == kColors && task.channel_stride == 1 && task.column_stride == kColors)
        return store_run(task.out, task.final_dtype, base, base + at.count * kColors, values);
    }
    with_type(task.final_dtype, [&]<class T>() {
      T* to = static_cast<T*>(task.out) + base;
      TORCHDALI_UNROLL
      for (int p = 0; p < kPixels; ++p) {
        TORCHDALI_UNROLL
        for (int c = 0; c < kColors; ++c)
          if (p < at.count && c < at.channels)
            to[p * task.column_stride + c * task.channel_stride] =
                kernels::convert<T>(values[p * kColors + c]);
      }
    });
  }

  const ChainTask& task;
  const void* blob;
  ChainPixels<kPixels>& at;
  Values& values;
};

// They go on through the rest of a chain of operators.
struct FinishPixels {
  const ChainTask& task;
  const void* blob;

  template <int kChannels, int kSums>
  TORCHDALI_HOST_DEVICE void pixels(int64_t row, int64_t x, int count,
                                    const float (&sums)[kSums]) const {
    static_assert(kChannels == 1 || kChannels == 3);
    constexpr int kPixels = kSums / kChannels;
    ChainPixels<kPixels> pixels{.row = row, .x = x, .count = count, .channels = kChannels};
    TORCHDALI_UNROLL
    for (int p = 0; p < kPixels; ++p) {
      TORCHDALI_UNROLL
      for (int c = 0; c < kChannels; ++c) pixels.values[3 * p + c] = sums[p * kChannels + c];
    }
    ChainRest<kPixels>::run(task, blob, pixels);
  }
  // Of images with so many channels, no step looks at more than one.
  template <int kSums>
  TORCHDALI_HOST_DEVICE void channels(int64_t row, int64_t x, int64_t c, int count,
                                      const float (&sums)[kSums]) const {
    TORCHDALI_UNROLL
    for (int k = 0; k < kSums; ++k)
      if (k < count)
        ChainRest<1>::run(
            task, blob,
            {.row = row, .x = x, .first = c + k, .count = 1, .channels = 1, .values = {sums[k]}});
  }
};

}  // namespace torchdali::gpu
