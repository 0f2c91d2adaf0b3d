// SPDX-License-Identifier: Apache-2.0
// Colors or gray from a sensor with a Bayer pattern.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "kernels/debayer/debayer_scalar.h"
#include "kernels/debayer/vng_scalar.h"

namespace torchdali::kernels {

struct DebayerJob {
  DType type = DType::kUInt8;  // or, except with kVng, kUInt16
  DebayerAlgorithm algorithm = DebayerAlgorithm::kBilinear;
  int64_t height = 0, width = 0;  // at least 3
  // Parity of the rows and columns that have blue: those of pixel (1, 1) are odd.
  int64_t blue_y = 1, blue_x = 1;
};

// Temporary memory of debayer(), in bytes.
size_t debayer_scratch(const DebayerJob& job);

// The result has three channels, red, green and blue, or one with kGray. Except with kVng, the
// pixels at the edge are those next to them. kVng needs kVngSmallest rows and columns. `scratch` is
// aligned to 64 bytes.
void debayer(const DebayerJob& job, const void* in, void* out, void* scratch);

// The same for kVng.
size_t debayer_vng_scratch(int64_t width);
void debayer_vng(const DebayerJob& job, const void* in, void* out, void* scratch);

}  // namespace torchdali::kernels
