// SPDX-License-Identifier: Apache-2.0
// Draws from 256 distributions, one for each byte, that take one word each. Tables for the host and
// the GPU.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

struct ByteDraws {
  static constexpr uint32_t kGuides = 64, kGuideShift = 26;
  struct Row {
    uint32_t first;            // in `ends` and `results`
    uint16_t guides[kGuides];  // where to begin the search, by the first bits of the word
  };
  const Row* rows;       // 256
  const uint32_t* ends;  // the last word of each result
  const uint8_t* results;

  constexpr uint8_t operator()(uint8_t value, uint32_t word) const {
    const Row& row = rows[value];
    uint32_t k = row.first + row.guides[word >> kGuideShift];
    while (word > ends[k]) ++k;
    return results[k];
  }
};

}  // namespace torchdali::kernels
