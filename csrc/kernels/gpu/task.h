// SPDX-License-Identifier: Apache-2.0
// Tasks: plain structs in which the host describes the work on one sample (or one frame of it) for
// a kernel. Tasks are uploaded as they are, so they hold no pointer to host memory.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace torchdali::gpu {

// Most axes that a task can describe, after adjacent axes have been merged.
inline constexpr int kMaxAxes = 8;

// What every task begins with. Where a pointer is a placeholder (gpu/placeholder.h), it is replaced
// before the tasks are uploaded.
struct TaskBase {
  const void* in = nullptr;
  void* out = nullptr;
  int64_t size = 0;  // number of elements that the kernel is run for
};
struct TypedTask : TaskBase {
  DType in_dtype = DType::kNone, out_dtype = DType::kNone;
};

// Position in the blob, which is uploaded with the tasks: lists of any length, 16-byte aligned.
using BlobOffset = int64_t;

}  // namespace torchdali::gpu
