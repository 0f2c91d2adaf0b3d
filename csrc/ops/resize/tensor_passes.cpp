// SPDX-License-Identifier: Apache-2.0
#include "ops/resize/tensor_passes.h"

#include <algorithm>

#include "core/error.h"

namespace torchdali {
namespace {

using kernels::ResampleAxis;
using kernels::ResampleJob;

constexpr size_t kMostAxes = 3;
// A longer axis is not resampled together with others if it stays as it is, as floats cannot count
// its elements.
constexpr int64_t kMostKept = int64_t{1} << 22;
constexpr double kMostElements = 0x1p40;
// Pixels with more channels than this are rows, which are added whole.
constexpr int64_t kFewChannels = 4;
// Most columns of such a row; each costs an entry of a table.
constexpr int64_t kMostColumns = 4096;

ResampleAxis kept_axis(int64_t extent) {
  return {.in = extent, .out = extent, .low = 0, .high = static_cast<float>(extent)};
}

std::vector<TensorAxis> merged(std::span<const TensorAxis> axes) {
  std::vector<TensorAxis> result;
  for (const TensorAxis& axis : axes) {
    if (axis.kept && !result.empty() && result.back().kept)
      result.back().axis = kept_axis(result.back().axis.in * axis.axis.in);
    else result.push_back(axis.kept ? TensorAxis{kept_axis(axis.axis.in)} : axis);
  }
  return result;
}

// Axes [begin, end); the first and the last change.
struct Group {
  size_t begin = 0, end = 0;
  double growth = 1;
};
// The longest group from an axis that changes.
Group group_from(const std::vector<TensorAxis>& axes, size_t begin) {
  Group group{.begin = begin, .end = begin};
  double growth = 1;
  for (size_t i = begin; i < std::min(axes.size(), begin + kMostAxes); ++i) {
    if (axes[i].kept && axes[i].axis.in > kMostKept) break;
    if (axes[i].kept) continue;
    growth *= static_cast<double>(axes[i].axis.out) / static_cast<double>(axes[i].axis.in);
    group.end = i + 1;
    group.growth = growth;
  }
  return group;
}
Group best_group(const std::vector<TensorAxis>& axes) {
  Group best;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].kept) continue;
    const Group group = group_from(axes, i);
    if (best.end == 0 || group.growth < best.growth) best = group;
    // The rest, or all.
    if (std::none_of(axes.begin() + static_cast<std::ptrdiff_t>(group.end), axes.end(),
                     [](const TensorAxis& axis) { return !axis.kept; }))
      break;
  }
  return best;
}

// Divides the channels of a row into columns and fewer channels.
int64_t columns_of(int64_t channels) {
  int64_t least = (channels + kMostColumns - 1) / kMostColumns;
  for (int64_t c = std::max<int64_t>(least, 1); c <= std::min(channels, 2 * least + 64); ++c)
    if (channels % c == 0) return channels / c;
  return 1;
}

ResampleJob job_of(const std::vector<TensorAxis>& axes, const Group& group) {
  ResampleJob job;
  for (size_t i = 0; i < group.begin; ++i) job.outer *= axes[i].axis.in;
  for (size_t i = group.end; i < axes.size(); ++i) job.channels *= axes[i].axis.in;
  const size_t count = group.end - group.begin;
  const bool rows = count <= 1 && job.channels > kFewChannels;
  for (size_t k = 0; k < count; ++k)
    job.axes[kMostAxes - count - rows + k] = axes[group.begin + k].axis;
  if (rows) {
    const int64_t columns = columns_of(job.channels);
    job.axes[kMostAxes - 1] = kept_axis(columns);
    job.channels /= columns;
  }
  TORCHDALI_CHECK(static_cast<double>(job.outer) * static_cast<double>(job.channels) *
                          static_cast<double>(job.axes[0].out) *
                          static_cast<double>(job.axes[1].out) *
                          static_cast<double>(job.axes[2].out) <
                      kMostElements,
                  "a tensor of more than 2^40 elements would be made");
  return job;
}

}  // namespace

int64_t pass_volume(const ResampleJob& job) {
  return job.outer * job.channels * job.axes[0].out * job.axes[1].out * job.axes[2].out;
}

std::vector<ResampleJob> tensor_passes(std::span<const TensorAxis> given, DType in, DType out) {
  std::vector<ResampleJob> passes;
  for (const TensorAxis& axis : given)
    if (axis.axis.out == 0) return passes;
  std::vector<TensorAxis> axes = merged(given);
  do {
    const Group group = best_group(axes);
    passes.push_back(job_of(axes, group));
    for (size_t i = group.begin; i < group.end; ++i)
      axes[i] = {.axis = kept_axis(axes[i].axis.out)};
    axes = merged(axes);
  } while (std::any_of(axes.begin(), axes.end(), [](const TensorAxis& a) { return !a.kept; }));
  for (ResampleJob& job : passes) job.in_type = job.out_type = DType::kFloat;
  passes.front().in_type = in;
  passes.back().out_type = out;
  return passes;
}

}  // namespace torchdali
