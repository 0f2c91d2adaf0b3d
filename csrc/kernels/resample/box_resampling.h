// SPDX-License-Identifier: Apache-2.0
// Resampling on the GPU by the tables of resample_table.h, all axes at once: a pixel of the result
// is a weighted sum over a box of the source. A sink (store_sums.h, chain_finish.h) gets the sums.
#pragma once

#include <type_traits>

#include "kernels/gpu/words.h"
#include "kernels/resample/resample_task.h"

namespace torchdali::gpu {

// Computes run `i` of a task.
template <class Sink>
struct BoxResampling {
  const ResampleTask& task;
  const void* blob;
  const Sink& sink;

  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    if (task.in_dtype == DType::kUInt8) return pixels<uint8_t>(i);
    if (task.in_dtype == DType::kInt16) return pixels<int16_t>(i);
    if (task.in_dtype == DType::kUInt16) return pixels<uint16_t>(i);
    return pixels<float>(i);
  }

 private:
  // Channels that are summed at the same time.
  static constexpr int kAtOnce = 4;

  template <class T>
  TORCHDALI_HOST_DEVICE void pixels(int64_t i) const {
    const int64_t width = task.axes[2].out;
    Unravel index(i);
    const int64_t x = index.axis((width + kResampleRun - 1) / kResampleRun) * kResampleRun;
    const int64_t row = index.rest();  // of the output
    const float* weights[2];
    int64_t from = 0;
    for (int a = 1; a >= 0; --a) {
      const ResampleAxisTable& axis = task.axes[a];
      const int64_t at = index.axis(axis.out);
      from += list_of<int32_t>(blob, axis.start)[at] * axis.in_stride;
      weights[a] = list_of<float>(blob, axis.weights) + at * axis.taps;
    }
    const T* in = static_cast<const T*>(task.in) + index.rest() * task.outer_stride + from;
    const int64_t left = width - x;
    const int count = left < kResampleRun ? static_cast<int>(left) : kResampleRun;
    if (task.channels == 3) return run<T, 3>(weights, in, row, x, count);
    if (task.channels == 1) return run<T, 1>(weights, in, row, x, count);
    for (int k = 0; k < count; ++k)
      for (int64_t c = 0; c < task.channels; c += kAtOnce) {
        float sums[kAtOnce] = {};
        const int64_t rest = task.channels - c;
        if (rest >= kAtOnce) box<T, kAtOnce>(weights, in + c, x + k, sums);
        else if (rest == 3) box<T, 3>(weights, in + c, x + k, sums);
        else if (rest == 2) box<T, 2>(weights, in + c, x + k, sums);
        else box<T, 1>(weights, in + c, x + k, sums);
        sink.channels(row, x + k, c, rest < kAtOnce ? static_cast<int>(rest) : kAtOnce, sums);
      }
  }
  // Pixels `x` to `x + count` of a row.
  template <class T, int kChannels>
  TORCHDALI_HOST_DEVICE void run(const float* const* weights, const T* in, int64_t row, int64_t x,
                                 int count) const {
    float sums[kResampleRun * kChannels] = {};
    TORCHDALI_UNROLL
    for (int k = 0; k < kResampleRun; ++k)
      if (k < count) short_box<T, kChannels>(weights, in, x + k, sums + k * kChannels);
    sink.template pixels<kChannels>(row, x, count, sums);
  }
  // Bytes are read as words where a row of the box is short: loads take most of the time there.
  template <class T, int kChannels>
  TORCHDALI_HOST_DEVICE void short_box(const float* const* weights, const T* in, int64_t x,
                                       float* sums) const {
    if constexpr (std::is_same_v<T, uint8_t>) {
      const int taps = task.axes[2].in_stride == kChannels ? task.axes[2].taps : 100;
      if (taps <= 2) return bytes<kChannels, 2>(weights, in, x, sums);
      if (taps <= 4) return bytes<kChannels, 4>(weights, in, x, sums);
      if (taps <= 6) return bytes<kChannels, 6>(weights, in, x, sums);
      if (taps <= 8) return bytes<kChannels, 8>(weights, in, x, sums);
    }
    box<T, kChannels>(weights, in, x, sums);
  }
  // A box at most kTaps wide: sums of its columns first, then the sum of those.
  template <int kChannels, int kTaps>
  TORCHDALI_HOST_DEVICE void bytes(const float* const* weights, const uint8_t* in, int64_t x,
                                   float* sums) const {
    const ResampleAxisTable& axis = task.axes[2];
    in += list_of<int32_t>(blob, axis.start)[x] * kChannels;
    const int wanted = axis.taps * kChannels;
    float columns[kTaps * kChannels] = {};
    for (int z = 0; z < task.axes[0].taps; ++z)
      for (int y = 0; y < task.axes[1].taps; ++y) {
        const float weight = weights[0][z] * weights[1][y];
        uint8_t row[kTaps * kChannels];
        load_unaligned(in + z * task.axes[0].in_stride + y * task.axes[1].in_stride, wanted, row);
        TORCHDALI_UNROLL
        for (int k = 0; k < kTaps * kChannels; ++k)
          columns[k] = multiply_add(weight, static_cast<float>(row[k]), columns[k]);
      }
    const float* across = list_of<float>(blob, axis.weights) + x * axis.taps;
    TORCHDALI_UNROLL
    for (int tap = 0; tap < kTaps; ++tap) {
      const float weight = tap < axis.taps ? across[tap] : 0;
      TORCHDALI_UNROLL
      for (int c = 0; c < kChannels; ++c)
        sums[c] = multiply_add(weight, columns[tap * kChannels + c], sums[c]);
    }
  }
  // Reads `wanted` bytes as the aligned words that contain them. The bytes after them are
  // arbitrary.
  template <int kCount>
  TORCHDALI_HOST_DEVICE static void load_unaligned(const uint8_t* in, int wanted,
                                                   uint8_t (&x)[kCount]) {
    constexpr int kWords = (kCount + 3) / 4;
    const auto offset = static_cast<int>(reinterpret_cast<uintptr_t>(in) % 4);
    const auto* words = reinterpret_cast<const uint32_t*>(in - offset);
    check_bytes(in, wanted);
    uint32_t low = load_word(words);
    TORCHDALI_UNROLL
    for (int w = 0; w < kWords; ++w) {
      const uint32_t high = 4 * (w + 1) < offset + wanted ? load_word(words + w + 1) : 0;
      const auto both = static_cast<uint64_t>(high) << 32 | low;
      const auto word = static_cast<uint32_t>(both >> (8 * offset));
      TORCHDALI_UNROLL
      for (int k = 0; k < 4 && 4 * w + k < kCount; ++k)
        x[4 * w + k] = static_cast<uint8_t>(word >> (8 * k));
      low = high;
    }
  }
  template <class T, int kCount>
  TORCHDALI_HOST_DEVICE void box(const float* const* weights, const T* in, int64_t x,
                                 float* sums) const {
    const ResampleAxisTable& axis = task.axes[2];
    const int64_t step = axis.in_stride;
    const float* across = list_of<float>(blob, axis.weights) + x * axis.taps;
    in += list_of<int32_t>(blob, axis.start)[x] * step;
    for (int z = 0; z < task.axes[0].taps; ++z)
      for (int y = 0; y < task.axes[1].taps; ++y) {
        const T* row = in + z * task.axes[0].in_stride + y * task.axes[1].in_stride;
        const float weight = weights[0][z] * weights[1][y];
        float line[kCount] = {};
        for (int tap = 0; tap < axis.taps; ++tap, row += step) {
          TORCHDALI_UNROLL
          for (int k = 0; k < kCount; ++k)
            line[k] = multiply_add(across[tap], static_cast<float>(row[k]), line[k]);
        }
        TORCHDALI_UNROLL
        for (int k = 0; k < kCount; ++k) sums[k] = multiply_add(weight, line[k], sums[k]);
      }
  }
};

}  // namespace torchdali::gpu
