// SPDX-License-Identifier: Apache-2.0
// Chooses how to compute a median filter.
#include "kernels/morphology/median.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/morphology/median_rows.h"

namespace torchdali::kernels {
namespace {

enum class MedianMethod : int8_t { kCopy, kThree, kProgram, kHistograms, kSelection };

MedianMethod method_of(const MedianJob& job) {
  // From measurements: where histograms are faster, and where programs become very long.
  constexpr int64_t kLargestForBytes = 11 * 11, kLargest = 41 * 41;
  if (job.window_y == 1 && job.window_x == 1) return MedianMethod::kCopy;
  if (job.window_y == 3 && job.window_x == 3) return MedianMethod::kThree;
  const double area = static_cast<double>(job.window_y) * static_cast<double>(job.window_x);
  if (area <= (job.type == DType::kUInt8 ? kLargestForBytes : kLargest))
    return MedianMethod::kProgram;
  return job.type == DType::kUInt8 ? MedianMethod::kHistograms : MedianMethod::kSelection;
}

// Gathers the window of each element.
template <class T>
void median_by_selection(const MedianJob& job, const T* in, T* out) {
  const int64_t h = job.height, w = job.width, c = job.channels;
  std::vector<T> window(static_cast<size_t>(job.window_y * job.window_x));
  const auto middle = window.begin() + static_cast<int64_t>(window.size() / 2);
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x)
      for (int64_t channel = 0; channel < c; ++channel) {
        size_t n = 0;
        for (int64_t dy = -job.window_y / 2; dy <= job.window_y / 2; ++dy)
          for (int64_t dx = -job.window_x / 2; dx <= job.window_x / 2; ++dx)
            window[n++] = in[(std::clamp<int64_t>(y + dy, 0, h - 1) * w +
                              std::clamp<int64_t>(x + dx, 0, w - 1)) *
                                 c +
                             channel];
        std::nth_element(window.begin(), middle, window.end());
        *out++ = *middle;
      }
}

}  // namespace

size_t median_scratch(const MedianJob& job) {
  switch (method_of(job)) {
    case MedianMethod::kThree: return median3_scratch(job);
    case MedianMethod::kProgram: return median_by_program_scratch(job);
    case MedianMethod::kHistograms: return median_by_histograms_scratch(job);
    default: return 0;
  }
}

void median(const MedianJob& job, const void* in, void* out, void* scratch) {
  switch (method_of(job)) {
    case MedianMethod::kCopy:
      std::memcpy(out, in,
                  static_cast<size_t>(job.height * job.width * job.channels * itemsize(job.type)));
      return;
    case MedianMethod::kThree: return median3(job, in, out, scratch);
    case MedianMethod::kProgram: return median_by_program(job, in, out, scratch);
    case MedianMethod::kHistograms: return median_by_histograms(job, in, out, scratch);
    case MedianMethod::kSelection:
      dispatch_dtype(job.type, [&]<class T>() {
        median_by_selection(job, static_cast<const T*>(in), static_cast<T*>(out));
      });
  }
}

}  // namespace torchdali::kernels
