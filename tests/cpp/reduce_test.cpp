// SPDX-License-Identifier: Apache-2.0
// kernels: reductions, standardization, linear maps and blobs against loops over single elements,
// on random shapes in buffers of the exact size, with every instruction set of this machine.
// sources: csrc/kernels/math/reduce.cpp csrc/kernels/math/reduce_sums_cpu.cpp
// sources: csrc/kernels/math/reduce_extremes_cpu.cpp csrc/kernels/math/standardize.cpp
// sources: csrc/kernels/math/standardize_cpu.cpp csrc/kernels/boxes/linear_points_cpu.cpp
// sources: csrc/kernels/convert.cpp csrc/kernels/convert_cpu.cpp csrc/kernels/boxes/blobs.cpp
// sources: csrc/core/cpu_features.cpp
// sanitizers: address
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "core/cpu_features.h"
#include "expect.h"
#include "kernels/boxes/blobs.h"
#include "kernels/boxes/linear_points.h"
#include "kernels/convert.h"
#include "kernels/math/reduce.h"
#include "kernels/math/standardize.h"

namespace torchdali::kernels {
namespace {

std::mt19937 generator(1);
int64_t draw(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(generator);
}

template <class T>
std::unique_ptr<T[]> exact(int64_t count) {
  return std::unique_ptr<T[]>(new T[static_cast<size_t>(count)]());
}

Shape random_shape() {
  for (;;) {
    Shape shape;
    for (int64_t ndim = draw(0, 4); ndim > 0; --ndim)
      shape.push_back(draw(0, 9) == 0 ? draw(60, 300) : draw(0, 20) == 0 ? 0 : draw(1, 7));
    if (shape.volume() <= 2000) return shape;
  }
}

// Position without the reduced axes of element `i`.
int64_t kept_position(const Shape& shape, AxisMask axes, int64_t i) {
  int64_t at = 0, step = 1;
  for (int axis = shape.ndim() - 1; axis >= 0; i /= shape[axis--]) {
    if ((axes >> axis & 1) != 0) continue;
    at += i % shape[axis] * step;
    step *= shape[axis];
  }
  return at;
}
int64_t kept_count(const Shape& shape, AxisMask axes) {
  int64_t count = 1;
  for (int i = 0; i < shape.ndim(); ++i)
    if ((axes >> i & 1) == 0) count *= shape[i];
  return count;
}

template <class T>
void test_reduce() {
  const Shape shape = random_shape();
  const AxisMask axes = static_cast<AxisMask>(draw(0, (1 << shape.ndim()) - 1));
  const int64_t volume = shape.volume(), count = kept_count(shape, axes);
  auto data = exact<T>(volume);
  for (int64_t i = 0; i < volume; ++i) data[i] = T(static_cast<float>(draw(0, 100)));
  auto mean = exact<double>(count);
  for (int64_t i = 0; i < count; ++i) mean[i] = 0.5 * static_cast<double>(draw(0, 200));
  for (const Reduction reduction :
       {Reduction::kSum, Reduction::kMean, Reduction::kSumOfSquares,
        Reduction::kSumOfSquaredDeviations, Reduction::kMin, Reduction::kMax}) {
    const DType acc_dtype = accumulator_dtype(reduction, dtype_of<T>());
    std::vector<double> expected(static_cast<size_t>(count), 0.0);
    std::vector<bool> seen(static_cast<size_t>(count), false);
    for (int64_t i = 0; i < volume; ++i) {
      const auto at = static_cast<size_t>(kept_position(shape, axes, i));
      const double x = static_cast<double>(data[i]);
      const double d = x - mean[static_cast<int64_t>(at)];
      double& e = expected[at];
      switch (reduction) {
        case Reduction::kSum:
        case Reduction::kMean: e += x; break;
        case Reduction::kSumOfSquares: e += x * x; break;
        case Reduction::kSumOfSquaredDeviations: e += d * d; break;
        case Reduction::kMin: e = !seen[at] || x < e ? x : e; break;
        case Reduction::kMax: e = !seen[at] || x > e ? x : e; break;
      }
      seen[at] = true;
    }
    dispatch_dtype(acc_dtype, [&]<class Acc>() {
      auto acc = exact<Acc>(count);
      begin_reduce(reduction, dtype_of<T>(), acc.get(), count);
      reduce({.reduction = reduction,
              .dtype = dtype_of<T>(),
              .in = data.get(),
              .shape = shape,
              .axes = axes,
              .mean = mean.get(),
              .accumulators = acc.get()});
      for (int64_t i = 0; i < count; ++i)
        if (seen[static_cast<size_t>(i)])
          EXPECT(static_cast<double>(acc[i]) == expected[static_cast<size_t>(i)]);
    });
  }
}

template <class T, class Out>
void test_standardize() {
  const Shape shape = random_shape();
  const AxisMask axes = static_cast<AxisMask>(draw(0, (1 << shape.ndim()) - 1));
  const int64_t volume = shape.volume(), count = kept_count(shape, axes);
  auto data = exact<T>(volume);
  auto out = exact<Out>(volume);
  auto mean = exact<float>(count), scale = exact<float>(count);
  for (int64_t i = 0; i < volume; ++i) data[i] = T(static_cast<float>(draw(0, 100)));
  for (int64_t i = 0; i < count; ++i) {
    mean[i] = static_cast<float>(draw(0, 100));
    scale[i] = 0.25f * static_cast<float>(draw(-8, 8));
  }
  standardize({.in = data.get(),
               .in_dtype = dtype_of<T>(),
               .out = out.get(),
               .out_dtype = dtype_of<Out>(),
               .shape = shape,
               .axes = axes,
               .mean = mean.get(),
               .scale = scale.get(),
               .shift = 3.5f});
  for (int64_t i = 0; i < volume; ++i) {
    const int64_t at = kept_position(shape, axes, i);
    const float value = (static_cast<float>(data[i]) - mean[at]) * scale[at] + 3.5f;
    EXPECT(out[i] == convert<Out>(value));
  }
}

void test_linear_points() {
  const int64_t rows = draw(1, 5), columns = draw(1, 5), count = draw(0, 70);
  auto matrix = exact<float>(rows * columns), offset = exact<float>(rows);
  auto in = exact<float>(count * columns), out = exact<float>(count * rows);
  for (int64_t i = 0; i < rows * columns; ++i) matrix[i] = static_cast<float>(draw(-9, 9));
  for (int64_t i = 0; i < rows; ++i) offset[i] = static_cast<float>(draw(-9, 9));
  for (int64_t i = 0; i < count * columns; ++i) in[i] = static_cast<float>(draw(-9, 9));
  transform_points(
      out.get(), in.get(), count,
      {.rows = rows, .columns = columns, .matrix = matrix.get(), .offset = offset.get()});
  for (int64_t i = 0; i < count; ++i)
    for (int64_t r = 0; r < rows; ++r) {
      float sum = offset[r];
      for (int64_t c = 0; c < columns; ++c) sum += matrix[r * columns + c] * in[i * columns + c];
      EXPECT(out[i * rows + r] == sum);
    }
}

// Labels spread to neighbors until nothing changes: each blob ends with its first element's
// number.
void test_blobs() {
  const Shape shape = random_shape();
  const int64_t volume = shape.volume();
  auto mask = exact<uint8_t>(volume);
  for (int64_t i = 0; i < volume; ++i) mask[i] = static_cast<uint8_t>(draw(0, 3));
  const auto blobs = find_blobs(mask.get(), DType::kUInt8, shape, 0);
  std::vector<int64_t> first(static_cast<size_t>(volume));
  for (int64_t i = 0; i < volume; ++i) first[static_cast<size_t>(i)] = i;
  for (bool changed = true; changed;) {
    changed = false;
    int64_t step = 1;
    for (int axis = shape.ndim() - 1; axis >= 0; step *= shape[axis--])
      for (int64_t i = step; i < volume; ++i) {
        if (i / step % shape[axis] == 0 || mask[i] != mask[i - step]) continue;
        int64_t &a = first[static_cast<size_t>(i)], &b = first[static_cast<size_t>(i - step)];
        changed |= a != b;
        a = b = std::min(a, b);
      }
  }
  size_t count = 0;
  if (shape.ndim() > 0) {
    for (int64_t i = 0; i < volume; ++i) {
      if (mask[i] == 0 || first[static_cast<size_t>(i)] != i) continue;
      EXPECT(count < blobs.size());
      const Blob& blob = blobs[count++];
      EXPECT(blob.label == mask[i]);
      std::vector<int64_t> low(16, volume), high(16, 0);
      for (int64_t j = 0; j < volume; ++j) {
        if (first[static_cast<size_t>(j)] != i) continue;
        int64_t rest = j;
        for (int axis = shape.ndim() - 1; axis >= 0; rest /= shape[axis--]) {
          low[axis] = std::min(low[axis], rest % shape[axis]);
          high[axis] = std::max(high[axis], rest % shape[axis] + 1);
        }
      }
      for (int axis = 0; axis < shape.ndim(); ++axis)
        EXPECT(blob.start[axis] == low[axis] && blob.end[axis] == high[axis]);
    }
  }
  EXPECT(count == blobs.size());
}

void test_all() {
  for (int round = 0; round < 100; ++round) {
    test_reduce<uint8_t>();
    test_reduce<int8_t>();
    test_reduce<uint16_t>();
    test_reduce<int16_t>();
    test_reduce<uint32_t>();
    test_reduce<int32_t>();
    test_reduce<uint64_t>();
    test_reduce<int64_t>();
    test_reduce<Half>();
    test_reduce<float>();
    test_reduce<double>();
    test_standardize<uint8_t, float>();
    test_standardize<uint8_t, uint8_t>();
    test_standardize<float, float>();
    test_standardize<int16_t, int32_t>();
    test_standardize<double, double>();
    test_linear_points();
  }
  for (int round = 0; round < 30; ++round) test_blobs();
}

}  // namespace
}  // namespace torchdali::kernels

int main() {
  using namespace torchdali;
  for (int isa = 0; isa < kNumIsas; ++isa) {
    if (static_cast<Isa>(isa) > machine_isa()) break;
    set_active_isa(static_cast<Isa>(isa));
    kernels::test_all();
  }
}
