// SPDX-License-Identifier: Apache-2.0
// Both passes at once, for filters of two taps along both axes that skip most pixels of a row: only
// those that are needed are blended. Results are those of the two passes, the vertical one first
// (resample_rows.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchdali::kernels {

template <class Mid>
struct SparseTable {
  int64_t out = 0;  // pixels; 0: not possible
  int64_t channels = 0;
  const int32_t* offset = nullptr;  // of the first tap of a pixel, in elements
  int64_t width = 0;                // elements of a row
  const Mid* weights = nullptr;     // in the order in which the loop reads them
};

// Of elements In, with middle elements Mid: bytes in fixed point, or floats.
template <class In, class Mid>
struct SparseKernels {
  // Memory for a table, in elements.
  int64_t (*prepared_size)(int64_t out, int64_t channels);
  // `offset`, `weights`: as for HorizontalKernels::prepare. Reads nothing outside of the first
  // `width` elements of a row.
  SparseTable<Mid> (*prepare)(const int32_t* offset, const Mid* weights, int64_t out,
                              int64_t channels, int64_t width, Mid* memory);
  // A row of the result from two rows; their weights, and what their sum starts with. Writes
  // exactly out * channels elements.
  void (*make)(const In* const* rows, const Mid* weights, Mid start, const SparseTable<Mid>& table,
               In* result);
};
// For active_isa().
template <class In, class Mid>
const SparseKernels<In, Mid>& sparse_kernels();

}  // namespace torchdali::kernels
