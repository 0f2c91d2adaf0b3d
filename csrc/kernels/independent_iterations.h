// SPDX-License-Identifier: Apache-2.0
// TORCHDALI_INDEPENDENT_ITERATIONS before a loop: its arrays may be the same, but do not overlap
// otherwise, so the compiler may vectorize without a check.
#pragma once

#ifdef __clang__
#define TORCHDALI_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define TORCHDALI_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif
