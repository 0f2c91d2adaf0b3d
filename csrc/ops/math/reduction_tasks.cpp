// SPDX-License-Identifier: Apache-2.0
#include "ops/math/reduction_tasks.h"

#include <algorithm>
#include <vector>

namespace torchdali::gpu {
namespace {

// Number of threads per result: enough to keep a device busy, each with some work.
int64_t parts_of(int64_t values, int64_t results) {
  constexpr int64_t kValues = 32, kThreads = 65536, kMost = 1024;
  const int64_t useful = (values + kValues - 1) / kValues;
  const int64_t enough = kThreads / std::max<int64_t>(results, 1);
  return std::clamp<int64_t>(std::min(useful, enough), 1, kMost);
}

// Adjacent axes are merged if all are reduced or all are kept.
ReduceTask make_reduce(const ReducedSample& part) {
  struct Group {
    int64_t extent, stride;
    bool reduced;
  };
  const Shape& shape = part.sample->shape;
  std::vector<Group> groups;  // innermost first
  ReduceTask task;
  task.in = part.sample->data;
  task.count = task.results = 1;
  int64_t stride = 1;
  for (int i = shape.ndim() - 1; i >= 0; stride *= shape[i--]) {
    const bool reduced = (part.axes >> i & 1) != 0;
    (reduced ? task.count : task.results) *= shape[i];
    if (shape[i] == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced) groups.back().extent *= shape[i];
    else groups.push_back({shape[i], stride, reduced});
  }
  if (!groups.empty() && !groups.front().reduced) {
    task.inner = groups.front().extent;
    groups.erase(groups.begin());
  }
  TORCHDALI_CHECK_KIND(kUnsupported, groups.size() <= kMaxAxes, "a reduction along ", groups.size(),
                       " groups of axes, on the GPU at most ", kMaxAxes, " are possible",
                       to_fix("use fn.transpose, or the CPU"));
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    int& count = group->reduced ? task.num_reduced : task.num_kept;
    (group->reduced ? task.reduced_extent : task.kept_extent)[count] = group->extent;
    (group->reduced ? task.reduced_stride : task.kept_stride)[count++] = group->stride;
  }
  return task;
}

}  // namespace

void Reductions::add_parts(std::span<const ReducedSample> samples, const GivenMean& mean,
                           FoldTask& fold) {
  const DType dtype = samples.front().sample->dtype;
  BlobOffset mean_list = 0;
  if (mean.data == nullptr && !mean.values.empty()) mean_list = batch_.blob.keep(mean.values);
  std::vector<ReduceTask> tasks;
  for (const ReducedSample& sample : samples) {
    ReduceTask& task = tasks.emplace_back(make_reduce(sample));
    task.reduction = fold.reduction;
    task.in_dtype = dtype;
    task.parts = parts_of(task.count, task.results);
    task.size = task.parts * task.results;
    task.mean = mean.data;
    task.mean_list = mean_list;
    task.mean_dtype = mean.dtype;
    task.mean_step = mean.step;
    fold.parts += task.parts;
    fold.values += task.count;
  }
  constexpr int64_t kAccumulator = 8;  // bytes
  fold.size = tasks.front().results;
  fold.accumulator = kernels::accumulator_dtype(fold.reduction, dtype);
  fold.in = batch_.workspace.reserve(fold.parts * fold.size * kAccumulator);
  char* partials = static_cast<char*>(const_cast<void*>(fold.in));
  for (ReduceTask& task : tasks) {
    task.out = partials;
    partials += task.size * kAccumulator;
    parts_.add_intermediate(task);
  }
}

void Reductions::add(const SampleContext& ctx, const ReducedSample& sample, FoldTask fold,
                     const GivenMean& mean) {
  add_parts({&sample, 1}, mean, fold);
  folds_.add(ctx, fold);
}

void Reductions::add_intermediate(std::span<const ReducedSample> samples, FoldTask fold,
                                  const GivenMean& mean) {
  add_parts(samples, mean, fold);
  folds_.add_intermediate(fold);
}

}  // namespace torchdali::gpu
