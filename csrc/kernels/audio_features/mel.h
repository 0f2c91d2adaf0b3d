// SPDX-License-Identifier: Apache-2.0
// Filters that are triangles on the mel scale, for fn.mel_filter_bank. They overlap so that each
// frequency is below the peak of one filter and above that of the one before.
#pragma once

#include <cstdint>
#include <vector>

namespace torchdali::kernels {

enum class MelFormula : int8_t { kSlaney, kHtk };

struct MelFilters {
  int filters = 0;
  double sample_rate = 0, low = 0, high = 0;  // in Hz
  MelFormula formula = MelFormula::kSlaney;
  bool normalize = false;  // to the same area
};

// The filters for a number of frequencies. Filter i rises in interval i and falls in interval
// i + 1. Interval i has the frequencies from start[i] up to start[i + 1], which may be none.
struct MelBank {
  int filters = 0;
  int64_t bins = 0;
  std::vector<int32_t> start;          // filters + 2
  std::vector<float> rising, falling;  // of each frequency, 0 outside of all filters
};

double hz_to_mel(MelFormula formula, double hz);
double mel_to_hz(MelFormula formula, double mel);
// `bins` frequencies from 0 to half of the sample rate.
MelBank make_mel_bank(const MelFilters& filters, int64_t bins);

// Filters a tile of frames: [bins] rows to [filters] rows.
void apply_mel(float* out, const float* in, const MelBank& bank);

}  // namespace torchdali::kernels
