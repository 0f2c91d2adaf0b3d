// SPDX-License-Identifier: Apache-2.0
#include "ops/filter/convolution_gpu.h"

#include <algorithm>

namespace torchdali {
namespace {

bool is_identity(const kernels::HalfWindow& window) {
  return window.size() == 1 && window[0] == 1.0f;
}

}  // namespace

gpu::BlobOffset ConvolutionTasks::keep(const kernels::HalfWindow& window) {
  const auto at = static_cast<gpu::BlobOffset>(weights_.size() * sizeof(float));
  weights_.insert(weights_.end(), window.begin(), window.end());
  return at;
}

void ConvolutionTasks::add_pass(size_t number, const Pass& pass) {
  if (passes_.size() <= number) passes_.resize(number + 1);
  passes_[number].push_back(pass);
}

void ConvolutionTasks::add(const SampleContext& ctx, const ConvolutionAxes& axes,
                           std::span<const kernels::SeparableFilter> filters, const SampleView& in,
                           const SampleView& out) {
  const int64_t volume = out.volume();
  if (volume == 0) return;
  std::array<int64_t, 3> strides{};
  int64_t stride = axes.channels;
  for (size_t a = 3; a-- > 0; stride *= axes.extents[a]) strides[a] = stride;
  // Two in turn, and one for the sum over the filters; made when they are needed.
  float *buffers[2] = {}, *sum = nullptr;
  const auto buffer = [&](float*& at) {
    const auto bytes = volume * static_cast<int64_t>(sizeof(float));
    if (at == nullptr) at = static_cast<float*>(workspace_.reserve(bytes));
    return at;
  };
  size_t number = 0;
  for (size_t f = 0; f < filters.size(); ++f) {
    std::vector<size_t> windows;
    for (size_t a = 0; a < 3; ++a)
      if (!is_identity(filters[f][a])) windows.push_back(a);
    if (windows.empty()) windows.push_back(2);
    const bool first = f == 0, last = f + 1 == filters.size();
    const void* from = in.data;
    for (size_t k = 0; k < windows.size(); ++k, ++number) {
      const size_t axis = windows[k];
      const kernels::HalfWindow& window = filters[f][axis];
      const bool ends = k + 1 == windows.size();
      Pass pass;
      pass.sample = ctx.index_in_batch();
      pass.to_output = ends && last;
      pass.task.in = from;
      pass.task.out = pass.to_output ? out.data : ends ? buffer(sum) : buffer(buffers[k % 2]);
      if (ends && !first) pass.task.sum = buffer(sum);
      pass.task.in_dtype = k == 0 ? in.dtype : DType::kFloat;
      pass.task.out_dtype = pass.to_output ? out.dtype : DType::kFloat;
      pass.task.size = volume;
      pass.task.extent = axes.extents[axis];
      pass.task.stride = strides[axis];
      pass.task.radius = static_cast<int64_t>(window.size()) - 1;
      pass.task.weights = keep(window);
      add_pass(number, pass);
      from = pass.task.out;
    }
  }
}

void ConvolutionTasks::launch(const BatchContext& ctx) {
  if (passes_.empty()) return;
  workspace_.allocate(ctx);
  std::vector<gpu::ConvolveTask> all;
  for (const auto& passes : passes_)
    for (const Pass& pass : passes) {
      gpu::ConvolveTask& task = all.emplace_back(pass.task);
      workspace_.move(task.in);
      workspace_.move(task.sum);
      if (pass.to_output) task.out = ctx.address(0, pass.sample, task.out);
      else workspace_.move(task.out);
    }
  gpu::queue_tasks(
      ctx, std::as_bytes(std::span(all)), std::as_bytes(std::span(weights_)),
      [&](const void* tasks, const void* blob, void* stream) {
        const auto* next = static_cast<const gpu::ConvolveTask*>(tasks);
        for (const auto& passes : passes_) {
          int64_t most = 0;
          for (const Pass& pass : passes) most = std::max(most, pass.task.size);
          const int count = static_cast<int>(passes.size());
          if (const int error = gpu::kernels_of(ctx).convolve(next, count, most, blob, stream))
            return error;
          next += count;
        }
        return 0;
      });
}

}  // namespace torchdali
