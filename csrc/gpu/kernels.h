// SPDX-License-Identifier: Apache-2.0
// All that the engine and the GPU library know of each other: tasks, one a sample (or a frame), and
// the table of kernels. No torch, no CUDA header. docs/design/gpu.md.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/reduce.h"

namespace torchdali::gpu {

// Axes of a task; axes that can be walked over as one are one.
inline constexpr int kMaxAxes = 8;

// What every task begins with. Until a batch is complete `out` is a stand-in (see operator.h).
struct TaskBase {
  const void* in = nullptr;
  void* out = nullptr;
  int64_t size = 0;  // how many elements operator()(task, i) is called for
};

// Positions in `blob`, which is uploaded with the tasks: lists of numbers that differ in length.
using BlobOffset = int64_t;

// out[i...] = in[i...], with distances of any sign between elements, in bytes. An element outside
// [low, high) along an axis is `fill` instead, where there is a window at all.
struct CopyTask : TaskBase {
  int ndim = 0;
  int itemsize = 1;
  bool windowed = false;
  int64_t extent[kMaxAxes] = {}, in_stride[kMaxAxes] = {}, out_stride[kMaxAxes] = {};
  int64_t low[kMaxAxes] = {}, high[kMaxAxes] = {};
  uint64_t fill = 0;  // the element's bytes
};

// Conversion as kernels/convert.h has it.
struct ConvertTask : TaskBase {
  DType in_dtype = DType::kNone, out_dtype = DType::kNone;
};

// y = x * factor + offset, converted.
struct LinearTask : ConvertTask {
  float factor = 1, offset = 0;
};

// Three interleaved channels; as kernels/colour_matrix.h. `size` counts pixels. One channel of the
// input stands for all three, and of the output for the first.
struct ColourTask : ConvertTask {
  int in_channels = 3, out_channels = 3;
  float m[3][3] = {};
  float offset[3] = {};
};

// A dense output whose axes are windows of the input's, in any order: index i of an axis is inside
// the input where it is in [low, high). Elsewhere stands a value for each index of the channel
// axis. Converted as fn.crop does: to uint8 by cutting off, to float16 by saturating.
struct WindowTask : ConvertTask {
  int ndim = 0;
  int channel_axis = -1;                                    // -1: one value serves all
  int64_t extent[kMaxAxes] = {}, in_stride[kMaxAxes] = {};  // in elements
  int64_t low[kMaxAxes] = {}, high[kMaxAxes] = {};
  BlobOffset fill = 0;  // uint64[channels]: the bytes of an element of the output
};

// The same with (x - mean) * scale + shift; kernels/normalize_box.h.
struct NormalizeTask : WindowTask {
  float shift = 0;
  BlobOffset mean = 0, scale = 0;  // float[channels of the input]
};

// One axis of a resampling: kernels::AxisTable in the blob.
struct ResampleAxisTable {
  int64_t out = 1;
  int taps = 1;
  BlobOffset start = 0, weights = 0;  // int32[out], float[out, taps]
  int64_t in_stride = 0;              // in elements
};
// Sums over what the three tables (D, H, W) name. The output is dense; `size` counts its pixels.
struct ResampleTask : ConvertTask {
  ResampleAxisTable axes[3];
  int64_t channels = 1, outer_stride = 0;  // of the input, in elements
};

// The input with boxes filled. kernels/window.h's fill, all boxes at once.
struct EraseTask : TaskBase {
  int ndim = 0;
  int itemsize = 1;
  int channel_axis = -1;  // -1: one value serves all
  int64_t extent[kMaxAxes] = {};
  int64_t boxes = 0;
  BlobOffset bounds = 0;  // int64[boxes, ndim, 2]: first index and the one behind the last
  BlobOffset fill = 0;    // uint64[channels]: the bytes of an element
};

// The input, [planes, height, width, pixel] elements, with what kernels/grid_mask.h masks as zeros.
struct GridMaskTask : TaskBase {
  int itemsize = 1;
  int64_t height = 1, width = 1, pixel = 1;
  float left = 0, top = 0, cosine = 1, sine = 0, ratio = 0;
};

// The output is [outer, classes, inner]: the bytes `on` where the input, [outer, inner], is the
// class, else `off`.
struct OneHotTask : ConvertTask {
  int64_t classes = 0, inner = 1;
  uint64_t on = 0, off = 0;
};

// The entry of the table that an element numbers, or its last where there is none.
struct LookupTask : ConvertTask {
  int64_t entries = 0;   // but the last
  BlobOffset table = 0;  // [entries + 1] of the output's type
};

// Bytes that the host knows.
struct BytesTask : TaskBase {
  BlobOffset bytes = 0;
};

// kernels/standardize.h: (x - mean) * scale + shift, with lists that are broadcast along axes.
struct StandardizeTask : ConvertTask {
  int ndim = 0;
  int64_t extent[kMaxAxes] = {}, step[kMaxAxes] = {};  // in the lists; 0 along broadcast axes
  // Device memory; where it is null, float[...] in the blob.
  const void *mean = nullptr, *scale = nullptr;
  DType mean_dtype = DType::kFloat;
  BlobOffset mean_list = 0, scale_list = 0;
  float shift = 0;
};

// Thread (result, part) reduces every `parts`-th value of a result and leaves the accumulator, of 8
// bytes, in out[part * results + result]. Strides in elements, innermost axis last.
struct ReduceTask : TaskBase {
  kernels::Reduction reduction = kernels::Reduction::kSum;
  DType in_dtype = DType::kNone;
  int num_kept = 0, num_reduced = 0;
  int64_t kept_extent[kMaxAxes] = {}, kept_stride[kMaxAxes] = {};  // without `inner`
  int64_t reduced_extent[kMaxAxes] = {}, reduced_stride[kMaxAxes] = {};
  int64_t inner = 1;  // results that lie next to each other, along the last axis
  int64_t count = 0;  // values of a result
  int64_t parts = 1, results = 0;
  // Of kSumOfSquaredDeviations; where it is null, float[...] in the blob.
  const void* mean = nullptr;
  BlobOffset mean_list = 0;
  DType mean_dtype = DType::kFloat;
  int64_t mean_step = 0;  // from result to result
};
// The parts of a result put together, in their order, and what becomes of it; `in` is
// [parts, size] accumulators. kernels/reduce_finish.h.
enum class ReduceResult : int8_t { kElement, kSum, kMean, kRoot, kVariance, kDeviation, kFactor };
struct FoldTask : TaskBase {
  kernels::Reduction reduction = kernels::Reduction::kSum;
  ReduceResult result = ReduceResult::kSum;
  DType accumulator = DType::kNone, out_dtype = DType::kNone;
  int64_t parts = 0;
  int64_t values = 0;  // that went into a result
  int ddof = 0;
  float epsilon = 0, scale = 1;  // of kFactor
};

// Queued on `stream`; `tasks` and `blob` are device memory. Returns 0, or an error number.
template <class Task>
using KernelFn = int (*)(const Task* tasks, int count, int64_t most, const void* blob,
                         void* stream);

struct GpuKernels {
  int64_t table_bytes = sizeof(GpuKernels);  // the library and the engine are of one build
  KernelFn<CopyTask> copy = nullptr;
  KernelFn<ConvertTask> convert = nullptr;
  KernelFn<LinearTask> linear = nullptr;
  KernelFn<ColourTask> colour = nullptr;
  KernelFn<WindowTask> window = nullptr;
  KernelFn<NormalizeTask> normalize = nullptr;
  KernelFn<ResampleTask> resample = nullptr;
  KernelFn<EraseTask> erase = nullptr;
  KernelFn<GridMaskTask> grid_mask = nullptr;
  KernelFn<OneHotTask> one_hot = nullptr;
  KernelFn<LookupTask> lookup = nullptr;
  KernelFn<BytesTask> bytes = nullptr;
  KernelFn<StandardizeTask> standardize = nullptr;
  KernelFn<ReduceTask> reduce = nullptr;
  KernelFn<FoldTask> fold = nullptr;
  const char* (*error_text)(int error) = nullptr;
};

const GpuKernels& emulated_kernels();

}  // namespace torchdali::gpu
