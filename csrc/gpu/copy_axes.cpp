// SPDX-License-Identifier: Apache-2.0
#include "gpu/copy_axes.h"

#include <algorithm>
#include <bit>

#include "gpu/launch.h"

namespace torchdali::gpu {
namespace {

// Whether a step along `outer` continues where `inner` ends.
bool continues(const CopyAxis& outer, const CopyAxis& inner) {
  return outer.whole() && inner.whole() && outer.in_stride == inner.in_stride * inner.extent &&
         outer.out_stride == inner.out_stride * inner.extent;
}

std::vector<CopyAxis> merged(std::span<const CopyAxis> axes) {
  std::vector<CopyAxis> result;
  for (const CopyAxis& axis : axes) {
    if (axis.extent == 1 && axis.whole()) continue;
    if (!result.empty() && continues(result.back(), axis)) {
      const int64_t extent = result.back().extent * axis.extent;
      result.back() = axis;
      result.back().extent = result.back().high = extent;
      result.back().low = 0;
    } else {
      result.push_back(axis);
    }
  }
  return result;
}

// The number of bytes that can be copied at once: up to 16, limited by the alignment of all
// addresses.
int64_t widest(uint64_t addresses, int64_t out_bytes, int64_t itemsize,
               std::span<const CopyAxis> axes) {
  if (axes.empty()) return itemsize;
  const CopyAxis& last = axes.back();
  if (last.in_stride != itemsize || last.out_stride != itemsize || !last.whole()) return itemsize;
  uint64_t all = addresses | static_cast<uint64_t>(out_bytes) |
                 static_cast<uint64_t>(last.extent * itemsize) | 16;
  for (const CopyAxis& axis : axes.first(axes.size() - 1))
    all |= static_cast<uint64_t>(axis.in_stride) | static_cast<uint64_t>(axis.out_stride);
  return std::max(itemsize, int64_t{1} << std::countr_zero(all));
}

// The bytes of several elements, each of them `fill`, for copies of more than one at once.
uint64_t repeated(uint64_t fill, int64_t itemsize) {
  if (itemsize >= 8) return fill;
  fill &= (uint64_t{1} << (8 * itemsize)) - 1;
  for (; itemsize < 8; itemsize *= 2) fill |= fill << (8 * itemsize);
  return fill;
}

// Treats pixels as elements if their channels stay together; returns the size of an element in
// bytes.
int64_t fold(std::vector<CopyAxis>& axes, int64_t itemsize) {
  const auto whole = [](const CopyAxis& axis) { return axis.whole(); };
  if (axes.size() < 2 || !std::all_of(axes.begin(), axes.end(), whole)) return itemsize;
  const CopyAxis last = axes.back();
  const int64_t bytes = last.extent * itemsize;
  if (last.in_stride != itemsize || last.out_stride != itemsize || bytes > 16) return itemsize;
  axes.pop_back();
  return bytes;
}

}  // namespace

void make_dense(std::vector<CopyAxis>& axes, int64_t itemsize) {
  int64_t stride = itemsize;
  for (size_t i = axes.size(); i-- > 0;) {
    axes[i].out_stride = stride;
    stride *= axes[i].extent;
  }
}

std::vector<CopyAxis> dense_axes(const Shape& shape, int64_t itemsize) {
  std::vector<CopyAxis> axes;
  for (const int64_t extent : shape) axes.push_back({.extent = extent, .high = extent});
  make_dense(axes, itemsize);
  for (CopyAxis& axis : axes) axis.in_stride = axis.out_stride;
  return axes;
}

CopyTask make_copy(const void* in, void* out, int64_t out_bytes, int64_t itemsize,
                   std::span<const CopyAxis> axes, uint64_t fill) {
  std::vector<CopyAxis> few = merged(axes);
  TORCHDALI_CHECK_KIND(kUnsupported, few.size() <= kMaxAxes, "a copy over ", few.size(),
                       " axes is not supported on the GPU, which copies over at most ", kMaxAxes);
  const auto addresses = reinterpret_cast<uintptr_t>(in) | reinterpret_cast<uintptr_t>(out);
  const int64_t wide = widest(addresses, out_bytes, itemsize, few);
  if (wide > itemsize) {
    CopyAxis& last = few.back();
    last.extent = last.high = last.extent * itemsize / wide;
    last.low = 0;
    last.in_stride = last.out_stride = wide;
  }
  CopyTask task;
  task.in = in;
  task.out = out;
  task.size = 1;
  task.itemsize = static_cast<int>(std::max(wide, fold(few, itemsize)));
  task.fill = wide > itemsize ? repeated(fill, itemsize) : fill;
  for (const CopyAxis& axis : few) {
    const auto a = static_cast<size_t>(task.ndim++);
    task.extent[a] = axis.extent;
    task.in_stride[a] = axis.in_stride;
    task.out_stride[a] = axis.out_stride;
    task.low[a] = axis.low;
    task.high[a] = axis.high;
    task.windowed = task.windowed || !axis.whole();
    task.size *= axis.extent;
  }
  if (task.ndim == 0) return task;
  const int64_t last = few.back().extent, run = copy_run(task.itemsize);
  task.runs = (last + run - 1) / run;
  task.size = last == 0 ? 0 : task.size / last * task.runs;
  return task;
}

CopyTask make_fill(void* out, int64_t bytes, int64_t itemsize, uint64_t fill) {
  const uint64_t all = reinterpret_cast<uintptr_t>(out) | static_cast<uint64_t>(bytes);
  for (; itemsize < 8 && all % static_cast<uint64_t>(2 * itemsize) == 0; itemsize *= 2)
    fill |= fill << (8 * itemsize);
  // An axis without elements of the input.
  const CopyAxis axis{.extent = bytes / itemsize, .out_stride = itemsize};
  return make_copy(nullptr, out, bytes, itemsize, {&axis, 1}, fill);
}

void queue_copies(const Device& device, std::span<const CopyTask> tasks) {
  if (tasks.empty()) return;
  int64_t max_size = 0;
  for (const CopyTask& task : tasks) max_size = std::max(max_size, task.size);
  const KernelLaunch launch{kernel_id<CopyKernel>(), std::as_bytes(tasks), max_size};
  queue_kernels(device, {&launch, 1}, {});
}

}  // namespace torchdali::gpu
