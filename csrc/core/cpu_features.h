// SPDX-License-Identifier: Apache-2.0
// The instruction set that kernels use: the best one of this machine, or the one that the
// environment variable TORCHDALI_ISA names. Kernels select it through kernels/foreach_isa.h.
#pragma once

#include <string>

namespace torchdali {

// Ordered: each one includes those before it.
enum class Isa : int {
  kBaseline = 0,  // x86-64 of 2003 (SSE2), or the baseline of another architecture
  kAvx2 = 1,      // AVX2, FMA, BMI1, BMI2: Haswell, Zen
  kAvx512 = 2,    // AVX-512 F, BW, DQ, VL: Skylake-SP, Zen 4
};
inline constexpr int kNumIsas = 3;

// "baseline", "avx2", "avx512".
const char* isa_name(Isa isa);

// The instruction set called `name`. Raises kValue, with the known names, if there is none.
Isa parse_isa(const std::string& name);

// The best instruction set that this processor and operating system support. Any thread.
Isa machine_isa();

// The instruction set that kernels use: TORCHDALI_ISA if it is set and not empty, at most
// machine_isa(); otherwise machine_isa(). The variable is read once, at the first call. Raises
// kValue for an unknown name; the Python module calls this when it is imported, so that the error
// comes early. Any thread; costs one relaxed load.
Isa active_isa();

// For tests that compare instruction sets in one process. Sets at most machine_isa() and returns
// what was set. Not while kernels run.
Isa set_active_isa(Isa isa);

}  // namespace torchdali
