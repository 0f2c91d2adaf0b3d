// SPDX-License-Identifier: Apache-2.0
// A row of a tile as one vector. Included between the pragmas of kernels/foreach_isa.h, so it has
// no include guard and includes nothing: <cstring> and core/audio/frame_lanes.h come before it.

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

// GCC divides it into the vectors of the instruction set.
using Lanes [[gnu::vector_size(kFrameLanes * sizeof(float))]] = float;

[[gnu::always_inline]] inline void load(Lanes& x, const float* from) {
  std::memcpy(&x, from, sizeof(Lanes));
}
[[gnu::always_inline]] inline void store(float* to, const Lanes& x) {
  std::memcpy(to, &x, sizeof(Lanes));
}

}  // namespace TORCHDALI_ISA_NAMESPACE
}  // namespace torchdali::kernels
