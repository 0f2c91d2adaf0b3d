// SPDX-License-Identifier: Apache-2.0
// Rows of tiles in parts, which are vectors of the instruction set. Included in the pass of each
// instruction set, so it has no include guard and includes nothing: <cstring> and
// core/audio/frame_lanes.h come before it.

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

inline constexpr int kPart = 4 << TORCHDALI_ISA_LEVEL;
using Part [[gnu::vector_size(4 * kPart)]] = float;

[[gnu::always_inline]] inline Part load_part(const float* from) {
  Part x;
  std::memcpy(&x, from, sizeof(Part));
  return x;
}
[[gnu::always_inline]] inline void store_part(float* to, Part x) {
  std::memcpy(to, &x, sizeof(Part));
}

}  // namespace TORCHDALI_ISA_NAMESPACE
}  // namespace torchdali::kernels
