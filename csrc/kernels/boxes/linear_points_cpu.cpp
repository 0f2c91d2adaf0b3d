// SPDX-License-Identifier: Apache-2.0
// linear_points.h, once per instruction set.
#include "kernels/boxes/linear_points.h"

#define TORCHDALI_ISA_FILE "kernels/boxes/linear_points_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

void any_points(float* __restrict out, const float* __restrict in, int64_t count,
                const LinearMap& map) {
  for (int64_t i = 0; i < count; ++i, in += map.columns)
    for (int64_t r = 0; r < map.rows; ++r) {
      const float* row = map.matrix + r * map.columns;
      float sum = 0;
      for (int64_t c = 0; c < map.columns; ++c) sum += row[c] * in[c];
      *out++ = sum + map.offset[r];
    }
}

// Numbers of components that are known to the compiler, so that the matrix is in registers.
template <int kRows, int kColumns>
void small_points(float* __restrict out, const float* __restrict in, int64_t count,
                  const LinearMap& map) {
  float m[kRows][kColumns], t[kRows];
  for (int r = 0; r < kRows; ++r) {
    t[r] = map.offset[r];
    for (int c = 0; c < kColumns; ++c) m[r][c] = map.matrix[r * kColumns + c];
  }
  for (int64_t i = 0; i < count; ++i)
    for (int r = 0; r < kRows; ++r) {
      float sum = 0;
      for (int c = 0; c < kColumns; ++c) sum += m[r][c] * in[i * kColumns + c];
      out[i * kRows + r] = sum + t[r];
    }
}

void transform_points(float* out, const float* in, int64_t count, const LinearMap& map) {
  const auto is = [&](int64_t rows, int64_t columns) {
    return map.rows == rows && map.columns == columns;
  };
  if (is(2, 2)) return small_points<2, 2>(out, in, count, map);
  if (is(3, 3)) return small_points<3, 3>(out, in, count, map);
  if (is(1, 3)) return small_points<1, 3>(out, in, count, map);
  if (is(2, 3)) return small_points<2, 3>(out, in, count, map);
  if (is(4, 4)) return small_points<4, 4>(out, in, count, map);
  any_points(out, in, count, map);
}

void scale_points(float* __restrict out, const float* __restrict in, int64_t count, int components,
                  const float* factor, const float* add) {
  // Whole registers and whole points.
  constexpr int kStep = 48;
  float f[kStep], a[kStep];
  for (int k = 0; k < kStep; ++k) {
    f[k] = factor[k % components];
    a[k] = add[k % components];
  }
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    for (int k = 0; k < kStep; ++k) out[i + k] = a[k] + f[k] * in[i + k];
  for (int k = 0; i < count; ++i, ++k) out[i] = a[k] + f[k] * in[i];
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void transform_points(float* out, const float* in, int64_t count, const LinearMap& map) {
  TORCHDALI_ISA_PICK(transform_points)(out, in, count, map);
}
void scale_points(float* out, const float* in, int64_t count, int components, const float* factor,
                  const float* add) {
  TORCHDALI_ISA_PICK(scale_points)(out, in, count, components, factor, add);
}
#endif

}  // namespace torchdali::kernels
