// SPDX-License-Identifier: Apache-2.0
// linear.h, once per instruction set.
#include <algorithm>

#include "kernels/convert.h"
#include "kernels/math/linear.h"

#define TORCHDALI_ISA_FILE "kernels/math/linear_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

void linear_bytes(uint8_t* __restrict out, const uint8_t* __restrict in, int64_t count,
                  float factor, float offset) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = round_to_byte(static_cast<float>(in[i]) * factor + offset);
}
void linear_line(float* x, int64_t count, float factor, float offset) {
  for (int64_t i = 0; i < count; ++i) x[i] = x[i] * factor + offset;
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void linear(void* out, DType to, const void* in, DType from, int64_t count, float factor,
            float offset) {
  if (to == DType::kUInt8 && from == DType::kUInt8) {
    TORCHDALI_ISA_PICK(linear_bytes)
    (static_cast<uint8_t*>(out), static_cast<const uint8_t*>(in), count, factor, offset);
    return;
  }
  const auto line = TORCHDALI_ISA_PICK(linear_line);
  in_float_blocks(out, to, in, from, count, 1,
                  [=](float* x, int64_t n) { line(x, n, factor, offset); });
}
#endif

}  // namespace torchdali::kernels
