// SPDX-License-Identifier: Apache-2.0
// Bytes at half the size along both axes: the mean of 2 x 2 pixels or, with antialiasing, sums with
// the weights 1, 3, 3, 1 along each axis. These sums are exact, so the results are those of fixed
// point (resample_rows.h), in any order.
#pragma once

#include <cstdint>

#include "kernels/resample/resample.h"
#include "kernels/resample/resample_table.h"
#include "kernels/resample/ring.h"

namespace torchdali::kernels {

struct HalvingKernels {
  bool available;  // whether this instruction set has such loops
  // The mean of pixels 2 x and 2 x + 1 of two rows, for `out` pixels x of up to 4 channels. Writes
  // exactly out * channels bytes.
  void (*mean)(const uint8_t* rows, int64_t stride, int64_t out, int64_t channels, uint8_t* result);
  // sums[x] = taps[2 x] + 3 taps[2 x + 1] + 3 taps[2 x + 2] + taps[2 x + 3], in pixels, of which
  // [first, end) are known; others are the nearest of them. May write 15 elements too many.
  void (*add_columns)(const uint8_t* taps, int64_t first, int64_t end, int64_t out,
                      int64_t channels, uint16_t* sums);
  // The same sum of 4 rows, / 64, for n elements.
  void (*add_rows)(const uint16_t* const* rows, int64_t n, uint8_t* result);
};
// For active_isa().
const HalvingKernels& halving_kernels();

// Halves a plane, the axes H and W of a job. The tables of filters are not needed.
class HalvedPlane {
 public:
  // Whether the job halves these axes: exactly, from a whole pixel on.
  static bool fits(const ResampleJob& job);

  HalvedPlane(const ResampleJob& job, ScratchArena& arena);
  int64_t height() const { return h_.out; }
  // Before the first rows of a plane.
  void begin_plane() { ring_.clear(); }
  // Rows [begin, end) of the result of plane `in`.
  void rows(const uint8_t* in, int64_t in_stride, int64_t begin, int64_t end, uint8_t* out,
            int64_t out_stride);

 private:
  static constexpr int kMaxTaps = 4;
  // The taps of pixel i are 2 i, 2 i + 1, ..., of which [first, end) are pixels; pixel 0 is the
  // pixel of the source with the number `base`, counted from ResampleAxis::stored.
  struct Axis {
    explicit Axis(const ResampleAxis& axis);
    int64_t out, base, first, end;
  };

  const HalvingKernels& kernels_ = halving_kernels();
  int64_t channels_;
  bool antialias_;
  Axis h_, w_;
  Ring<uint16_t> ring_;
};

}  // namespace torchdali::kernels
