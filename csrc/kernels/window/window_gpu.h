// SPDX-License-Identifier: Apache-2.0
// Windows of the input on the GPU: crop and slice, and crop_mirror_normalize.
#pragma once

#include <type_traits>

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

// A dense output whose axes are windows of the input's axes, in any order: index i along an axis is
// inside the input where it is in [low, high). Elements outside have a fill value for their
// channel. Conversion is that of fn.crop: to uint8 by truncation, to float16 with saturation.
struct WindowTask : TypedTask {
  int ndim = 0;
  int channel_axis = -1;                                    // -1: one value serves all
  int64_t extent[kMaxAxes] = {}, in_stride[kMaxAxes] = {};  // in elements
  int64_t low[kMaxAxes] = {}, high[kMaxAxes] = {};
  BlobOffset fill = 0;  // uint64[channels]: the bytes of an element of the output
};

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

struct WindowKernel : Kernel<WindowTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
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
TORCHDALI_GPU_KERNEL(WindowKernel)

// The same with (x - mean) * scale + shift: kernels/window/normalize_box.h.
struct NormalizeTask : WindowTask {
  float shift = 0;
  // Whether this is the common case: interleaved uint8 RGB to planes of float32, all inside the
  // input. Then `size` counts runs of up to 4 pixels of a row.
  bool planes = false;
  BlobOffset mean = 0, scale = 0;  // float[channels of the input]
};
struct NormalizeKernel : Kernel<NormalizeTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    if (task.planes) return planes(i);
    const WindowElement at(task, i);
    if (!at.inside) return at.fill(task, blob, i);
    const float x = load_float(task.in, task.in_dtype, at.from);
    store_float(task.out, task.out_dtype, i, normalized(at.channel, x));
  }

  static constexpr int kPixels = 4;

 private:
  TORCHDALI_HOST_DEVICE float normalized(int64_t channel, float x) const {
    const float mean = list<float>(task.mean)[channel];
    const float scale = list<float>(task.scale)[channel];
    return (x - mean) * scale + task.shift;
  }
  TORCHDALI_HOST_DEVICE void planes(int64_t i) const {
    const int64_t height = task.extent[1], width = task.extent[2];
    Unravel index(i);
    const int64_t x = index.axis((width + kPixels - 1) / kPixels) * kPixels, y = index.rest();
    const int64_t step = task.in_stride[2];
    const uint8_t* from = static_cast<const uint8_t*>(task.in) + y * task.in_stride[1] + x * step;
    float* to = static_cast<float*>(task.out) + y * width + x;
    if (x + kPixels > width) {
      for (int k = 0; x + k < width; ++k)
        for (int c = 0; c < 3; ++c)
          to[c * height * width + k] = normalized(c, static_cast<float>(from[k * step + c]));
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
        const uint8_t forward = bytes[3 * k + c], mirrored = bytes[3 * (kPixels - 1 - k) + c];
        line[k] = normalized(c, static_cast<float>(back ? mirrored : forward));
      }
      store_run(to + c * height * width, DType::kFloat, 0, kPixels, line);
    }
  }
};
TORCHDALI_GPU_KERNEL(NormalizeKernel)

}  // namespace torchdali::gpu
