// SPDX-License-Identifier: Apache-2.0
// The pairs of convert.h that are compiled once per instruction set: float with every type.
#pragma once

#include "kernels/convert.h"

namespace torchdali::kernels {

ConvertFn converter_to_float(DType from);
ConvertFn converter_from_float(DType to);

}  // namespace torchdali::kernels
