// SPDX-License-Identifier: Apache-2.0
#include "kernels/audio_features/mel.h"

#include <algorithm>
#include <cmath>

namespace torchdali::kernels {
namespace {

// Source: M. Slaney, Auditory Toolbox (1998), as it is described in the documentation of librosa:
// linear below 1000 Hz, 27 steps of equal ratio from there to 6400 Hz.
constexpr double kSlaneyHz = 200.0 / 3, kSlaneyBreak = 1000;
const double kSlaneyStep = std::log(6.4) / 27;
// Source: S. Young et al., The HTK Book.
constexpr double kHtkFactor = 2595, kHtkHz = 700;

}  // namespace

double hz_to_mel(MelFormula formula, double hz) {
  if (formula == MelFormula::kHtk) return kHtkFactor * std::log10(1 + hz / kHtkHz);
  return hz < kSlaneyBreak ? hz / kSlaneyHz
                           : kSlaneyBreak / kSlaneyHz + std::log(hz / kSlaneyBreak) / kSlaneyStep;
}

double mel_to_hz(MelFormula formula, double mel) {
  if (formula == MelFormula::kHtk) return kHtkHz * (std::pow(10, mel / kHtkFactor) - 1);
  constexpr double kBreak = kSlaneyBreak / kSlaneyHz;
  return mel < kBreak ? mel * kSlaneyHz : kSlaneyBreak * std::exp((mel - kBreak) * kSlaneyStep);
}

MelBank make_mel_bank(const MelFilters& filters, int64_t bins) {
  const auto n = static_cast<size_t>(filters.filters);
  MelBank bank{.filters = filters.filters, .bins = bins, .start = {}, .rising = {}, .falling = {}};
  bank.rising.resize(static_cast<size_t>(bins));
  bank.falling.resize(static_cast<size_t>(bins));
  std::vector<double> hz(n + 2);
  const double low = hz_to_mel(filters.formula, filters.low),
               high = hz_to_mel(filters.formula, filters.high);
  for (size_t i = 0; i < n + 2; ++i)
    hz[i] = mel_to_hz(filters.formula,
                      low + (high - low) * static_cast<double>(i) / static_cast<double>(n + 1));
  hz.front() = filters.low;  // exactly, for frequencies at the ends
  hz.back() = filters.high;
  const double step = bins > 1 ? filters.sample_rate / 2 / static_cast<double>(bins - 1) : 0;
  const auto factor = [&](size_t filter) {
    return filters.normalize ? 2 / (hz[filter + 2] - hz[filter]) : 1.0;
  };
  int32_t bin = 0;
  for (size_t i = 0; i < n + 2; ++i) {
    // Frequencies of the interval before this point.
    for (; bin < bins && bin * step < hz[i]; ++bin) {
      if (i == 0) continue;
      const double width = hz[i] - hz[i - 1], at = bin * step;
      const auto b = static_cast<size_t>(bin);
      if (i <= n) bank.rising[b] = static_cast<float>((at - hz[i - 1]) / width * factor(i - 1));
      if (i >= 2) bank.falling[b] = static_cast<float>((hz[i] - at) / width * factor(i - 2));
    }
    bank.start.push_back(bin);
  }
  return bank;
}

}  // namespace torchdali::kernels
