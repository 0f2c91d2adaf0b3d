// SPDX-License-Identifier: Apache-2.0
#include "ops/filter/convolution_gpu.h"

#include <algorithm>

namespace torchdali {
namespace {

bool is_identity(const kernels::HalfWindow& window) {
  return window.size() == 1 && window[0] == 1.0f;
}

}  // namespace

ConvolutionSteps::Pass& ConvolutionSteps::pass(size_t number) {
  while (passes_.size() <= number) passes_.push_back(std::make_unique<Pass>(*this));
  return *passes_[number];
}

void ConvolutionSteps::add(const SampleContext& ctx, const ConvolutionAxes& axes,
                           std::span<const kernels::SeparableFilter> filters, const SampleView& in,
                           const SampleView& out) {
  const int64_t volume = out.volume();
  if (volume == 0) return;
  std::array<int64_t, 3> strides{};
  int64_t stride = axes.channels;
  for (size_t a = 3; a-- > 0; stride *= axes.extents[a]) strides[a] = stride;
  // Two that alternate, and one for the sum over the filters. Reserved when needed.
  float *buffers[2] = {}, *sum = nullptr;
  const auto buffer = [&](float*& at) {
    const auto bytes = volume * static_cast<int64_t>(sizeof(float));
    if (at == nullptr) at = static_cast<float*>(workspace.reserve(bytes));
    return at;
  };
  size_t number = 0;
  for (size_t f = 0; f < filters.size(); ++f) {
    std::vector<size_t> windows;
    for (size_t a = 0; a < 3; ++a)
      if (!is_identity(filters[f].windows[a])) windows.push_back(a);
    if (windows.empty()) windows.push_back(2);
    const bool first = f == 0, last = f + 1 == filters.size();
    const void* from = in.data;
    for (size_t k = 0; k < windows.size(); ++k, ++number) {
      const size_t axis = windows[k];
      const kernels::HalfWindow& window = filters[f].windows[axis];
      const bool ends = k + 1 == windows.size();
      const bool to_output = ends && last;
      gpu::ConvolveTask task;
      task.in = from;
      task.out = to_output ? out.data : ends ? buffer(sum) : buffer(buffers[k % 2]);
      if (ends && !first) task.sum = buffer(sum);
      if (ends) task.scale = filters[f].scale;
      task.in_dtype = k == 0 ? in.dtype : DType::kFloat;
      task.out_dtype = to_output ? out.dtype : DType::kFloat;
      task.size = volume;
      task.extent = axes.extents[axis];
      task.stride = strides[axis];
      task.radius = static_cast<int64_t>(window.size()) - 1;
      task.weights = blob.keep(std::span<const float>(window));
      if (to_output) pass(number).add(ctx, task);
      else pass(number).add_intermediate(task);
      from = task.out;
    }
  }
}

}  // namespace torchdali
