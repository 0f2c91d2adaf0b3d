// SPDX-License-Identifier: Apache-2.0
// Which instruction set the kernels use: the best one this machine has, or less where the
// environment variable TORCHDALI_ISA asks for less. Kernels pick through kernels/foreach_isa.h.
#pragma once

#include <string>

namespace torchdali {

// Ordered: each one includes those before it.
enum class Isa : int {
  kBaseline = 0,  // x86-64 as it was in 2003 (SSE2), or whatever another architecture starts with
  kAvx2 = 1,      // AVX2, FMA, BMI1, BMI2: Haswell, Zen
  kAvx512 = 2,    // AVX-512 F, BW, DQ, VL: Skylake-SP, Zen 4
};
inline constexpr int kNumIsas = 3;

// "baseline", "avx2", "avx512".
const char* isa_name(Isa isa);

// The instruction set called `name`. Raises a value error that lists the known names.
Isa parse_isa(const std::string& name);

// The best instruction set that this processor and operating system run. Any thread.
Isa machine_isa();

// What kernels use: TORCHDALI_ISA where it is set and not empty (read once, at the first call;
// never more than the machine has), otherwise machine_isa(). Raises a value error when the variable
// holds an unknown name; the Python module calls this while loading, so that the error comes early.
// Any thread; costs one relaxed load.
Isa active_isa();

// For tests that compare instruction sets in one process; capped at machine_isa().
// Returns what is in force from now on. Not while kernels run.
Isa set_active_isa(Isa isa);

}  // namespace torchdali
