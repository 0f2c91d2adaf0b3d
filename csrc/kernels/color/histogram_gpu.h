// SPDX-License-Identifier: Apache-2.0
// Histograms of bytes, the tables that equalize them, and lookups in tables of bytes.
#pragma once

#include "kernels/color/equalize_scalar.h"
#include "kernels/gpu/atomics.h"
#include "kernels/gpu/kernel.h"
#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

// Adds to `out`, uint32[copies, channels, 256], how often each byte occurs in each channel of the
// input, [size, channels]. Threads take turns in the copies, so that fewer of them collide.
struct CountBytesTask : TaskBase {
  int64_t channels = 1, copies = 1;
};
struct CountBytesKernel : Kernel<CountBytesTask> {
  static constexpr int kElementsPerCall = 16;  // pixels
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = i * kElementsPerCall, rest = task.size - first;
    const int count = static_cast<int>(rest < kElementsPerCall ? rest : kElementsPerCall);
    uint32_t* counts = static_cast<uint32_t*>(task.out) + i % task.copies * task.channels * 256;
    const uint8_t* in = static_cast<const uint8_t*>(task.in) + first * task.channels;
    // Adjacent values are often equal, and are then added at once.
    for (int64_t c = 0; c < task.channels; ++c, ++in, counts += 256) {
      uint8_t value = *in;
      uint32_t run = 1;
      for (int p = 1; p < count; ++p) {
        const uint8_t next = in[p * task.channels];
        if (next != value) {
          add_atomically(counts + value, run);
          value = next;
          run = 0;
        }
        ++run;
      }
      add_atomically(counts + value, run);
    }
  }
};
TORCHDALI_GPU_KERNEL(CountBytesKernel)

// uint8[channels, 256] from the counts of CountBytesKernel: the tables of fn.equalize.
struct EqualizeTask : TaskBase {
  int64_t channels = 1, copies = 1;
  int64_t pixels = 0;
};
struct EqualizeKernel : Kernel<EqualizeTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const uint32_t* counts = static_cast<const uint32_t*>(task.in) + i / 256 * 256;
    const auto count_of = [&](int value) {
      uint32_t count = 0;
      for (int64_t k = 0; k < task.copies; ++k) count += counts[k * task.channels * 256 + value];
      return count;
    };
    static_cast<uint8_t*>(task.out)[i] =
        kernels::equalized_entry(static_cast<int>(i % 256), task.pixels, count_of);
  }
};
TORCHDALI_GPU_KERNEL(EqualizeKernel)

// out[i] = tables[i % channels][in[i]], of bytes.
struct ByteTableTask : TaskBase {
  const uint8_t* tables = nullptr;
  int64_t channels = 1;

  template <class Fn>
  void for_each_address(Fn&& fn) {
    fn(tables);
  }
};
struct ByteTableKernel : Kernel<ByteTableTask> {
  static constexpr int kElementsPerCall = 16;
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t first = i * kElementsPerCall;
    const uint8_t* in = static_cast<const uint8_t*>(task.in) + first;
    uint8_t* out = static_cast<uint8_t*>(task.out) + first;
    int64_t channel = task.channels == 1 ? 0 : first % task.channels;
    const auto entry = [&](uint8_t x) {
      const uint8_t y = task.tables[channel * 256 + x];
      if (++channel == task.channels) channel = 0;
      return y;
    };
    if (first + kElementsPerCall <= task.size) {
      uint8_t x[kElementsPerCall];
      load_bytes_run(in, x);
      TORCHDALI_UNROLL
      for (int k = 0; k < kElementsPerCall; ++k) x[k] = entry(x[k]);
      store_bytes_run(out, x);
      return;
    }
    for (int k = 0; first + k < task.size; ++k) out[k] = entry(in[k]);
  }
};
TORCHDALI_GPU_KERNEL(ByteTableKernel)

}  // namespace torchdali::gpu
