// SPDX-License-Identifier: Apache-2.0
// Axes that stay adjacent are merged. The remaining cases are pixels that are split (HWC -> CHW) or
// joined (CHW -> HWC), rows that are copied, and a matrix, block by block.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/layout.h"
#include "kernels/window/strided_copy.h"
#include "kernels/window/transpose.h"

#ifndef TORCHDALI_ISA_PASSES  // first reading: shared by all instruction sets
namespace torchdali::kernels {
namespace {

using PixelsFn = void (*)(void* out, const void* in, int64_t count, int64_t stride);
using MatrixFn = void (*)(void* out, const void* in, int64_t rows, int64_t columns,
                          int64_t in_stride, int64_t out_stride);
struct Kernels {
  PixelsFn apart, together;  // null for pixels with many channels
  MatrixFn matrix;
};

}  // namespace
}  // namespace torchdali::kernels
#endif

#define TORCHDALI_ISA_FILE "kernels/window/transpose_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

#if TORCHDALI_ISA_LEVEL > 0
// For 16 pixels of 3 bytes: the shuffles that gather byte c of each pixel from three registers, and
// those that distribute plane c over the three registers.
struct RgbShuffles {
  __m128i gather[3][3], spread[3][3];  // [plane][register]
  RgbShuffles() {
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r) {
        alignas(16) int8_t from[16], to[16];
        for (int i = 0; i < 16; ++i) {
          const int at = 3 * i + c - 16 * r;  // where byte c of pixel i is in register r
          from[i] = static_cast<int8_t>(at >= 0 && at < 16 ? at : -1);
          const int byte = 16 * r + i;  // of the 48
          to[i] = static_cast<int8_t>(byte % 3 == c ? byte / 3 : -1);
        }
        gather[c][r] = _mm_load_si128(reinterpret_cast<const __m128i*>(from));
        spread[c][r] = _mm_load_si128(reinterpret_cast<const __m128i*>(to));
      }
  }
};

inline __m128i merge(const __m128i* x, const __m128i (&shuffles)[3][3], int index, bool by_plane) {
  const auto shuffled = [&](int i) {
    return _mm_shuffle_epi8(x[i], by_plane ? shuffles[index][i] : shuffles[i][index]);
  };
  return _mm_or_si128(_mm_or_si128(shuffled(0), shuffled(1)), shuffled(2));
}

// Like the plain loops below, which take ten times as long with single bytes.
int64_t take_rgb_apart(uint8_t* out, const uint8_t* in, int64_t count, int64_t out_stride) {
  const RgbShuffles shuffles;
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i* from = reinterpret_cast<const __m128i*>(in + 3 * i);
    const __m128i x[3] = {_mm_loadu_si128(from), _mm_loadu_si128(from + 1),
                          _mm_loadu_si128(from + 2)};
    for (int c = 0; c < 3; ++c)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + c * out_stride + i),
                       merge(x, shuffles.gather, c, true));
  }
  return i;
}
int64_t put_rgb_together(uint8_t* out, const uint8_t* in, int64_t count, int64_t in_stride) {
  const RgbShuffles shuffles;
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m128i x[3];
    for (int c = 0; c < 3; ++c)
      x[c] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + c * in_stride + i));
    for (int r = 0; r < 3; ++r)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * i) + r,
                       merge(x, shuffles.spread, r, false));
  }
  return i;
}
#endif

// [count, kChannels] -> [kChannels, count] with `stride` elements from plane to plane.
template <class T, int kChannels>
void take_apart(void* to, const void* from, int64_t count, int64_t stride) {
  T* __restrict out = static_cast<T*>(to);
  const T* __restrict in = static_cast<const T*>(from);
  int64_t i = 0;
#if TORCHDALI_ISA_LEVEL > 0
  if constexpr (sizeof(T) == 1 && kChannels == 3) i = take_rgb_apart(out, in, count, stride);
#endif
  for (; i < count; ++i)
    for (int c = 0; c < kChannels; ++c) out[c * stride + i] = in[i * kChannels + c];
}

// [kChannels, count] with `stride` elements from plane to plane -> [count, kChannels].
template <class T, int kChannels>
void put_together(void* to, const void* from, int64_t count, int64_t stride) {
  T* __restrict out = static_cast<T*>(to);
  const T* __restrict in = static_cast<const T*>(from);
  int64_t i = 0;
#if TORCHDALI_ISA_LEVEL > 0
  if constexpr (sizeof(T) == 1 && kChannels == 3) i = put_rgb_together(out, in, count, stride);
#endif
  for (; i < count; ++i)
    for (int c = 0; c < kChannels; ++c) out[i * kChannels + c] = in[c * stride + i];
}

// [rows, columns] -> [columns, rows]; the cache lines of a block stay in the first-level cache.
template <class T>
void transpose_matrix(void* to, const void* from, int64_t rows, int64_t columns, int64_t in_stride,
                      int64_t out_stride) {
  T* __restrict out = static_cast<T*>(to);
  const T* __restrict in = static_cast<const T*>(from);
  constexpr int64_t kBlock = 32;
  for (int64_t r = 0; r < rows; r += kBlock) {
    const int64_t r_end = std::min(rows, r + kBlock);
    for (int64_t c = 0; c < columns; c += kBlock) {
      const int64_t c_end = std::min(columns, c + kBlock);
      for (int64_t j = c; j < c_end; ++j)
        for (int64_t i = r; i < r_end; ++i) out[j * out_stride + i] = in[i * in_stride + j];
    }
  }
}

template <class T>
Kernels kernels_of(int64_t channels) {
  constexpr auto kMatrix = transpose_matrix<T>;
  switch (channels) {
    case 2: return {take_apart<T, 2>, put_together<T, 2>, kMatrix};
    case 3: return {take_apart<T, 3>, put_together<T, 3>, kMatrix};
    case 4: return {take_apart<T, 4>, put_together<T, 4>, kMatrix};
    default: return {nullptr, nullptr, kMatrix};
  }
}

Kernels transpose_kernels(int64_t itemsize, int64_t channels) {
  switch (itemsize) {
    case 1: return kernels_of<uint8_t>(channels);
    case 2: return kernels_of<uint16_t>(channels);
    case 4: return kernels_of<uint32_t>(channels);
    default: return kernels_of<uint64_t>(channels);
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
namespace {

// One axis of the output: its extent, and its strides in both arrays.
struct MovedAxis {
  int64_t extent, in_stride, out_stride;
};

// Calls body(offset in `in`, offset in `out`) for each position of the first `count` axes.
template <class Body>
void for_each_position(const MovedAxis* axes, int count, Body&& body) {
  int64_t index[kMaxDims] = {}, in = 0, out = 0;
  for (;;) {
    body(in, out);
    int i = count - 1;
    for (; i >= 0; --i) {
      in += axes[i].in_stride;
      out += axes[i].out_stride;
      if (++index[i] < axes[i].extent) break;
      in -= axes[i].extent * axes[i].in_stride;
      out -= axes[i].extent * axes[i].out_stride;
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

template <class T>
void transpose_elements(T* out, const T* in, const MovedAxis* axes, int count) {
  // The output's last axis is contiguous in `out`, and `fast` in `in`.
  const MovedAxis last = axes[count - 1];
  if (last.in_stride == 1) {
    Shape shape, strides;
    for (int i = 0; i < count; ++i)
      shape.push_back(axes[i].extent), strides.push_back(axes[i].in_stride);
    copy_strided(out, in, shape, strides);
    return;
  }
  const MovedAxis* fast =
      std::find_if(axes, axes + count, [](auto& a) { return a.in_stride == 1; });
  MovedAxis others[kMaxDims];
  const MovedAxis* end = std::copy(axes, fast, others);
  end = std::copy(fast + 1, axes + count - 1, others + (end - others));
  const int outer = static_cast<int>(end - others);
  const auto each = [&](auto&& body) {
    for_each_position(others, outer, [&](int64_t i, int64_t o) { body(out + o, in + i); });
  };
  // Pixels: the channels are contiguous on one side.
  const auto kernels = [](int64_t channels) {
    return TORCHDALI_ISA_PICK(transpose_kernels)(sizeof(T), channels);
  };
  const PixelsFn apart = last.in_stride == fast->extent ? kernels(fast->extent).apart : nullptr;
  const PixelsFn together =
      fast->out_stride == last.extent ? kernels(last.extent).together : nullptr;
  const MatrixFn matrix = kernels(0).matrix;
  if (apart != nullptr) each([&](T* o, const T* i) { apart(o, i, last.extent, fast->out_stride); });
  else if (together != nullptr)
    each([&](T* o, const T* i) { together(o, i, fast->extent, last.in_stride); });
  else
    each([&](T* o, const T* i) {
      matrix(o, i, last.extent, fast->extent, last.in_stride, fast->out_stride);
    });
}

}  // namespace

void transpose_axes(void* out, const void* in, const Shape& shape, std::span<const int> perm,
                    int64_t itemsize) {
  const int ndim = shape.ndim();
  std::array<int64_t, kMaxDims> in_strides{};
  for (int64_t i = ndim - 1, stride = 1; i >= 0; stride *= shape[static_cast<int>(i--)])
    in_strides[static_cast<size_t>(i)] = stride;
  // Axes of the output. Axes adjacent in both arrays are merged, those of extent 1 dropped.
  std::array<MovedAxis, kMaxDims> axes{};
  int count = 0;
  for (int i = 0; i < ndim; ++i) {
    const int from = perm[static_cast<size_t>(i)];
    const int64_t extent = shape[from], stride = in_strides[static_cast<size_t>(from)];
    if (extent == 1) continue;
    MovedAxis* const before = count > 0 ? &axes[static_cast<size_t>(count) - 1] : nullptr;
    if (before != nullptr && before->in_stride == extent * stride)
      *before = {before->extent * extent, stride, 0};
    else axes[static_cast<size_t>(count++)] = {extent, stride, 0};
  }
  for (int64_t i = count - 1, stride = 1; i >= 0; --i) {
    axes[static_cast<size_t>(i)].out_stride = stride;
    stride *= axes[static_cast<size_t>(i)].extent;
  }
  if (count == 0) axes[static_cast<size_t>(count++)] = {1, 1, 1};
  const auto run = [&]<class T>() {
    transpose_elements(static_cast<T*>(out), static_cast<const T*>(in), axes.data(), count);
  };
  switch (itemsize) {
    case 1: return run.operator()<uint8_t>();
    case 2: return run.operator()<uint16_t>();
    case 4: return run.operator()<uint32_t>();
    default: return run.operator()<uint64_t>();
  }
}
#endif

}  // namespace torchdali::kernels
