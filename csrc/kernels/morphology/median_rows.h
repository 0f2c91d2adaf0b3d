// SPDX-License-Identifier: Apache-2.0
// The ways to compute a median filter; kernels/morphology/median.h chooses.
#pragma once

#include "kernels/morphology/median.h"
#include "kernels/morphology/median_program.h"

namespace torchdali::kernels {

// A window of 3 x 3 elements.
size_t median3_scratch(const MedianJob& job);
void median3(const MedianJob& job, const void* in, void* out, void* scratch);

// By minima and maxima of rows.
size_t median_by_program_scratch(const MedianJob& job);
void median_by_program(const MedianJob& job, const void* in, void* out, void* scratch);

// By histograms of columns. uint8 only, for windows of less than 2^15 elements a side.
size_t median_by_histograms_scratch(const MedianJob& job);
void median_by_histograms(const MedianJob& job, const void* in, void* out, void* scratch);

// By the ranks of elements.
void median_by_ranks(const MedianJob& job, const void* in, void* out);

}  // namespace torchdali::kernels
