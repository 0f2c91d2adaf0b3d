// SPDX-License-Identifier: Apache-2.0
// The task of several operators over one image that run as one kernel: docs/design/fusion.md.
#pragma once

#include "kernels/resample/resample_task.h"

namespace torchdali::gpu {

// A pixelwise operator of a chain: what the task of its own kernel would hold.
struct PixelStep {
  enum class Kind : uint8_t { kConvert, kLinear, kColor, kLookup };
  Kind kind = Kind::kConvert;
  DType dtype = DType::kNone;             // of the result
  int channels = 0;                       // of the result
  float m[3][3] = {{1}}, offset[3] = {};  // kColor; kLinear uses the first of each
  int64_t entries = 0;                    // kLookup: as in LookupTask
  BlobOffset table = 0;
};

// Pixels are resampled or loaded (with strides of any sign, in elements), then changed by the
// steps, then possibly normalized. Tables and `size` are those of a resampling. Without one, only
// the extents and strides of axes[1] and axes[2] are set. `out_dtype` is the type after resampling.
struct ChainTask : ResampleTask {
  bool resampled = false, normalized = false;
  int num_steps = 0;
  BlobOffset steps = 0;  // PixelStep
  float shift = 0;       // as in NormalizeTask
  BlobOffset mean = 0, scale = 0;
  DType final_dtype = DType::kNone;
  int64_t row_stride = 0, column_stride = 0, channel_stride = 0;  // of the output, in elements
};

}  // namespace torchdali::gpu
