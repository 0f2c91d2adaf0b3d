// SPDX-License-Identifier: Apache-2.0
// The loops of arithmetic.h that compilers vectorize, compiled once per instruction set.
#pragma once

#include "kernels/math/arithmetic.h"

namespace torchdali::kernels {

// Empty for the operations of arithmetic.cpp.
ArithmeticKernel vectorised_kernel(ArithmeticOp op, DType type);
ArithmeticConvertFn vectorised_converter(DType to, DType from);

}  // namespace torchdali::kernels
