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

// Of all parts together, which agree in the axes that are kept. Writes the mean (where it is
// wanted; else it holds the mean to take) and, to scratch[i], the sum of squared deviations from
// it. Returns how many values went into each result. `scratch`: two values a result.
int64_t moments(std::span<const MomentsPart> parts, bool wants_mean, bool wants_deviations,
                std::span<float> mean, std::span<double> scratch);

}  // namespace torchdali
