// SPDX-License-Identifier: Apache-2.0
// Reductions of an array over any of its axes: sums, sums of squares, minima and maxima. Integers
// are added exactly; floats are added as double, in an order that depends on the shape only, so
// that results do not depend on the instruction set.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/layout.h"
#include "kernels/axis_groups.h"

namespace torchdali::kernels {

// kMean adds like kSum, but 64-bit integers as float64: their sum may not fit.
enum class Reduction : int8_t { kSum, kMean, kSumOfSquares, kSumOfSquaredDeviations, kMin, kMax };

// The type of the accumulators for elements of type `in`: sums of integers in uint64 or int64
// (modulo 2^64), squares of 8 and 16 bits in uint64, other sums in float64; extremes in `in`.
DType accumulator_dtype(Reduction reduction, DType in);

// One accumulator for each position along the axes that are kept, in C order.
struct Reduce {
  Reduction reduction;
  DType dtype;
  const void* in;
  Shape shape;
  AxisMask axes;
  const double* mean = nullptr;  // of kSumOfSquaredDeviations: one per accumulator
  void* accumulators;            // of accumulator_dtype()
};
// Adds to the accumulators. kMin and kMax ignore NaN.
void reduce(const Reduce& work);
// Initializes accumulators: to 0, or to the limit of the type.
void begin_reduce(Reduction reduction, DType in, void* accumulators, int64_t count);

// The inner loops of reduce(), once per instruction set. `columns`: x is [rows, count] and
// accumulator i gets column i. `rows`: x is [count, rows] and accumulator i gets row i.
struct ReduceFns {
  using Fn = void (*)(void* accumulators, const void* x, int64_t rows, int64_t count,
                      const double* mean);
  Fn columns, rows;
};
ReduceFns sum_functions(Reduction reduction, DType dtype);
ReduceFns extreme_functions(Reduction reduction, DType dtype);

}  // namespace torchdali::kernels
