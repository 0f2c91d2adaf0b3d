// SPDX-License-Identifier: Apache-2.0
// nanobind's library, as a part of this extension.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-strict-aliasing")  // as in nanobind's own build
#endif
#include <nb_combined.cpp>  // NOLINT(bugprone-suspicious-include)
