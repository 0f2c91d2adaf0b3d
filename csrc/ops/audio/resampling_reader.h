// SPDX-License-Identifier: Apache-2.0
// Resampling of signals that are read in order, and what operators that resample have in common.
#pragma once

#include <cstdint>
#include <memory>

#include "core/audio/audio_part.h"
#include "kernels/audio/resample_signal.h"

namespace torchdali {

// The length of a signal of `length` samples at another rate, as DALI rounds it: up. Raises kValue
// unless in_rate > 0, out_rate >= 0, both are finite, and the result is a length.
int64_t resampled_length(int64_t length, double in_rate, double out_rate);

inline void antialias_arg(SchemaBuilder& schema) {
  schema.arg("antialias", false,
             "Whether to remove frequencies that a lower sampling rate cannot represent. They are "
             "mirrored otherwise, as by DALI, which has no such argument.");
}

// Raises kValue unless 0 <= quality <= 100.
void check_resampling_quality(double quality);

// The tables with which `out_length` outputs are made. Raises kValue if there are none: where the
// step between outputs is too large.
std::shared_ptr<const kernels::SignalResampler> find_resampler(double in_rate, double out_rate,
                                                               int64_t out_length, double quality,
                                                               bool antialias = false);

// `in`, resampled as it is read: bit-identical to kernels::SignalResampler on the whole signal.
// `in` outlives the result. `out_length`: resampled_length() or any other; after the end of `in`
// there is silence. With equal rates, the values are unchanged.
std::unique_ptr<SignalReader> resample_signal(SignalReader& in, double in_rate, double out_rate,
                                              int64_t out_length, double quality,
                                              bool antialias = false);

}  // namespace torchdali
