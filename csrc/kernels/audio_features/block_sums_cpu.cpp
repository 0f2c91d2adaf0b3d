// SPDX-License-Identifier: Apache-2.0
// The sums of squares of blocks (nonsilence.h), once per instruction set.
#include <cstring>

#include "kernels/audio_features/nonsilence.h"

#define TORCHDALI_ISA_FILE "kernels/audio_features/block_sums_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

inline constexpr int kDoubles = 2 << TORCHDALI_ISA_LEVEL;
using Floats [[gnu::vector_size(4 * kDoubles)]] = float;
using Doubles [[gnu::vector_size(8 * kDoubles)]] = double;

// sum_of_squares() in its order.
inline double squares(const float* x, int64_t count) {
  constexpr int kVectors = kSquareLanes / kDoubles;
  Doubles sums[kVectors] = {};
  int64_t i = 0;
  for (; i + kSquareLanes <= count; i += kSquareLanes)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      Floats floats;
      std::memcpy(&floats, x + i + v * kDoubles, sizeof(Floats));
      const Doubles values = __builtin_convertvector(floats, Doubles);
      sums[v] += values * values;
    }
  double lanes[kSquareLanes];
  std::memcpy(lanes, sums, sizeof(lanes));
  for (; i < count; ++i) lanes[0] += square_of(x[i]);
  return sum_of_lanes(lanes);
}

void block_sums(double* sums, const float* signal, const MovingPower& power) {
  for (int64_t b = 0; b < power.blocks(); ++b)
    sums[b] = squares(signal + power.begin_of(b), power.end_of(b) - power.begin_of(b));
}

}  // namespace TORCHDALI_ISA_NAMESPACE
#if TORCHDALI_ISA_LAST
void block_sums(double* sums, const float* signal, const MovingPower& power) {
  TORCHDALI_ISA_PICK(block_sums)(sums, signal, power);
}
#endif
}  // namespace torchdali::kernels
