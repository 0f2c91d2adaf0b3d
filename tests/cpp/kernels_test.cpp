// SPDX-License-Identifier: Apache-2.0
// kernels: conversions at the limits of every pair of types, mirroring, normalization, windows and
// transposition, in buffers of the exact size, with every instruction set of this machine.
// sources: csrc/kernels/convert.cpp csrc/kernels/convert_cpu.cpp csrc/kernels/window/mirror_cpu.cpp
// sources: csrc/kernels/window/normalize_cpu.cpp csrc/kernels/window/normalize_box.cpp csrc/core/cpu_features.cpp
// sources: csrc/kernels/window/transpose_cpu.cpp csrc/kernels/window/fill.cpp
// sanitizers: address
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cpu_features.h"
#include "expect.h"
#include "kernels/convert.h"
#include "kernels/window/fill.h"
#include "kernels/window/mirror.h"
#include "kernels/window/normalize.h"
#include "kernels/window/normalize_box.h"
#include "kernels/window/transpose.h"
#include "kernels/window/window.h"

namespace torchdali::kernels {
namespace {

// A block of exactly this size, so that a byte past its end is found.
template <class T>
std::unique_ptr<T[]> exact(size_t count) {
  return std::unique_ptr<T[]>(new T[count]());
}

template <class T>
std::vector<T> edges() {
  if constexpr (std::is_same_v<T, bool>) {
    return {};  // vector<bool> has no data(); bools are covered as targets
  } else if constexpr (is_floating_type<T>) {
    using A = Arithmetic<T>;
    std::vector<T> values;
    for (double v : {0.0, 0.5, 1.5, 2.5, 0.49999997, 127.5, 255.5, 65504.0, 65520.0, 2147483648.0,
                     4294967296.0, 9.3e18, 2e19, 1e30, 1e300, HUGE_VAL, std::nan("")})
      for (double sign : {1.0, -1.0}) values.push_back(T(static_cast<A>(sign * v)));
    return values;
  } else {
    using Limits = std::numeric_limits<T>;
    return {Limits::min(), T(Limits::min() + 1), 0, 1, 2, 100, T(Limits::max() - 1), Limits::max()};
  }
}

// What convert.h promises, in long double, which holds every value of every type.
template <class To, class From>
To expected(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_floating_type<To>) {
    if constexpr (std::is_same_v<To, Half>) return Half(static_cast<float>(x));
    else if constexpr (std::is_same_v<From, Half>) return static_cast<To>(static_cast<float>(x));
    else return static_cast<To>(x);
  } else {
    long double v;
    if constexpr (std::is_same_v<From, Half>) v = static_cast<float>(x);
    else v = static_cast<long double>(x);
    if (std::isnan(v)) return std::is_same_v<To, bool>;
    v = std::round(v);
    if constexpr (std::is_same_v<To, bool>) return v != 0;
    using Limits = std::numeric_limits<To>;
    if (v <= static_cast<long double>(Limits::min())) return Limits::min();
    if (v >= static_cast<long double>(Limits::max())) return Limits::max();
    return static_cast<To>(v);
  }
}

void every_pair_of_types_converts_as_promised() {
  for (int to = 0; to < kNumDTypes; ++to)
    for (int from = 0; from < kNumDTypes; ++from)
      dispatch_dtype(static_cast<DType>(to), [&]<class To>() {
        dispatch_dtype(static_cast<DType>(from), [&]<class From>() {
          if constexpr (!std::is_same_v<From, bool>) {
            const std::vector<From> in = edges<From>();
            auto out = exact<To>(in.size());
            converter(dtype_of<To>(), dtype_of<From>())(out.get(), in.data(), in.size());
            for (size_t i = 0; i < in.size(); ++i) {
              const To want = expected<To>(in[i]);
              if constexpr (is_floating_type<To>)
                if (std::isnan(static_cast<Arithmetic<To>>(want))) continue;
              EXPECT(std::memcmp(&out[i], &want, sizeof(To)) == 0);
            }
          }
        });
      });
}

void mirroring_reverses_pixels_of_every_size() {
  constexpr int64_t kRows = 2;
  for (int64_t pixel : {1, 2, 3, 4, 5, 6, 8, 12, 16, 17, 24, 25})
    for (int64_t pixels = 1; pixels < 140; ++pixels) {
      const int64_t row = pixels * pixel, in_stride = row + pixels % 3 * pixel;
      auto in = exact<uint8_t>(in_stride + row), out = exact<uint8_t>(kRows * row);
      for (int64_t i = 0; i < in_stride + row; ++i) in[i] = static_cast<uint8_t>(i * 7 + i / 256);
      mirror_function(pixel)(out.get(), in.get(), kRows, in_stride, pixels, pixel);
      for (int64_t y = 0; y < kRows; ++y)
        for (int64_t i = 0; i < pixels; ++i)
          EXPECT(std::memcmp(&out[y * row + i * pixel],
                             &in[y * in_stride + (pixels - 1 - i) * pixel], pixel) == 0);
    }
}

// [h, w, c] or [c, h, w] to the other or the same, in one type or another.
void normalize_case(int64_t h, int64_t w, int64_t c, bool planar_in, bool planar_out, bool mirror,
                    DType in_dtype, DType out_dtype) {
  const float mean[] = {1, 2, 3, 4, 5}, scale[] = {0.5f, 0.25f, 2, 1, 3};
  const int64_t count = h * w * c;
  auto in = exact<char>(count * itemsize(in_dtype)), out = exact<char>(count * itemsize(out_dtype));
  auto values = exact<float>(count), results = exact<float>(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37) % 100);
  converter(in_dtype, DType::kFloat)(in.get(), values.get(), count);
  const auto axes = [&](bool planar) {
    return planar ? std::array<int64_t, 3>{1, w, h * w} : std::array<int64_t, 3>{c, w * c, 1};
  };
  const auto is = axes(planar_in), os = axes(planar_out);
  NormalizeBox box{.w = {w, is[0], os[0]},
                   .c = {c, is[2], os[2]},
                   .h = {h, is[1], os[1]},
                   .outer = {},
                   .in = in.get(),
                   .out = out.get(),
                   .in_dtype = in_dtype,
                   .out_dtype = out_dtype,
                   .mirror = mirror,
                   .mean = std::span(mean, c),
                   .scale = std::span(scale, c),
                   .shift = 0.25f};
  auto scratch = exact<std::byte>(scratch_bytes(box));
  normalize(box, scratch.get());
  converter(DType::kFloat, out_dtype)(results.get(), out.get(), count);
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x)
      for (int64_t k = 0; k < c; ++k) {
        const float v = values[y * is[1] + (mirror ? w - 1 - x : x) * is[0] + k * is[2]];
        float want = (v - mean[k]) * scale[k] + 0.25f;
        if (out_dtype == DType::kUInt8) want = expected<uint8_t>(want);
        EXPECT(results[y * os[1] + x * os[0] + k * os[2]] == want);
      }
}

void normalization_equals_its_formula() {
  for (int64_t w : {1, 2, 15, 16, 17, 31, 33, 48})
    for (int64_t c : {1, 2, 3, 4, 5})
      for (int mask = 0; mask < 8; ++mask)
        for (DType in : {DType::kUInt8, DType::kInt16, DType::kFloat})
          for (DType out : {DType::kFloat, DType::kUInt8, DType::kFloat16})
            normalize_case(2, w, c, mask & 1, mask & 2, mask & 4, in, out);
}

// Whole lines of the cache, and rows and planes that begin within one.
void stores_that_bypass_the_cache_write_the_same() {
  constexpr int64_t kHeight = 3, kLine = 64;
  const float mean[] = {1, 2, 3}, scale[] = {0.5f, 0.25f, 2};
  for (int64_t w : {16, 48, 50})
    for (int64_t gap : {0, 1, 16})
      for (int64_t offset : {0, 4})
        for (bool mirror : {false, true}) {
          const int64_t row = w + gap, plane = kHeight * row;
          std::vector<uint8_t> in(static_cast<size_t>(kHeight * w * 3));
          for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 37);
          std::vector<float> out[2];
          for (bool bypass : {false, true}) {
            std::vector<float>& to = out[bypass ? 1 : 0];
            const auto bytes = static_cast<size_t>(3 * plane) * sizeof(float) + 2 * kLine;
            const std::unique_ptr<char, decltype(&std::free)> memory(
                static_cast<char*>(std::aligned_alloc(kLine, bytes / kLine * kLine)), &std::free);
            auto* first = reinterpret_cast<float*>(memory.get() + offset);
            std::fill_n(first, 3 * plane, -1.0f);
            normalize_rgb_to_planes({.in = in.data(),
                                     .in_row = w * 3,
                                     .out = first,
                                     .out_row = row,
                                     .out_plane = plane,
                                     .height = kHeight,
                                     .width = w,
                                     .mirror = mirror,
                                     .mean = {mean[0], mean[1], mean[2]},
                                     .scale = {scale[0], scale[1], scale[2]},
                                     .shift = 0.25f,
                                     .bypass_cache = bypass});
            to.assign(first, first + 3 * plane);
          }
          EXPECT(out[0] == out[1]);
        }
}

void runs_cover_a_window_once() {
  const Shape in{3, 5, 7}, window{4, 4, 7};
  for (int64_t a = -4; a <= 3; ++a)
    for (int64_t b = -4; b <= 5; ++b)
      for (int64_t c : {int64_t{-2}, int64_t{0}, int64_t{3}}) {
        const Shape anchor{a, b, c};
        const Overlap overlap(in, anchor, window);
        std::vector<int> from(window.volume(), -1);
        if (!overlap.empty)
          for_each_run(in, overlap.from, window, overlap.to, overlap.shape,
                       [&](int64_t i, int64_t o, int64_t n) {
                         for (int64_t k = 0; k < n; ++k) {
                           EXPECT(from.at(o + k) == -1);
                           from[o + k] = static_cast<int>(i + k);
                         }
                       });
        for (int64_t z = 0; z < 4; ++z)
          for (int64_t y = 0; y < 4; ++y)
            for (int64_t x = 0; x < 7; ++x) {
              const int64_t iz = z + a, iy = y + b, ix = x + c;
              const bool inside = iz >= 0 && iz < 3 && iy >= 0 && iy < 5 && ix >= 0 && ix < 7;
              EXPECT(from[(z * 4 + y) * 7 + x] == (inside ? (iz * 5 + iy) * 7 + ix : -1));
            }
      }
}

void filling_repeats_the_channels() {
  for (int64_t inner : {1, 4}) {
    auto out = exact<int16_t>(5 * 3 * inner);
    fill_channels(out.get(), sizeof(int16_t), 5, inner, std::array<uint64_t, 3>{1, 2, 3});
    for (int64_t i = 0; i < 5 * 3 * inner; ++i) EXPECT(out[i] == i / inner % 3 + 1);
  }
}

void filling_outside_leaves_the_box() {
  const Shape shape{4, 1, 5, 3};
  for (const auto& [at, extent] : {std::pair<Shape, Shape>{{1, 0, 2, 0}, {2, 1, 3, 3}},
                                   {{0, 0, 0, 1}, {4, 1, 5, 1}},
                                   {{0, 0, 0, 0}, {4, 1, 5, 3}},
                                   {{3, 0, 4, 2}, {1, 1, 1, 1}}}) {
    const auto array = exact<int>(static_cast<size_t>(shape.volume()));
    fill_outside(array.get(), sizeof(int), shape, at, extent, 7);
    int64_t kept = 0;
    for (int64_t i = 0; i < shape.volume(); ++i) kept += array[static_cast<size_t>(i)] == 0;
    EXPECT(kept == extent.volume());
    EXPECT(array[static_cast<size_t>(((at[0] * 1 + at[1]) * 5 + at[2]) * 3 + at[3])] == 0);
  }
}

template <class T>
void check_transposition(const Shape& shape, const std::vector<int>& perm) {
  const auto count = static_cast<size_t>(shape.volume());
  const auto in = exact<T>(count), out = exact<T>(count);
  for (size_t i = 0; i < count; ++i) in[i] = static_cast<T>(i * 7 + 1);
  transpose_axes(out.get(), in.get(), shape, perm, sizeof(T));
  std::vector<int64_t> strides(perm.size()), index(perm.size(), 0);
  for (int64_t i = shape.ndim() - 1, stride = 1; i >= 0; stride *= shape[static_cast<int>(i--)])
    strides[static_cast<size_t>(i)] = stride;
  bool same = true;
  for (size_t o = 0; o < count; ++o) {
    int64_t from = 0;
    for (size_t axis = 0; axis < perm.size(); ++axis)
      from += index[axis] * strides[static_cast<size_t>(perm[axis])];
    same &= out[o] == in[static_cast<size_t>(from)];
    for (size_t axis = perm.size(); axis-- > 0;) {
      if (++index[axis] < shape[perm[axis]]) break;
      index[axis] = 0;
    }
  }
  EXPECT(same);
}

void transposition_moves_every_element() {
  for (const Shape& shape : {Shape{5, 7, 3}, Shape{3, 5, 7}, Shape{1, 65, 3}, Shape{4, 33, 2},
                             Shape{40, 1, 70}, Shape{2, 16, 3}, Shape{7, 4, 4}, Shape{1, 1, 1}}) {
    std::vector<int> perm{0, 1, 2};
    do {
      check_transposition<uint8_t>(shape, perm);
      check_transposition<uint16_t>(shape, perm);
      check_transposition<uint32_t>(shape, perm);
      check_transposition<uint64_t>(shape, perm);
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
  check_transposition<uint8_t>({2, 3, 4, 5, 3}, {4, 1, 3, 0, 2});
  check_transposition<uint8_t>({2, 9, 11, 3}, {0, 3, 1, 2});
}

}  // namespace
}  // namespace torchdali::kernels

// Without arguments: once per instruction set, if the machine has several, in processes of their
// own.
int main(int argc, char** argv) {
  using namespace torchdali::kernels;
  if (argc == 1 && torchdali::machine_isa() != torchdali::Isa::kBaseline) {
    for (const char* isa : {"baseline", "avx2", "avx512"})
      EXPECT(std::system(
                 ("TORCHDALI_ISA=" + std::string(isa) + " '" + argv[0] + "' run").c_str()) == 0);
    return 0;
  }
  every_pair_of_types_converts_as_promised();
  mirroring_reverses_pixels_of_every_size();
  normalization_equals_its_formula();
  stores_that_bypass_the_cache_write_the_same();
  runs_cover_a_window_once();
  filling_repeats_the_channels();
  filling_outside_leaves_the_box();
  transposition_moves_every_element();
}
