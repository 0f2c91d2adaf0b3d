// SPDX-License-Identifier: Apache-2.0
// Histograms of bytes, and tables that are made of them: equalize.
#pragma once

#include "kernels/color/equalize_scalar.h"
#include "kernels/gpu/atomics.h"
#include "kernels/gpu/runs.h"

namespace torchdali::gpu {

struct CountBytesGrid {
  static constexpr int kPerCall = 16;  // pixels
  const CountBytesTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const CountBytesTask& task = tasks[t];
    const int64_t first = i * kPerCall, rest = task.size - first;
    const int count = static_cast<int>(rest < kPerCall ? rest : kPerCall);
    uint32_t* counts = static_cast<uint32_t*>(task.out) + i % task.copies * task.channels * 256;
    const uint8_t* in = static_cast<const uint8_t*>(task.in) + first * task.channels;
    // Neighbours are often equal: they are added as one.
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

struct EqualizeGrid {
  const EqualizeTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const EqualizeTask& task = tasks[t];
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

struct ByteTableGrid {
  static constexpr int kPerCall = 16;
  const ByteTableTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ByteTableTask& task = tasks[t];
    const int64_t first = i * kPerCall;
    const uint8_t* in = static_cast<const uint8_t*>(task.in) + first;
    uint8_t* out = static_cast<uint8_t*>(task.out) + first;
    int64_t channel = task.channels == 1 ? 0 : first % task.channels;
    const auto entry = [&](uint8_t x) {
      const uint8_t y = task.tables[channel * 256 + x];
      if (++channel == task.channels) channel = 0;
      return y;
    };
    if (first + kPerCall <= task.size) {
      uint8_t x[kPerCall];
      load_bytes_run(in, x);
      TORCHDALI_UNROLL
      for (int k = 0; k < kPerCall; ++k) x[k] = entry(x[k]);
      store_bytes_run(out, x);
      return;
    }
    for (int k = 0; first + k < task.size; ++k) out[k] = entry(in[k]);
  }
};

}  // namespace torchdali::gpu
