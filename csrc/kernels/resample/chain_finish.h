// SPDX-License-Identifier: Apache-2.0
// The sink of a chain of operators on the GPU: what is done with pixels after they were resampled
// or loaded.
#pragma once

#include "kernels/gpu/runs.h"
#include "kernels/resample/chain_task.h"

namespace torchdali::gpu {

// Some pixels of a row. A pixel has three values, of which `channels` are used: the channels of the
// image from `first` on.
template <int kPixels>
struct ChainPixels {
  int64_t row = 0, x = 0, first = 0;
  int count = 0, channels = 0;
  float values[3 * kPixels] = {};
};

// The steps of a chain after its resampling, for some pixels. Values between two operators are
// floats, rounded to the type that they would have in memory.
template <int kPixels>
class ChainSteps {
 public:
  // Not inlined on the device, since it is called from many places.
  TORCHDALI_HOST_DEVICE TORCHDALI_NOINLINE static void run(const ChainTask& task, const void* blob,
                                                           ChainPixels<kPixels> pixels) {
    ChainSteps{task, blob, pixels}.run();
  }

 private:
  static constexpr int kColors = 3, kValues = kColors * kPixels;
  using Values = float[kValues];

  TORCHDALI_HOST_DEVICE ChainSteps(const ChainTask& t, const void* b, ChainPixels<kPixels>& p)
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
            // Negative indices become large ones.
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

// The sink of a chain: runs its steps and stores the result.
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
    ChainSteps<kPixels>::run(task, blob, pixels);
  }
  // Images with another number of channels than 1 or 3 have no step that combines channels.
  template <int kSums>
  TORCHDALI_HOST_DEVICE void channels(int64_t row, int64_t x, int64_t c, int count,
                                      const float (&sums)[kSums]) const {
    TORCHDALI_UNROLL
    for (int k = 0; k < kSums; ++k)
      if (k < count)
        ChainSteps<1>::run(
            task, blob,
            {.row = row, .x = x, .first = c + k, .count = 1, .channels = 1, .values = {sums[k]}});
  }
};

}  // namespace torchdali::gpu
