// SPDX-License-Identifier: Apache-2.0
// Windows of the input: crop and slice, and with mirror and normalisation crop_mirror_normalize.
#pragma once

#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

// Where element `i` of a window comes from.
struct WindowElement {
  int64_t from = 0, channel = 0;
  bool inside = true;
  TORCHDALI_HOST_DEVICE WindowElement(const WindowTask& task, int64_t i) {
    Unravel index(i);
    for (int a = task.ndim - 1; a >= 0; --a) {
      const int64_t at = index.axis(task.extent[a]);
      from += at * task.in_stride[a];
      inside = inside && at >= task.low[a] && at < task.high[a];
      if (a == task.channel_axis) channel = at;
    }
  }
  TORCHDALI_HOST_DEVICE void fill(const WindowTask& task, const void* blob, int64_t i) const {
    store_bytes(task.out, size_of(task.out_dtype), i, list_of<uint64_t>(blob, task.fill)[channel]);
  }
};

struct WindowGrid {
  const WindowTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const WindowTask& task = tasks[t];
    const WindowElement at(task, i);
    if (!at.inside) return at.fill(task, blob, i);
    with_type(task.in_dtype, [&]<class From>() {
      const From x = static_cast<const From*>(task.in)[at.from];
      with_type(task.out_dtype, [&]<class To>() { static_cast<To*>(task.out)[i] = cut<To>(x); });
    });
  }

 private:
  template <class To, class From>
  static constexpr To cut(From x) {
    if constexpr (std::is_same_v<To, From>) {
      return x;
    } else if constexpr (std::is_same_v<To, uint8_t> && is_floating_type<From>) {
      return kernels::truncate_saturating<uint8_t>(kernels::Arithmetic<From>(x));
    } else {
      To y = kernels::convert<To>(x);
      if constexpr (std::is_same_v<To, Half>) y.bits -= (y.bits & 0x7fff) == 0x7c00;
      return y;
    }
  }
};

struct NormalizeGrid {
  const NormalizeTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const NormalizeTask& task = tasks[t];
    if (task.planes) return planes(task, i);
    const WindowElement at(task, i);
    if (!at.inside) return at.fill(task, blob, i);
    const float x = load_float(task.in, task.in_dtype, at.from);
    store_float(task.out, task.out_dtype, i, normalized(task, at.channel, x));
  }

  static constexpr int kPixels = 4;

 private:
  TORCHDALI_HOST_DEVICE float normalized(const NormalizeTask& task, int64_t channel,
                                         float x) const {
    const float mean = list_of<float>(blob, task.mean)[channel];
    const float scale = list_of<float>(blob, task.scale)[channel];
    return (x - mean) * scale + task.shift;
  }
  TORCHDALI_HOST_DEVICE void planes(const NormalizeTask& task, int64_t i) const {
    const int64_t height = task.extent[1], width = task.extent[2];
    Unravel index(i);
    const int64_t x = index.axis((width + kPixels - 1) / kPixels) * kPixels, y = index.rest();
    const int64_t step = task.in_stride[2];
    const uint8_t* from = static_cast<const uint8_t*>(task.in) + y * task.in_stride[1] + x * step;
    float* to = static_cast<float*>(task.out) + y * width + x;
    if (x + kPixels > width) {
      for (int k = 0; x + k < width; ++k)
        for (int c = 0; c < 3; ++c)
          to[c * height * width + k] = normalized(task, c, static_cast<float>(from[k * step + c]));
      return;
    }
    const bool back = step < 0;
    uint8_t bytes[3 * kPixels];
    load_bytes_run(back ? from + (kPixels - 1) * step : from, bytes);
    TORCHDALI_UNROLL
    for (int c = 0; c < 3; ++c) {
      float line[kPixels];
      TORCHDALI_UNROLL
      for (int k = 0; k < kPixels; ++k) {
        const uint8_t ahead = bytes[3 * k + c], behind = bytes[3 * (kPixels - 1 - k) + c];
        line[k] = normalized(task, c, static_cast<float>(back ? behind : ahead));
      }
      store_run(to + c * height * width, DType::kFloat, 0, kPixels, line);
    }
  }
};

}  // namespace torchdali::gpu
