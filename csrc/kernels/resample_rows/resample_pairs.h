// SPDX-License-Identifier: Apache-2.0
// The horizontal pass of resampling in fixed point (resample_rows.h), for filters of two taps: from
// rows of bytes as they are, or of middle elements.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchdali::kernels {

// In the order in which the loop reads it. Each 8 elements of the result are sums of elements that
// are in `windows` times 16 adjacent bytes of the source.
struct PairTable {
  int64_t size = 0;                   // elements of the result
  int windows = 0;                    // 0: not possible; 3 at most
  const int32_t* base = nullptr;      // the first element of the windows of each 8
  const uint8_t* order = nullptr;     // for each 16: [2 taps, windows, 32], for shuffles of bytes
  const uint16_t* weights = nullptr;  // for each 16: [start and 2 taps, 16]
};

struct PairKernels {
  // Memory for a table, in bytes.
  int64_t (*prepared_size)(int64_t size);
  // `offset`, `weights`: as for HorizontalKernels::prepare. `bytes`: of a source element, 1 or 2.
  // Reads nothing after the first `width` elements of a row.
  PairTable (*prepare)(const int32_t* offset, const uint16_t* weights, int64_t out,
                       int64_t channels, int bytes, int64_t width, std::byte* memory);
  // May write up to 15 elements too many.
  void (*bytes_to_mid)(const uint8_t* row, const PairTable& table, uint16_t* result);
  // Write exactly `size` elements.
  void (*bytes_to_bytes)(const uint8_t* row, const PairTable& table, uint8_t* result);
  void (*mid_to_bytes)(const uint16_t* row, const PairTable& table, uint8_t* result);
};
// For active_isa().
const PairKernels& pair_kernels();

}  // namespace torchdali::kernels
