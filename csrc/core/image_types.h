// SPDX-License-Identifier: Apache-2.0
// Enumerations of DALI that arguments of operators take; the numbers are DALI's, and
// torchdali/types.py has the same.
#pragma once

#include <cstdint>

namespace torchdali {

enum class ImageType : int8_t { kRGB, kBGR, kGray, kYCbCr, kAnyData };
enum class InterpType : int8_t { kNN, kLinear, kCubic, kLanczos3, kTriangular, kGaussian };

}  // namespace torchdali
