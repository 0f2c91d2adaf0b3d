// SPDX-License-Identifier: Apache-2.0
#include "kernels/resample/nearest.h"

#include <cstring>

#include "kernels/resample/resample_strides.h"

namespace torchdali::kernels {
namespace {

template <int kBytes>
void gather_pixels(const std::byte* row, const int32_t* start, int64_t n, int64_t bytes,
                   std::byte* out) {
  const size_t size = static_cast<size_t>(kBytes ? kBytes : bytes);
// 1.06 times as fast for pixels of 4 bytes.
#pragma GCC unroll 8
  for (int64_t x = 0; x < n; ++x, out += size)
    std::memcpy(out, row + static_cast<int64_t>(size) * start[x], size);
}

void gather_row(const std::byte* row, const AxisTable& t, int64_t bytes, std::byte* out) {
  if (t.identity)
    return void(std::memcpy(out, row + t.source.begin * bytes, static_cast<size_t>(t.out * bytes)));
  switch (bytes) {
    case 1: return gather_pixels<1>(row, t.start, t.out, bytes, out);
    case 2: return gather_pixels<2>(row, t.start, t.out, bytes, out);
    case 3: return gather_pixels<3>(row, t.start, t.out, bytes, out);
    case 4: return gather_pixels<4>(row, t.start, t.out, bytes, out);
    case 6: return gather_pixels<6>(row, t.start, t.out, bytes, out);
    case 8: return gather_pixels<8>(row, t.start, t.out, bytes, out);
    case 12: return gather_pixels<12>(row, t.start, t.out, bytes, out);
    case 16: return gather_pixels<16>(row, t.start, t.out, bytes, out);
    default: return gather_pixels<0>(row, t.start, t.out, bytes, out);
  }
}

// Larger pixels are copied as fast by themselves.
constexpr int64_t kMaxGathered = 8;
// Fewer rows do not repay the preparation.
constexpr int64_t kMinRows = 8;

}  // namespace

NearestPlane::NearestPlane(const ResampleJob& job, ScratchArena& arena)
    : h_(build_nearest_table(job.axes[kH], true, arena)),
      w_(build_nearest_table(job.axes[kW], false, arena)),
      pixel_(itemsize(job.in_type) * job.channels) {
  if (pixel_ > kMaxGathered || h_.out * job.outer < kMinRows) return;
  std::byte* memory = arena.take<std::byte>(kernels_.prepared_size(w_.out * pixel_));
  if (!arena.counting() && !w_.identity)
    gather_ = kernels_.prepare(w_.start, w_.out, pixel_, w_.source.begin * pixel_,
                               w_.source.end * pixel_, memory);
}

void NearestPlane::rows(const std::byte* in, int64_t in_stride, int64_t begin, int64_t end,
                        std::byte* out, int64_t out_stride) const {
  const int64_t row = w_.out * pixel_;
  if (begin < end && h_.identity && w_.identity && in_stride == row && out_stride == row)
    return void(std::memcpy(out, in + h_.start[begin] * in_stride + w_.source.begin * pixel_,
                            static_cast<size_t>((end - begin) * row)));
  for (int64_t h = begin; h < end; ++h, out += out_stride) {
    const std::byte* from = in + h_.start[h] * in_stride;
    if (h > begin && h_.start[h] == h_.start[h - 1])
      std::memcpy(out, out - out_stride, static_cast<size_t>(row));
    else if (gather_.windows > 0) kernels_.gather(from, gather_, out);
    else gather_row(from, w_, pixel_, out);
  }
}

void resample_nearest(const ResampleJob& job, const void* in, void* out, ScratchArena& arena) {
  const AxisTable depth = build_nearest_table(job.axes[kD], true, arena);
  const NearestPlane plane(job, arena);
  if (arena.counting()) return;
  const int64_t size = itemsize(job.in_type);
  const Strides from = strides_of(job, true), to = strides_of(job, false);
  for (int64_t o = 0; o < job.outer; ++o)
    for (int64_t d = 0; d < depth.out; ++d)
      plane.rows(
          static_cast<const std::byte*>(in) + (o * from.outer + depth.start[d] * from.slice) * size,
          from.row * size, 0, plane.height(),
          static_cast<std::byte*>(out) + (o * to.outer + d * to.slice) * size, to.row * size);
}

}  // namespace torchdali::kernels
