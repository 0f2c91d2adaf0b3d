// SPDX-License-Identifier: Apache-2.0
// Sampling with windows of four and six taps along each axis; for all borders and types, not
// optimized for speed.
#include <algorithm>

#include "kernels/convert.h"
#include "kernels/warp/warp.h"
#include "kernels/warp/warp_position.h"

namespace torchdali::kernels {
void WarpSampler::sample_wide(const WarpPoints& points, int64_t n, void* out) const {
  const WarpSource& s = source_;
  const int taps = s.filter == WarpFilter::kCubic ? 4 : 6;
  constexpr int64_t kBlock = 1024;
  float sum[kBlock];
  char* to = static_cast<char*>(out);
  const ConvertFn convert = converter(s.out_dtype, DType::kFloat);
  dispatch_dtype(s.dtype, [&]<class In>() {
    const In* data = static_cast<const In*>(s.data);
    for (int64_t i = 0; i < n; ++i) {
      const AxisWindow x(points.x[i], s.extents[2], s.border, s.filter);
      const AxisWindow y(points.y[i], s.extents[1], s.border, s.filter);
      for (int64_t first = 0; first < s.channels; first += kBlock) {
        const int64_t count = std::min(kBlock, s.channels - first);
        std::fill(sum, sum + count, 0.0f);
        for (int k = 0; k < taps * taps; ++k) {
          const int64_t row = y.index[k / taps], column = x.index[k % taps];
          const float w = y.weight[k / taps] * x.weight[k % taps];
          if (w == 0) continue;
          if (row < 0 || column < 0) {
            for (int64_t c = 0; c < count; ++c)
              sum[c] += w * s.fill[s.fill.size() == 1 ? 0 : static_cast<size_t>(first + c)];
          } else {
            const In* from = data + (row * s.extents[2] + column) * s.channels + first;
            for (int64_t c = 0; c < count; ++c) sum[c] += w * static_cast<float>(from[c]);
          }
        }
        convert(to, sum, count);
        to += count * itemsize(s.out_dtype);
      }
    }
  });
}

}  // namespace torchdali::kernels
