// SPDX-License-Identifier: Apache-2.0
// Jobs of kernels/resample with random pixels, in buffers of exact size, so that the address
// sanitizer sees a read or write too far.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/resample/resample.h"

namespace torchdali::kernels {

inline uint32_t next_random() {
  static uint32_t state = 12345;
  state = state * 1664525 + 1013904223;
  return state >> 8;
}

template <class T>
std::vector<T> random_pixels(int64_t count) {
  std::vector<T> pixels(static_cast<size_t>(count));
  for (T& p : pixels) {
    if constexpr (std::is_same_v<T, float>) p = static_cast<float>(next_random() % 10007) / 10007;
    else p = static_cast<T>(next_random());
  }
  return pixels;
}

inline ResampleAxis make_axis(int64_t in, int64_t out, ResampleFilter filter) {
  return {.in = in,
          .out = out,
          .low = 0,
          .high = static_cast<float>(in),
          .min_filter = filter,
          .mag_filter = filter};
}

template <class In, class Out>
std::vector<Out> run(const ResampleJob& job, const std::vector<In>& in) {
  int64_t count = job.outer * job.channels;
  for (const ResampleAxis& axis : job.axes) count *= axis.out;
  std::vector<Out> out(static_cast<size_t>(count));
  const size_t bytes = resample_scratch_bytes(job);
  // Of exact size too; operator new[] with alignment keeps the sanitizer's red zones.
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  const std::unique_ptr<std::byte, Free> scratch(static_cast<std::byte*>(
      std::aligned_alloc(64, std::max<size_t>(64, (bytes + 63) / 64 * 64))));
  resample(job, in.data(), out.data(), scratch.get());
  return out;
}

}  // namespace torchdali::kernels
