// SPDX-License-Identifier: Apache-2.0
#include "ops/math/moments.h"

#include <bit>

#include "ops/math/reduced_axes.h"

namespace torchdali {
namespace {

using kernels::Reduction;

void add_up(std::span<const MomentsPart> parts, Reduction reduction, void* accumulators,
            size_t count, const double* means = nullptr) {
  kernels::begin_reduce(reduction, parts.front().sample->dtype, accumulators,
                        static_cast<int64_t>(count));
  for (const MomentsPart& part : parts)
    kernels::reduce({.reduction = reduction,
                     .dtype = part.sample->dtype,
                     .in = part.sample->data,
                     .shape = part.sample->shape,
                     .axes = part.axes,
                     .mean = means,
                     .accumulators = accumulators});
}

// Sums and sums of squares of 8 and 16 bits are exact integers, so one pass over the data is
// enough: n * sum((x - mean)^2) = n * sum(x^2) - sum(x)^2, without rounding.
void exact_deviations(std::span<const MomentsPart> parts, std::span<const float> mean,
                      bool computed_mean, int64_t values, std::span<double> scratch) {
  const size_t count = mean.size();
  double* squares = scratch.data() + count;
  add_up(parts, Reduction::kSumOfSquares, squares, count);
  const double n = static_cast<double>(values);
  for (size_t i = 0; i < count; ++i) {
    const int64_t sum = std::bit_cast<int64_t>(scratch[i]);
    const auto square = std::bit_cast<uint64_t>(squares[i]);
    const __int128 spread =
        static_cast<__int128>(values) * square - static_cast<__int128>(sum) * sum;
    const double offset = computed_mean ? 0.0 : static_cast<double>(sum) / n - mean[i];
    scratch[i] = static_cast<double>(spread) / n + n * offset * offset;
  }
}

}  // namespace

int64_t moments(std::span<const MomentsPart> parts, bool wants_mean, bool wants_deviations,
                std::span<float> mean, std::span<double> scratch) {
  const size_t count = mean.size();
  int64_t values = 0;
  for (const MomentsPart& part : parts)
    values += ReducedCounts(part.sample->shape, part.axes).values;
  const DType dtype = parts.front().sample->dtype;
  const bool narrow = !is_floating(dtype) && itemsize(dtype) <= 2;
  if (wants_mean || narrow) add_up(parts, Reduction::kMean, scratch.data(), count);
  if (wants_mean) {
    const DType sum_dtype = kernels::accumulator_dtype(Reduction::kMean, dtype);
    for (size_t i = 0; i < count; ++i) {
      const double sum =
          sum_dtype == DType::kInt64    ? static_cast<double>(std::bit_cast<int64_t>(scratch[i]))
          : sum_dtype == DType::kUInt64 ? static_cast<double>(std::bit_cast<uint64_t>(scratch[i]))
                                        : scratch[i];
      mean[i] = static_cast<float>(sum / static_cast<double>(values));
    }
  }
  if (!wants_deviations) return values;
  if (narrow) {
    exact_deviations(parts, mean, wants_mean, values, scratch);
    return values;
  }
  double* means = scratch.data() + count;
  for (size_t i = 0; i < count; ++i) means[i] = mean[i];
  add_up(parts, Reduction::kSumOfSquaredDeviations, scratch.data(), count, means);
  return values;
}

}  // namespace torchdali
