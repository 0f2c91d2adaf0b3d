// SPDX-License-Identifier: Apache-2.0
#include "ops/warp/warp_gpu.h"

#include <algorithm>
#include <cstring>

namespace torchdali {

void set_warp(gpu::Blob& blob, gpu::WarpTask& task, const kernels::WarpSampler& sampler,
              const std::array<int64_t, 3>& extents, void* out) {
  const kernels::WarpSource& source = sampler.source();
  task.in = source.data;
  task.out = out;
  task.size = extents[0] * extents[1] * extents[2];
  task.in_dtype = source.dtype;
  task.out_dtype = source.out_dtype;
  task.filter = source.filter;
  task.border = source.border;
  task.volume = source.volume;
  task.fixed_point = sampler.fixed_point();
  task.empty = sampler.empty();
  std::copy(source.extents.begin(), source.extents.end(), task.in_extents);
  std::copy(extents.begin(), extents.end(), task.out_extents);
  task.channels = source.channels;
  task.num_fills = static_cast<int64_t>(source.fill.size());
  task.fills = blob.keep(std::span<const float>(source.fill));
  const auto size = static_cast<size_t>(itemsize(source.out_dtype));
  std::vector<uint64_t> bytes(static_cast<size_t>(source.channels));
  for (size_t c = 0; c < bytes.size(); ++c)
    std::memcpy(&bytes[c], sampler.fill_pixel().data() + c * size, size);
  task.fill_bytes = blob.keep(std::span<const uint64_t>(bytes));
}

}  // namespace torchdali
