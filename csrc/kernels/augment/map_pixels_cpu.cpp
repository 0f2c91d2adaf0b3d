// SPDX-License-Identifier: Apache-2.0
// map_pixels.h, once per instruction set.
#include "kernels/augment/map_pixels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/augment/map_scalar.h"

#define TORCHDALI_ISA_FILE "kernels/augment/map_pixels_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

constexpr int64_t kMapBlock = 256;

// The pixels of a block of a row: source columns and rows, and outside of the input, -1.
struct NearestBlock {
  alignas(64) int32_t x[kMapBlock], y[kMapBlock];
};
struct FloatBlock {
  alignas(64) float x[kMapBlock], y[kMapBlock];
};
struct DoubleBlock {
  alignas(64) double x[kMapBlock], y[kMapBlock];
};

// The positions of `n` pixels of a row from column `first` on.
void torch_positions(FloatBlock& to, const MapPlan& plan, int64_t n, int64_t first, int64_t row) {
  const float x = plan.first_x + static_cast<float>(first),
              y = plan.first_y + static_cast<float>(row);
  const TorchGrid grid = plan.grid;
  const auto each = [&](auto&& position) {
    for (int64_t i = 0; i < n; ++i) {
      const auto at = position(x + static_cast<float>(static_cast<int>(i)));
      to.x[i] = at.x;
      to.y[i] = at.y;
    }
  };
  if (plan.perspective) each([&](float column) { return perspective_position(grid, column, y); });
  else each([&](float column) { return affine_position(grid, column, y); });
}
void pillow_positions(DoubleBlock& to, const MapPlan& plan, int64_t n, int64_t first, int64_t row) {
  const double line = static_cast<double>(row) + 0.5;
  for (int64_t i = 0; i < n; ++i) {
    const DoublePosition at = pillow_position(plan, first + i, line);
    to.x[i] = at.x;
    to.y[i] = at.y;
  }
}

template <class T, int kChannels>
void copy_nearest(T* out, int64_t out_plane, const T* in, const ImageExtents& image,
                  const NearestBlock& block, int64_t n, const T* fill) {
  // The numbers of the pixels, as a loop that is vectorized.
  alignas(64) int32_t at[kMapBlock];
  const auto width = static_cast<int32_t>(image.width);
  for (int64_t i = 0; i < n; ++i)
    at[i] = (block.x[i] | block.y[i]) < 0 ? -1 : block.y[i] * width + block.x[i];
  if (image.planar || kChannels == 1) {
    for (int c = 0; c < kChannels; ++c, out += out_plane, in += image.pixels())
      for (int64_t i = 0; i < n; ++i) out[i] = at[i] < 0 ? fill[c] : in[at[i]];
    return;
  }
  int64_t i = 0;
  if constexpr (sizeof(T) == 1 && kChannels == 3) {
    // Words of four bytes, the last of which is overwritten by the next pixel. The last pixel of
    // the input cannot be read as a word.
    uint32_t fill_word = 0;
    std::memcpy(&fill_word, fill, 3);
    const auto last = static_cast<int32_t>(image.pixels() - 1);
    for (; i + 1 < n; ++i) {
      uint32_t word = fill_word;
      if (at[i] >= 0) {
        const T* from = in + static_cast<int64_t>(at[i]) * 3;
        if (at[i] < last) std::memcpy(&word, from, 4);
        else std::memcpy(&word, from, 3);
      }
      std::memcpy(out + 3 * i, &word, 4);
    }
  }
  for (; i < n; ++i) {
    const T* from = at[i] < 0 ? fill : in + static_cast<int64_t>(at[i]) * kChannels;
    for (int c = 0; c < kChannels; ++c) out[i * kChannels + c] = from[c];
  }
}

template <class T>
void shift_plane(T* out, const T* in, const MapPlan& plan, int64_t channels, const T* fill) {
  const ImageExtents& image = plan.image;
  const int64_t height = plan.height, width = plan.width, dx = plan.shift_x, dy = plan.shift_y;
  const int64_t left = std::clamp<int64_t>(-dx, 0, width);
  const int64_t right = std::clamp<int64_t>(image.width - dx, left, width);
  for (int64_t y = 0; y < height; ++y, out += width * channels) {
    const bool outside = y + dy < 0 || y + dy >= image.height;
    const int64_t first = outside ? width : left, last = outside ? width : right;
    if (first < last)
      std::memcpy(out + first * channels, in + ((y + dy) * image.width + first + dx) * channels,
                  static_cast<size_t>((last - first) * channels) * sizeof(T));
    const auto fill_pixels = [&](int64_t from, int64_t to) {
      for (int64_t x = from; x < to; ++x)
        for (int64_t c = 0; c < channels; ++c) out[x * channels + c] = fill[c];
    };
    fill_pixels(0, first);
    fill_pixels(last, width);
  }
}

// A block of a row, of which the first pixel is in column `first`.
template <class T, int kChannels>
void linear_block(T* out, int64_t out_plane, const T* in, const MapPlan& plan, int64_t n,
                  int64_t first, int64_t row) {
  // A copy, which stores of bytes cannot change.
  const ImageExtents image = plan.image;
  const int64_t pixel = image.planar ? 1 : kChannels;
  if (!image.planar) out_plane = 1;
  T to[kChannels];
  const auto store = [&](int64_t i) {
    for (int c = 0; c < kChannels; ++c) out[i * pixel + c * out_plane] = to[c];
  };
  if (plan.way == MapWay::kTorch) {
    FloatBlock at;
    torch_positions(at, plan, n, first, row);
    const float values[3] = {plan.fill[0], plan.fill[1], plan.fill[2]};
    const float* fill = plan.fills ? values : nullptr;
    for (int64_t i = 0; i < n; ++i) {
      sample_torch(to, in, image, {at.x[i], at.y[i]}, fill);
      store(i);
    }
  } else if constexpr (sizeof(T) == 1) {
    DoubleBlock at;
    pillow_positions(at, plan, n, first, row);
    T fill[3];
    for (int c = 0; c < 3; ++c) fill[c] = static_cast<T>(plan.fill[c]);
    for (int64_t i = 0; i < n; ++i) {
      sample_pillow(to, in, image, {at.x[i], at.y[i]}, fill);
      store(i);
    }
  }
}

void find_nearest(NearestBlock& to, const MapPlan& plan, const int32_t* columns, int64_t n,
                  int64_t first, int64_t row) {
  const auto w = static_cast<int32_t>(plan.image.width),
             h = static_cast<int32_t>(plan.image.height);
  if (plan.way == MapWay::kTorch) {
    FloatBlock at;
    torch_positions(at, plan, n, first, row);
    for (int64_t i = 0; i < n; ++i) {
      to.x[i] = nearest_index(at.x[i], static_cast<float>(w));
      to.y[i] = nearest_index(at.y[i], static_cast<float>(h));
    }
  } else if (plan.way == MapWay::kFixed) {
    for (int64_t i = 0; i < n; ++i) {
      const SourcePixel from =
          fixed_pixel(plan.fixed, static_cast<uint32_t>(first) + static_cast<uint32_t>(i),
                      static_cast<uint32_t>(row), w, h);
      to.x[i] = from.x;
      to.y[i] = from.y;
    }
  } else if (plan.way == MapWay::kScaled) {
    const int32_t line = pillow_index(scaled_row(plan, row), h);
    for (int64_t i = 0; i < n; ++i) {
      to.x[i] = columns[first + i];
      to.y[i] = line;
    }
  } else {
    DoubleBlock at;
    pillow_positions(at, plan, n, first, row);
    for (int64_t i = 0; i < n; ++i) {
      to.x[i] = pillow_index(at.x[i], w);
      to.y[i] = pillow_index(at.y[i], h);
    }
  }
}

// `columns`: with kScaled, the result of scaled_columns().
template <class T, int kChannels>
void map_rows(T* out, const T* in, const MapPlan& plan, const int32_t* columns) {
  const ImageExtents& image = plan.image;
  const int64_t out_step = image.planar ? 1 : kChannels, out_plane = plan.height * plan.width;
  T fill[3];
  for (int c = 0; c < 3; ++c) fill[c] = static_cast<T>(plan.fill[c]);
  if (plan.way == MapWay::kShift) {
    const int64_t planes = image.planar ? kChannels : 1;
    for (int64_t c = 0; c < planes; ++c)
      shift_plane(out + c * out_plane, in + c * image.pixels(), plan, kChannels / planes, fill + c);
    return;
  }
  NearestBlock nearest;
  for (int64_t row = 0; row < plan.height; ++row) {
    for (int64_t at = 0; at < plan.width; at += kMapBlock) {
      const int64_t n = std::min(kMapBlock, plan.width - at);
      T* to = out + (row * plan.width + at) * out_step;
      if (plan.linear) {
        linear_block<T, kChannels>(to, out_plane, in, plan, n, at, row);
        continue;
      }
      find_nearest(nearest, plan, columns, n, at, row);
      copy_nearest<T, kChannels>(to, out_plane, in, image, nearest, n, fill);
    }
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
namespace {

template <class T>
void map_any(T* out, const T* in, const MapPlan& plan) {
  thread_local std::vector<int32_t> columns;
  if (plan.way == MapWay::kScaled) {
    columns.resize(static_cast<size_t>(plan.width));
    scaled_columns(plan, columns.data());
  }
  if (plan.image.channels == 1) TORCHDALI_ISA_PICK(map_rows<T, 1>)(out, in, plan, columns.data());
  else TORCHDALI_ISA_PICK(map_rows<T, 3>)(out, in, plan, columns.data());
}

}  // namespace

void map_pixels(uint8_t* out, const uint8_t* in, const MapPlan& plan) { map_any(out, in, plan); }
void map_pixels(float* out, const float* in, const MapPlan& plan) { map_any(out, in, plan); }
#endif

}  // namespace torchdali::kernels
