// SPDX-License-Identifier: Apache-2.0
// Compiles the including file once per instruction set (core/cpu_features.h), with no compiler flag
// and no file list: the file includes itself again through this header, between target pragmas.
//
// How to write such a file, kernels/NAME_cpu.cpp:
//
//   #include "kernels/NAME.h"           // 1. every header that the code needs, std ones too: what
//   #include <cmath>                    //    is first seen between the pragmas would be compiled
//                                       //    for one instruction set and linked for all of them
//   #define TORCHDALI_ISA_FILE "kernels/NAME_cpu.cpp"     // 2. this file, as -Icsrc finds it
//   #include "kernels/foreach_isa.h"
//
//   namespace torchdali::kernels {
//   namespace TORCHDALI_ISA_NAMESPACE { // 3. compiled once per instruction set: plain loops
//   void scale(float* x, int n, float by) { for (int i = 0; i < n; ++i) x[i] *= by; }
//   }
//   #if TORCHDALI_ISA_LAST              // 4. compiled once, after all the others: the entry point
//   void scale(float* x, int n, float by) {
//     TORCHDALI_ISA_PICK(scale)(x, n, by);
//   }
//   #endif
//   }  // namespace torchdali::kernels
//
// TORCHDALI_ISA_PICK(f) is the f of active_isa(): a load and an indirect call, so call it per
// sample or per row, not per pixel. TORCHDALI_ISA_LEVEL is 0, 1, 2 (Isa's numbers) in step 3, for
// the rare `#if` around intrinsics (include <immintrin.h> in step 1). Results should not depend on
// the instruction set: the build has -ffp-contract=off, so a multiplication and an addition are
// fused only where the code says std::fma (slow in the baseline, which has no such instruction).
//
// No include guard: the header is read once per file and again in each pass.

#ifndef TORCHDALI_ISA_FILE
#error "define TORCHDALI_ISA_FILE to the including file before including kernels/foreach_isa.h"
#endif

#ifndef TORCHDALI_ISA_PASSES
// First reading: run the passes of the wider instruction sets, then continue with the file itself
// as the baseline.
#include "core/cpu_features.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
// Intrinsics must be declared outside the target pragmas. GCC 12 warns about deliberately undefined
// registers in its own headers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#define TORCHDALI_ISA_PASSES 3
#else
#define TORCHDALI_ISA_PASSES 1
#endif

#define TORCHDALI_ISA_LAST 0

#if TORCHDALI_ISA_PASSES > 1
#define TORCHDALI_ISA_LEVEL 1
#define TORCHDALI_ISA_NAMESPACE isa_avx2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2"))), apply_to = function)
#include TORCHDALI_ISA_FILE  // NOLINT(bugprone-suspicious-include)
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2")
#include TORCHDALI_ISA_FILE  // NOLINT(bugprone-suspicious-include)
#pragma GCC pop_options
#endif
#undef TORCHDALI_ISA_LEVEL
#undef TORCHDALI_ISA_NAMESPACE

#define TORCHDALI_ISA_LEVEL 2
#define TORCHDALI_ISA_NAMESPACE isa_avx512
#ifdef __clang__
#pragma clang attribute push(                                                        \
    __attribute__((target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"))), \
    apply_to = function)
#include TORCHDALI_ISA_FILE  // NOLINT(bugprone-suspicious-include)
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#include TORCHDALI_ISA_FILE  // NOLINT(bugprone-suspicious-include)
#pragma GCC pop_options
#endif
#undef TORCHDALI_ISA_LEVEL
#undef TORCHDALI_ISA_NAMESPACE
#endif  // TORCHDALI_ISA_PASSES > 1

#undef TORCHDALI_ISA_LAST
#define TORCHDALI_ISA_LAST 1
#define TORCHDALI_ISA_LEVEL 0
#define TORCHDALI_ISA_NAMESPACE isa_baseline

#if TORCHDALI_ISA_PASSES > 1
#define TORCHDALI_ISA_PICK(...)                                                      \
  (::torchdali::active_isa() == ::torchdali::Isa::kAvx512 ? &isa_avx512::__VA_ARGS__ \
   : ::torchdali::active_isa() == ::torchdali::Isa::kAvx2 ? &isa_avx2::__VA_ARGS__   \
                                                          : &isa_baseline::__VA_ARGS__)
#else
#define TORCHDALI_ISA_PICK(...) (&isa_baseline::__VA_ARGS__)
#endif

#endif  // TORCHDALI_ISA_PASSES
