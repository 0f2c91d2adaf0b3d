// SPDX-License-Identifier: Apache-2.0
// A median filter as a list of minima and maxima of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/morphology/median.h"

namespace torchdali::kernels {

// The elements of slot `slot`, from column `shift` on.
struct MedianRow {
  int32_t slot = 0, shift = 0;
};

struct MedianStep {
  MedianRow a, b;
  int32_t smaller = -1, larger = -1;  // slots of the results; -1: not needed
  int32_t columns = 0;                // further columns that later steps need of the results
};

// Computes two rows of the result. Slots 0 to window_y are the rows of the input that they depend
// on, from top to bottom; the next two are the rows of the result; all others hold intermediate
// rows. `shift` and `columns` count pixels.
struct MedianProgram {
  int64_t window_y = 0, window_x = 0;
  std::vector<MedianStep> steps;
  int num_slots = 0;

  int first_result() const { return static_cast<int>(window_y) + 1; }
  int first_intermediate() const { return first_result() + 2; }
};

// Made at the first call for a window, and kept. Windows of more than one element.
const MedianProgram& median_program(int64_t window_y, int64_t window_x);

}  // namespace torchdali::kernels
