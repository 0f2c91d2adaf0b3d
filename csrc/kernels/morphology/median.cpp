// SPDX-License-Identifier: Apache-2.0
// Chooses how to compute a median filter.
#include "kernels/morphology/median.h"

#include <cstring>

#include "kernels/morphology/median_rows.h"

namespace torchdali::kernels {
namespace {

enum class MedianMethod : int8_t { kCopy, kThree, kProgram, kHistograms, kRanks };

MedianMethod method_of(const MedianJob& job) {
  // From measurements: where histograms and ranks are faster.
  constexpr int64_t kLargestForBytes = 11 * 11, kLargest = 17 * 17;
  if (job.window_y == 1 && job.window_x == 1) return MedianMethod::kCopy;
  if (job.window_y == 3 && job.window_x == 3) return MedianMethod::kThree;
  const double area = static_cast<double>(job.window_y) * static_cast<double>(job.window_x);
  if (area <= (job.type == DType::kUInt8 ? kLargestForBytes : kLargest))
    return MedianMethod::kProgram;
  return job.type == DType::kUInt8 ? MedianMethod::kHistograms : MedianMethod::kRanks;
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
    case MedianMethod::kRanks: return median_by_ranks(job, in, out);
  }
}

}  // namespace torchdali::kernels
