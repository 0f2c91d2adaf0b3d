// SPDX-License-Identifier: Apache-2.0
// grid_mask.h, once per instruction set.
#include "kernels/window/grid_mask.h"

#include <algorithm>
#include <cstring>

#include "kernels/color/color_matrix.h"

#define TORCHDALI_ISA_FILE "kernels/window/grid_mask_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

void grid_row(uint8_t* __restrict mask, int64_t width, const GridRow& grid) {
  const GridRow g = grid;
  const int32_t n = static_cast<int32_t>(width);  // a narrow counter becomes a float in one step
  for (int32_t i = 0; i < n; ++i) mask[i] = static_cast<uint8_t>(-grid_keeps(g, i));
}

void apply_bytes(uint8_t* __restrict out, const uint8_t* __restrict in,
                 const uint8_t* __restrict mask, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = in[i] & mask[i];
}

template <class T>
void apply_elements(void* out, const void* in, const uint8_t* __restrict mask, int64_t count) {
  T* __restrict to = static_cast<T*>(out);
  const T* __restrict from = static_cast<const T*>(in);
  for (int64_t i = 0; i < count; ++i) to[i] = mask[i] != 0 ? from[i] : T{0};
}

void apply_mask(uint8_t* out, const uint8_t* in, const uint8_t* mask, int64_t width,
                int64_t pixel) {
  switch (pixel) {
    case 1: return apply_bytes(out, in, mask, width);
    case 2: return apply_elements<uint16_t>(out, in, mask, width);
    case 3: {
      constexpr int64_t kBlock = 1024;
      uint8_t bytes[3 * kBlock];
      for (int64_t p = 0; p < width; p += kBlock) {
        const int64_t n = std::min(kBlock, width - p);
        torchdali::kernels::triple_channel(bytes, mask + p, n);
        apply_bytes(out + 3 * p, in + 3 * p, bytes, 3 * n);
      }
      return;
    }
    case 4: return apply_elements<uint32_t>(out, in, mask, width);
    case 8: return apply_elements<uint64_t>(out, in, mask, width);
    default:
      for (int64_t p = 0; p < width; ++p, out += pixel, in += pixel) {
        if (mask[p] != 0) std::memcpy(out, in, static_cast<size_t>(pixel));
        else std::memset(out, 0, static_cast<size_t>(pixel));
      }
  }
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
void grid_row(uint8_t* mask, int64_t width, const GridRow& row) {
  TORCHDALI_ISA_PICK(grid_row)(mask, width, row);
}
void apply_mask(uint8_t* out, const uint8_t* in, const uint8_t* mask, int64_t width,
                int64_t pixel) {
  TORCHDALI_ISA_PICK(apply_mask)(out, in, mask, width, pixel);
}
#endif

}  // namespace torchdali::kernels
