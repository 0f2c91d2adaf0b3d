// SPDX-License-Identifier: Apache-2.0
// Sampling with windows of four and six taps along each axis; written for any border and type, not
// for speed.
#include <algorithm>
#include <cmath>

#include "kernels/convert.h"
#include "kernels/warp.h"
#include "kernels/warp_position.h"

namespace torchdali::kernels {
namespace {

constexpr int kMaxTaps = 6;

float cubic(float x) {
  constexpr float a = -0.5f;
  x = std::fabs(x);
  if (x >= 2) return 0;
  if (x >= 1) return ((x - 5) * x + 8) * x * a - 4 * a;
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
float sinc(float x) {
  constexpr float kPi = 3.14159265f;
  return x == 0 ? 1.0f : std::sin(kPi * x) / (kPi * x);
}
float lanczos3(float x) { return std::fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0.0f; }

// Indices (-1: outside) and weights, which sum to 1, around a position.
struct AxisWindow {
  int64_t index[kMaxTaps];
  float weight[kMaxTaps];
  AxisWindow(float position, int64_t extent, Border border, WarpFilter filter) {
    const int radius = filter == WarpFilter::kCubic ? 2 : 3;
    const float at = position - 0.5f;
    const int64_t first = whole_position(at) - radius + 1;
    const float whole = std::floor(at);
    const float fraction = std::fabs(at) < 0x1p31f ? at - whole : 0.0f;  // NaN: 0 too
    float sum = 0;
    for (int k = 0; k < 2 * radius; ++k) {
      const float distance = static_cast<float>(k - radius + 1) - fraction;
      index[k] = border_index(first + k, extent, border);
      weight[k] = filter == WarpFilter::kCubic ? cubic(distance) : lanczos3(distance);
      sum += weight[k];
    }
    for (int k = 0; k < 2 * radius; ++k) weight[k] /= sum;
  }
};

}  // namespace

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
