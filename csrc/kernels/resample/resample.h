// SPDX-License-Identifier: Apache-2.0
// Separable resampling of images and volumes: scaling, cropping (a region of interest that need not
// be whole pixels) and mirroring in one pass over the pixels that are needed. Arithmetic only;
// ops/resize/resize_attr.h decides the size of the result. See docs/design/resample.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/dtype.h"

namespace torchdali::kernels {

// DALI's numbers (InterpType).
enum class ResampleFilter : int8_t { kNearest, kLinear, kCubic, kLanczos3, kTriangular, kGaussian };

// One spatial axis. Pixel i of an axis covers [i, i + 1).
struct ResampleAxis {
  int64_t in = 1;   // extent of the source
  int64_t out = 1;  // extent of the result
  // The part of the source that becomes the result, in source pixels. low > high mirrors. It may
  // reach outside the source (border pixels repeat), and filters read around it where they can.
  float low = 0, high = 1;
  ResampleFilter min_filter = ResampleFilter::kLinear;  // for an axis that shrinks
  ResampleFilter mag_filter = ResampleFilter::kLinear;  // otherwise
  bool antialias = true;  // min_filter, other than kNearest, is widened by the scale
  // Pixels outside [low, high] have no weight, as if the region had been cut out before. Those that
  // it contains partly count.
  bool cut = false;
  // A window of the result: [low, high] becomes `full` pixels (0: `out`), of which `out` pixels
  // from `begin` on are computed; `mirror` then reverses them. Bit-identical to a crop and a flip
  // of the whole result. The window may reach outside [0, full).
  int64_t full = 0, begin = 0;
  bool mirror = false;
  // The source pixel that the data pointer points to: 0, or resample_source_range().begin if only
  // that range is in memory. Positions stay those of the whole source.
  int64_t stored = 0;
};

// A sample, or a part of a larger one, seen as [outer, D, H, W, channels].
struct ResampleJob {
  DType in_type = DType::kUInt8;   // uint8, int16, uint16, float
  DType out_type = DType::kUInt8;  // in_type or float
  std::array<ResampleAxis, 3> axes =
      {};                // D, H, W; axes that the sample does not have keep their defaults
  int64_t outer = 1;     // frames, planes
  int64_t channels = 1;  // elements from one W position to the next
  // Elements from one outer index, slice (D) or row (H) to the next; 0 stands for dense.
  int64_t in_outer_stride = 0, in_slice_stride = 0, in_row_stride = 0;
  int64_t out_outer_stride = 0, out_slice_stride = 0, out_row_stride = 0;
};

// First and one past the last source pixel that the axis reads; always inside [0, in). For example,
// the pixels that a decoder must deliver. {0, 0} if nothing is read.
struct ResampleRange {
  int64_t begin = 0, end = 0;
};
ResampleRange resample_source_range(const ResampleAxis& axis);

// The least number of source pixels that a result pixel averages; 1 if the filter skips some.
float resample_reduction(const ResampleAxis& axis);
// The same for a smaller source. That of `axis` begins at pixel `begin` of a picture; the new one
// is `source` of that picture at 1 / `scale`, whose pixel i covers [i * scale, (i + 1) * scale).
ResampleAxis resample_smaller(ResampleAxis axis, int64_t begin, int scale, ResampleRange source);

// Temporary memory of resample() for this job, in bytes; at most some rows (slices, for volumes
// that change their depth) and the filter tables.
size_t resample_scratch_bytes(const ResampleJob& job);

// Resamples `in` to `out`. `scratch`: resample_scratch_bytes(job), aligned to 64. Integers are
// rounded to nearest, halves away from zero, and saturate. A job with an empty result does nothing;
// raises a value error for types outside the list, an empty source with a result, or a region that
// is not finite or more than 2^24 times as large as the result. Any thread, allocates nothing. The
// result does not depend on the instruction set.
void resample(const ResampleJob& job, const void* in, void* out, void* scratch);

// The same result, some rows at a time: for a job of one image (`outer` and axis D are 1).
class ResampledRows {
 public:
  virtual ~ResampledRows() = default;
  // Writes rows [begin, end), `row_stride` elements apart. Fastest in order from the first to the
  // last, since intermediate rows are kept.
  virtual void make(int64_t begin, int64_t end, void* out, int64_t row_stride) = 0;
  // Goes on with another image, of the same job: the tables of the filters are kept.
  virtual void restart(const void* in) = 0;
};
// Null if the result is empty. `in` and `scratch` outlive it.
std::unique_ptr<ResampledRows> resample_rows(const ResampleJob& job, const void* in, void* scratch);

}  // namespace torchdali::kernels
