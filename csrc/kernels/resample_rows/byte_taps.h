// SPDX-License-Identifier: Apache-2.0
// The horizontal pass of resampling in float (resample_rows.h), of rows of bytes as they are, for
// filters of few taps: those of a pixel are loaded once, and then converted.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

struct ByteTapTable {
  int64_t out = 0;
  int taps = 0;  // 0: not possible
  int64_t channels = 0;
  const int32_t* offset = nullptr;  // of the first tap of a pixel
  const float* weights = nullptr;   // [groups of 4 pixels, taps, 4 pixels, 4 times]
};

struct ByteTapKernels {
  // Memory for a table, in elements.
  int64_t (*prepared_size)(int64_t out, int64_t channels);
  // As HorizontalKernels::prepare.
  ByteTapTable (*prepare)(const int32_t* offset, const float* weights, int64_t out, int taps,
                          int64_t channels, float* memory);
  // Reads up to kRowPadding bytes after a row, and writes as many elements too many.
  void (*to_mid)(const uint8_t* row, const ByteTapTable& table, float* result);
};
// For active_isa().
const ByteTapKernels& byte_tap_kernels();

}  // namespace torchdali::kernels
