// SPDX-License-Identifier: Apache-2.0
// Sampling of blocks: all types and borders, in float. Common cases are in warp_rows.h.
#include "kernels/warp/warp.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/convert.h"
#include "kernels/warp/warp_position.h"
#include "kernels/warp/warp_rows.h"

namespace torchdali::kernels {
namespace {

// Elements of the buffer between sampling and conversion.
constexpr int64_t kBufferSize = 4096;

void mapped_taps(const float* at, int64_t n, int64_t extent, Border border, WarpTaps& t) {
  for (int64_t i = 0; i < n; ++i) {
    const WarpTap tap = mapped_tap(at[i], extent, border);
    t.i0[i] = tap.i0;
    t.i1[i] = tap.i1;
    t.w0[i] = tap.w0;
    t.w1[i] = tap.w1;
  }
}

void axis_taps(const float* at, int64_t n, int64_t extent, Border border, WarpTaps& t) {
  if (!repeats(border)) return mapped_taps(at, n, extent, border, t);
  warp_row_kernels().taps(at, n, static_cast<int32_t>(extent), border == Border::kClamp, t);
}
void axis_nearest(const float* at, int64_t n, int64_t extent, Border border, int32_t* index) {
  if (!repeats(border)) {
    for (int64_t i = 0; i < n; ++i) index[i] = mapped_nearest(at[i], extent, border);
    return;
  }
  warp_row_kernels().nearest(at, n, static_cast<int32_t>(extent), border == Border::kClamp, index);
}

struct Taps {
  WarpTaps x, y, z;
};

// Weighted sums of the taps of `n` pixels, for `count` channels from `first` on. kCount: `count` if
// it is a compile-time constant, or 0.
template <class In, int kCount>
void blend_pixels(const WarpSource& s, const Taps& taps, int64_t n, int64_t first, int64_t count,
                  float* out) {
  const int64_t c_end = kCount > 0 ? kCount : count;
  const int64_t row = s.extents[2] * s.channels, slice = s.extents[1] * row;
  const In* data = static_cast<const In*>(s.data) + first;
  const bool one_fill = s.fill.size() == 1;
  for (int64_t i = 0; i < n; ++i, out += c_end) {
    const int64_t left = taps.x.i0[i] * s.channels, right = taps.x.i1[i] * s.channels;
    const float wl = taps.x.w0[i], wr = taps.x.w1[i];
    for (int64_t c = 0; c < c_end; ++c) out[c] = 0;
    float inside = 0;
    for (int k = 0; k < (s.volume ? 4 : 2); ++k) {
      float w = k % 2 == 0 ? taps.y.w0[i] : taps.y.w1[i];
      int64_t at = (k % 2 == 0 ? taps.y.i0[i] : taps.y.i1[i]) * row;
      if (s.volume) {
        w *= k < 2 ? taps.z.w0[i] : taps.z.w1[i];
        at += (k < 2 ? taps.z.i0[i] : taps.z.i1[i]) * slice;
      }
      const In* from = data + at;
      const float w0 = w * wl, w1 = w * wr;
      inside += w0 + w1;
      for (int64_t c = 0; c < c_end; ++c)
        out[c] +=
            static_cast<float>(from[left + c]) * w0 + static_cast<float>(from[right + c]) * w1;
    }
    if (s.border != Border::kConstant) continue;
    // A sum of 1 may be rounded to an adjacent number.
    if (const float outside = 1 - inside; std::fabs(outside) > 1e-6f)
      for (int64_t c = 0; c < c_end; ++c)
        out[c] += outside * s.fill[static_cast<size_t>(one_fill ? 0 : first + c)];
  }
}

template <class In>
void blend_any(const WarpSource& s, const Taps& taps, int64_t n, int64_t first, int64_t count,
               float* out) {
  switch (count) {
    case 1: return blend_pixels<In, 1>(s, taps, n, first, count, out);
    case 3: return blend_pixels<In, 3>(s, taps, n, first, count, out);
    case 4: return blend_pixels<In, 4>(s, taps, n, first, count, out);
    default: return blend_pixels<In, 0>(s, taps, n, first, count, out);
  }
}

// Offsets of the source pixels in elements; -1 outside.
void nearest_offsets(const WarpSource& s, const WarpPoints& points, int64_t n, int64_t* offset) {
  alignas(64) int32_t x[kWarpBlock], y[kWarpBlock], z[kWarpBlock];
  axis_nearest(points.x, n, s.extents[2], s.border, x);
  axis_nearest(points.y, n, s.extents[1], s.border, y);
  const int64_t row = s.extents[2] * s.channels, slice = s.extents[1] * row;
  if (!s.volume) {
    for (int64_t i = 0; i < n; ++i)
      offset[i] = (x[i] | y[i]) < 0 ? -1 : y[i] * row + x[i] * s.channels;
    return;
  }
  axis_nearest(points.z, n, s.extents[0], s.border, z);
  for (int64_t i = 0; i < n; ++i)
    offset[i] = (x[i] | y[i] | z[i]) < 0 ? -1 : z[i] * slice + y[i] * row + x[i] * s.channels;
}

template <int kBytes>
void copy_pixels(const char* data, const char* fill, const int64_t* offset, int64_t n,
                 int64_t bytes, int64_t size, char* out) {
  const size_t count = static_cast<size_t>(kBytes > 0 ? kBytes : bytes);
  for (int64_t i = 0; i < n; ++i, out += count)
    std::memcpy(out, offset[i] < 0 ? fill : data + offset[i] * size, count);
}
void copy_any(const char* data, const char* fill, const int64_t* offset, int64_t n, int64_t bytes,
              int64_t size, char* out) {
  switch (bytes) {
    case 1: return copy_pixels<1>(data, fill, offset, n, bytes, size, out);
    case 2: return copy_pixels<2>(data, fill, offset, n, bytes, size, out);
    case 3: return copy_pixels<3>(data, fill, offset, n, bytes, size, out);
    case 4: return copy_pixels<4>(data, fill, offset, n, bytes, size, out);
    case 6: return copy_pixels<6>(data, fill, offset, n, bytes, size, out);
    case 8: return copy_pixels<8>(data, fill, offset, n, bytes, size, out);
    case 12: return copy_pixels<12>(data, fill, offset, n, bytes, size, out);
    case 16: return copy_pixels<16>(data, fill, offset, n, bytes, size, out);
    default: return copy_pixels<0>(data, fill, offset, n, bytes, size, out);
  }
}

}  // namespace

void affine_points(float step, float base, int64_t first, int64_t n, float* x) {
  warp_row_kernels().affine(step, base, first, n, x);
}
void perspective_points(const float* steps, const float* bases, int64_t first, int64_t n, float* x,
                        float* y) {
  warp_row_kernels().perspective(steps, bases, first, n, x, y);
}
void sphere_points(const SphereMap& map, int64_t row, int64_t first, int64_t n, float* x,
                   float* y) {
  warp_row_kernels().sphere(map, row, first, n, x, y);
}

WarpSampler::WarpSampler(WarpSource source) : source_(std::move(source)) {
  int64_t bytes = source_.channels * itemsize(source_.dtype);
  empty_ = bytes == 0;
  for (const int64_t extent : source_.extents) {
    TORCHDALI_CHECK(extent <= std::numeric_limits<int32_t>::max(), "an axis of ", extent,
                    " elements is too long to be warped, at most 2^31 - 1 are possible");
    bytes *= extent;
    empty_ |= extent == 0;
  }
  in_bytes_ = bytes;
  TORCHDALI_CHECK(!empty_ || source_.channels == 0 || source_.border == Border::kConstant,
                  "the input is empty, and has no border that could be repeated",
                  to_fix("give a `fill_value`"));
  const bool uint8 = source_.dtype == DType::kUInt8 && source_.out_dtype == DType::kUInt8;
  fixed_point_ = uint8 && source_.filter == WarpFilter::kLinear && !source_.volume &&
                 repeats(source_.border) && source_.channels <= 4 && source_.extents[1] > 1 &&
                 source_.extents[2] > 1 && bytes <= std::numeric_limits<int32_t>::max();
  copies_ = source_.filter == WarpFilter::kNearest && source_.dtype == source_.out_dtype;

  // Clamped to both types, that of the source first.
  std::vector<char> in_fill(source_.fill.size() * 8);
  const int64_t count = static_cast<int64_t>(source_.fill.size());
  converter(source_.dtype, DType::kFloat)(in_fill.data(), source_.fill.data(), count);
  std::vector<char> out_fill(in_fill.size());
  converter(source_.out_dtype, source_.dtype)(out_fill.data(), in_fill.data(), count);
  converter(DType::kFloat, source_.out_dtype)(source_.fill.data(), out_fill.data(), count);
  const int64_t size = itemsize(source_.out_dtype);
  out_pixel_bytes_ = size * source_.channels;
  fill_pixel_.resize(static_cast<size_t>(out_pixel_bytes_));
  for (int64_t c = 0; c < source_.channels; ++c)
    std::memcpy(fill_pixel_.data() + c * size, out_fill.data() + (count == 1 ? 0 : c) * size,
                static_cast<size_t>(size));
}

void WarpSampler::fill_pixels(int64_t n, void* out) const {
  if (out_pixel_bytes_ == 0) return;
  char* to = static_cast<char*>(out);
  for (int64_t i = 0; i < n; ++i, to += out_pixel_bytes_)
    std::memcpy(to, fill_pixel_.data(), static_cast<size_t>(out_pixel_bytes_));
}

void WarpSampler::sample(const WarpPoints& points, int64_t n, void* out) const {
  const WarpSource& s = source_;
  if (empty_) return fill_pixels(n, out);
  if (fixed_point_) {
    const auto byte = [&](size_t c) {
      return static_cast<uint8_t>(s.fill[s.fill.size() == 1 ? 0 : std::min(c, s.fill.size() - 1)]);
    };
    const FixedImage image = {.data = static_cast<const uint8_t*>(s.data),
                              .height = static_cast<int32_t>(s.extents[1]),
                              .width = static_cast<int32_t>(s.extents[2]),
                              .channels = static_cast<int32_t>(s.channels),
                              .fill = {byte(0), byte(1), byte(2), byte(3)}};
    WarpTaps x, y;
    const WarpRowKernels& rows = warp_row_kernels();
    rows.taps(points.x, n, image.width, s.border == Border::kClamp, x);
    rows.taps(points.y, n, image.height, s.border == Border::kClamp, y);
    rows.linear_fixed(image, x, y, n, static_cast<uint8_t*>(out));
    return;
  }
  if (copies_) {
    if (out_pixel_bytes_ == 3 && !s.volume && in_bytes_ <= std::numeric_limits<int32_t>::max()) {
      alignas(64) int32_t x[kWarpBlock], y[kWarpBlock];
      axis_nearest(points.x, n, s.extents[2], s.border, x);
      axis_nearest(points.y, n, s.extents[1], s.border, y);
      warp_row_kernels().copy_rgb(static_cast<const uint8_t*>(s.data), in_bytes_,
                                  static_cast<int32_t>(s.extents[2] * 3),
                                  reinterpret_cast<const uint8_t*>(fill_pixel_.data()), x, y, n,
                                  static_cast<uint8_t*>(out));
      return;
    }
    int64_t offset[kWarpBlock];
    nearest_offsets(s, points, n, offset);
    copy_any(static_cast<const char*>(s.data), fill_pixel_.data(), offset, n, out_pixel_bytes_,
             itemsize(s.dtype), static_cast<char*>(out));
    return;
  }
  if (s.filter > WarpFilter::kLinear) sample_wide(points, n, out);
  else sample_general(points, n, out);
}

void WarpSampler::sample_general(const WarpPoints& points, int64_t n, void* out) const {
  const WarpSource& s = source_;
  Taps taps;
  int64_t offset[kWarpBlock];
  const bool linear = s.filter == WarpFilter::kLinear;
  if (linear) {
    axis_taps(points.x, n, s.extents[2], s.border, taps.x);
    axis_taps(points.y, n, s.extents[1], s.border, taps.y);
    if (s.volume) axis_taps(points.z, n, s.extents[0], s.border, taps.z);
  } else {
    nearest_offsets(s, points, n, offset);
  }
  char* to = static_cast<char*>(out);
  if (!linear) {
    const ConvertFn convert = converter(s.out_dtype, s.dtype);
    const int64_t size = itemsize(s.dtype);
    for (int64_t i = 0; i < n; ++i, to += out_pixel_bytes_)
      if (offset[i] < 0) std::memcpy(to, fill_pixel_.data(), fill_pixel_.size());
      else convert(to, static_cast<const char*>(s.data) + offset[i] * size, s.channels);
    return;
  }
  // As many pixels at a time as the buffer holds, or parts of one.
  alignas(64) float buffer[kBufferSize];
  const ConvertFn convert = converter(s.out_dtype, DType::kFloat);
  dispatch_dtype(s.dtype, [&]<class In>() {
    if (s.channels * n <= kBufferSize) {
      blend_any<In>(s, taps, n, 0, s.channels, buffer);
      convert(to, buffer, n * s.channels);
      return;
    }
    Taps one{};
    for (int64_t i = 0; i < n; ++i) {
      const auto take = [i](WarpTaps& t, const WarpTaps& all) {
        t.i0[0] = all.i0[i];
        t.i1[0] = all.i1[i];
        t.w0[0] = all.w0[i];
        t.w1[0] = all.w1[i];
      };
      take(one.x, taps.x);
      take(one.y, taps.y);
      if (s.volume) take(one.z, taps.z);
      for (int64_t c = 0; c < s.channels; c += kBufferSize) {
        const int64_t count = std::min(kBufferSize, s.channels - c);
        blend_any<In>(s, one, 1, c, count, buffer);
        convert(to, buffer, count);
        to += count * itemsize(s.out_dtype);
      }
    }
  });
}

void warp_affine(const WarpSampler& sampler, bool volume, const float* matrix,
                 const std::array<int64_t, 3>& extents, void* out) {
  const int columns = volume ? 4 : 3;
  warp(sampler, extents, out, [&](WarpPoints& points, int64_t d, int64_t h, int64_t w, int64_t n) {
    float* axes[] = {points.x, points.y, points.z};
    for (int a = 0; a < columns - 1; ++a) {
      const float* m = matrix + a * columns;
      float base = m[columns - 1] + m[1] * (static_cast<float>(h) + 0.5f);
      if (volume) base += m[2] * (static_cast<float>(d) + 0.5f);
      affine_points(m[0], base, w, n, axes[a]);
    }
  });
}

}  // namespace torchdali::kernels
