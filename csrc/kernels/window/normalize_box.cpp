// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/normalize_box.h"

#include <algorithm>
#include <utility>

#include "kernels/convert.h"
#include "kernels/window/mirror.h"
#include "kernels/window/normalize.h"

namespace torchdali::kernels {
namespace {

template <class T>
void strided_copy(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t count) {
  T* to = reinterpret_cast<T*>(out);
  const T* from = reinterpret_cast<const T*>(in);
  for (int64_t i = 0; i < count; ++i) to[i * out_stride] = from[i * in_stride];
}
// Strides in elements of `size` bytes.
void strided_copy(size_t size, char* out, int64_t out_stride, const char* in, int64_t in_stride,
                  int64_t count) {
  switch (size) {
    case 1: return strided_copy<uint8_t>(out, out_stride, in, in_stride, count);
    case 2: return strided_copy<uint16_t>(out, out_stride, in, in_stride, count);
    case 4: return strided_copy<uint32_t>(out, out_stride, in, in_stride, count);
    default: return strided_copy<uint64_t>(out, out_stride, in, in_stride, count);
  }
}

bool is_rgb(const NormalizeBox& r) {
  return r.in_dtype == DType::kUInt8 && r.c.extent == 3 && r.c.in_stride == 1 && r.w.in_stride == 3;
}
bool is_rgb_to_planes(const NormalizeBox& r) {
  return is_rgb(r) && r.out_dtype == DType::kFloat && r.w.out_stride == 1;
}
// out_row and out_plane are those of `out`, which may differ from the box.
RgbPlanes rgb_planes(const NormalizeBox& r, const char* in, float* out, int64_t out_row,
                     int64_t out_plane, int64_t height) {
  return {.in = reinterpret_cast<const uint8_t*>(in),
          .in_row = r.h.in_stride,
          .out = out,
          .out_row = out_row,
          .out_plane = out_plane,
          .height = height,
          .width = r.w.extent,
          .mirror = r.mirror,
          .mean = {r.mean[0], r.mean[1], r.mean[2]},
          .scale = {r.scale[0], r.scale[1], r.scale[2]},
          .shift = r.shift,
          .bypass_cache = r.bypass_cache};
}

// Any types and layouts: a row is converted to float, in the channel order of the output,
// normalized, and converted to its place.
class RowConverter {
 public:
  RowConverter(const NormalizeBox& r, std::byte* scratch)
      : r_(r),
        count_(r.w.extent * r.c.extent),
        interleaved_in_(r.c.in_stride == 1 && r.w.in_stride == r.c.extent),
        interleaved_out_(r.c.out_stride == 1 && r.w.out_stride == r.c.extent),
        in_size_(itemsize(r.in_dtype)),
        out_size_(itemsize(r.out_dtype)),
        load_(converter(DType::kFloat, r.in_dtype)),
        store_(converter(r.out_dtype, DType::kFloat)) {
    const auto take = [&](int64_t count) {
      float* taken = reinterpret_cast<float*>(scratch);
      scratch += count * sizeof(float);
      return taken;
    };
    values_ = take(count_);
    other_ = take(count_);
    mean_ = take(count_);
    scale_ = take(count_);
    bytes_ = reinterpret_cast<char*>(scratch);
    pixel_bytes_ = interleaved_in_ ? in_size_ * r.c.extent : in_size_;
    mirror_ = mirror_function(pixel_bytes_);
    if (!interleaved_out_) return;
    for (int64_t i = 0; i < count_; ++i) {
      mean_[i] = r.mean[i % r.c.extent];
      scale_[i] = r.scale[i % r.c.extent];
    }
  }

  void row(const char* in, char* out) {
    const int64_t w = r_.w.extent, channels = r_.c.extent;
    if (is_rgb(r_) && !interleaved_out_) {
      RgbPlanes line = rgb_planes(r_, in, values_, 0, w, 1);
      line.bypass_cache = false;
      normalize_rgb_to_planes(line);
      for (int64_t c = 0; c < channels; ++c) store(out, c);
      return;
    }
    load(in);
    if (interleaved_in_ != interleaved_out_) {
      if (interleaved_in_) transpose(other_, values_, w, channels);
      else transpose(other_, values_, channels, w);
      std::swap(other_, values_);
    }
    if (interleaved_out_) {
      normalize_pattern(values_, mean_, scale_, count_, r_.shift);
      store_(out, values_, count_);
      return;
    }
    for (int64_t c = 0; c < channels; ++c) {
      normalize_line(values_ + c * w, w, r_.mean[c], r_.scale[c], r_.shift);
      store(out, c);
    }
  }

 private:
  // Stores line `c` of values_, which is [c, w].
  void store(char* out, int64_t c) {
    const int64_t w = r_.w.extent;
    const float* line = values_ + c * w;
    char* to = out + c * r_.c.out_stride * out_size_;
    if (r_.w.out_stride == 1) {
      store_(to, line, w);
    } else {
      store_(bytes_, line, w);
      strided_copy(out_size_, to, r_.w.out_stride, bytes_, 1, w);
    }
  }
  // Loads values_, mirrored: [w, c] if the input is interleaved, else [c, w].
  void load(const char* in) {
    const int64_t w = r_.w.extent;
    if (interleaved_in_) {
      load_line(values_, in, w, count_);
      return;
    }
    for (int64_t c = 0; c < r_.c.extent; ++c) {
      const char* line = in + c * r_.c.in_stride * in_size_;
      if (r_.w.in_stride != 1) {
        if (r_.mirror)
          strided_copy(in_size_, bytes_ + (w - 1) * in_size_, -1, line, r_.w.in_stride, w);
        else strided_copy(in_size_, bytes_, 1, line, r_.w.in_stride, w);
        load_(values_ + c * w, bytes_, w);
      } else {
        load_line(values_ + c * w, line, w, w);
      }
    }
  }
  void load_line(float* to, const char* line, int64_t pixels, int64_t count) {
    if (r_.mirror) {
      mirror_(bytes_, line, 1, 0, pixels, pixel_bytes_);
      line = bytes_;
    }
    load_(to, line, count);
  }

  const NormalizeBox& r_;
  const int64_t count_;
  const bool interleaved_in_, interleaved_out_;
  const size_t in_size_, out_size_;
  const ConvertFn load_, store_;
  // One row each, in scratch memory.
  float *values_, *other_, *mean_, *scale_;
  char* bytes_;
  int64_t pixel_bytes_;
  MirrorFn mirror_;
};

// Calls fn(in, out) for every position of the outer axes.
template <class Fn>
void for_each_outer(const NormalizeBox& r, int axis, const char* in, char* out, Fn&& fn) {
  if (axis == r.num_outer) {
    fn(in, out);
    return;
  }
  const Axis& a = r.outer[axis];
  const int64_t in_step = a.in_stride * itemsize(r.in_dtype);
  const int64_t out_step = a.out_stride * itemsize(r.out_dtype);
  for (int64_t i = 0; i < a.extent; ++i)
    for_each_outer(r, axis + 1, in + i * in_step, out + i * out_step, fn);
}

}  // namespace

size_t scratch_bytes(const NormalizeBox& r) {
  if (is_rgb_to_planes(r)) return 0;
  constexpr size_t kFloatRows = 4, kWidestElement = 8;
  return r.w.extent * r.c.extent * (kFloatRows * sizeof(float) + kWidestElement);
}

void normalize(const NormalizeBox& r, std::byte* scratch) {
  if (is_rgb_to_planes(r)) {
    for_each_outer(r, 0, r.in, r.out, [&](const char* in, char* out) {
      normalize_rgb_to_planes(rgb_planes(r, in, reinterpret_cast<float*>(out), r.h.out_stride,
                                         r.c.out_stride, r.h.extent));
    });
    return;
  }
  RowConverter converter(r, scratch);
  const int64_t in_step = r.h.in_stride * itemsize(r.in_dtype);
  const int64_t out_step = r.h.out_stride * itemsize(r.out_dtype);
  for_each_outer(r, 0, r.in, r.out, [&](const char* in, char* out) {
    for (int64_t y = 0; y < r.h.extent; ++y) converter.row(in + y * in_step, out + y * out_step);
  });
}

}  // namespace torchdali::kernels
