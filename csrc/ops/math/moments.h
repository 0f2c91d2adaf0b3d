// SPDX-License-Identifier: Apache-2.0
// Means and sums of squared deviations of one or more samples along axes.
#pragma once

#include <span>

#include "core/view.h"
#include "kernels/math/reduce.h"

namespace torchdali {

struct MomentsPart {
  const SampleView* sample;
  kernels::AxisMask axes;
};

// Combines all parts, whose shapes agree in the axes that are kept. Writes the mean (if requested;
// otherwise reads it) and, to scratch[i], the sum of squared deviations from it. Returns the number
// of values per result. `scratch`: two values per result.
int64_t moments(std::span<const MomentsPart> parts, bool wants_mean, bool wants_deviations,
                std::span<float> mean, std::span<double> scratch);

}  // namespace torchdali
