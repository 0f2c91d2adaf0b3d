// SPDX-License-Identifier: Apache-2.0
// Border handling: which element is read at an index before the beginning or after the end of an
// axis.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

enum class Border : int8_t {
  kConstant,     // a fill value
  kClamp,        // aaa|abcd|ddd
  kReflect1001,  // cba|abcd|dcb
  kReflect101,   // dcb|abcd|cba
  kWrap,         // bcd|abcd|abc
};

// The index in [0, extent) that is read at index `i`; -1 outside with kConstant. extent > 0.
constexpr int64_t border_index(int64_t i, int64_t extent, Border border) {
  if (i >= 0 && i < extent) return i;
  switch (border) {
    case Border::kConstant: return -1;
    case Border::kClamp: return i < 0 ? 0 : extent - 1;
    case Border::kWrap: i %= extent; return i < 0 ? i + extent : i;
    case Border::kReflect1001: {
      i %= 2 * extent;
      if (i < 0) i += 2 * extent;
      return i < extent ? i : 2 * extent - 1 - i;
    }
    case Border::kReflect101: {
      if (extent == 1) return 0;
      const int64_t period = 2 * extent - 2;
      i %= period;
      if (i < 0) i += period;
      return i < extent ? i : period - i;
    }
  }
  return -1;
}

}  // namespace torchdali::kernels
