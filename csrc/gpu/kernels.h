// SPDX-License-Identifier: Apache-2.0
// All that the engine and the GPU library know of each other: tasks, one a sample (or a frame), and
// the table of kernels. No torch, no CUDA header. docs/design/gpu.md.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/arithmetic.h"
#include "kernels/border.h"
#include "kernels/reduce.h"
#include "kernels/warp.h"

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

// How many elements of so many bytes are copied at once: 16 bytes or less.
constexpr int copy_run(int itemsize) {
  return itemsize == 3 ? 4 : itemsize > 8 ? 1 : 16 / itemsize;
}

// out[i...] = in[i...], with distances of any sign between elements, in bytes. An element outside
// [low, high) along an axis is `fill` instead, where there is a window at all. `size`
// counts runs of elements along the last axis.
struct CopyTask : TaskBase {
  int ndim = 0;
  int itemsize = 1;  // up to 16
  int64_t runs = 1;  // of a row: elements in turn, copy_run() of them but in the last
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
  // Interleaved uint8 RGB to planes of float32, all inside: the usual image. `size` counts runs of
  // up to 4 pixels of a row then.
  bool planes = false;
  BlobOffset mean = 0, scale = 0;  // float[channels of the input]
};

// One axis of a resampling: kernels::AxisTable in the blob.
struct ResampleAxisTable {
  int64_t out = 1;
  int taps = 1;
  BlobOffset start = 0, weights = 0;  // int32[out], float[out, taps]
  int64_t in_stride = 0;              // in elements
};
// Sums over what the three tables (D, H, W) name. The output is dense; `size` counts
// runs of up to kResampleRun pixels of a row.
inline constexpr int kResampleRun = 4;
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

// One operand of a step of an expression: an input, a constant, or a step's result.
struct ArithmeticSource {
  enum class Kind : uint8_t { kInput, kConstant, kResult };
  Kind kind = Kind::kInput;
  uint8_t index = 0;
  DType dtype = DType::kNone;
};
// Results are kept in so many places, of 64 bits, which steps take turns in.
inline constexpr int kMaxArithmeticResults = 64;
inline constexpr int kMaxArithmeticSources = 256;  // inputs and constants
// Convert operand i to `operands[i]`, compute, and convert to `result`.
struct ArithmeticInstruction {
  kernels::ArithmeticOp op = {};
  bool mixed_signs = false;
  DType result = DType::kNone;
  DType operands[3] = {DType::kNone, DType::kNone, DType::kNone};
  uint8_t num_operands = 0;
  uint8_t to = 0;  // where the result is kept
  ArithmeticSource sources[3] = {};
};
struct ArithmeticInput {
  const void* data = nullptr;
  int64_t stride[kMaxAxes] = {};  // in elements; 0 where it repeats
};
// An expression: the last instruction's result goes to the dense output.
struct ArithmeticTask : TaskBase {
  int ndim = 0;
  int num_instructions = 0;
  int64_t extent[kMaxAxes] = {};
  BlobOffset instructions = 0, inputs = 0;
  BlobOffset constants = 0;  // uint64: the bytes
};

// A symmetric window along one axis, borders reflected: kernels/convolve.h, one axis at a time.
struct ConvolveTask : ConvertTask {
  const float* sum = nullptr;      // what the result is added to, where there is something
  int64_t extent = 1, stride = 1;  // of the axis; elements from one position to the next
  int64_t radius = 0;
  BlobOffset weights = 0;  // float[radius + 1], by distance
};

// Any filter; kernels/correlate.h. Samples [outer, D, H, W, channels]; the output is dense.
struct CorrelateTap {
  int64_t at[3] = {};  // from the position in the output, D, H, W
  float weight = 0;
};
struct CorrelateTask : ConvertTask {
  int64_t in_extents[3] = {}, out_extents[3] = {}, channels = 1;
  int64_t num_taps = 0;  // at least one
  BlobOffset taps = 0;   // CorrelateTap
  kernels::Border border = kernels::Border::kReflect101;
  float fill = 0;
};

// Where in the source the pixels of a result come from.
enum class WarpMap : uint8_t { kAffine, kPerspective, kLists, kWaves, kSphere, kJitter };
// kernels/warp.h; `size` counts pixels. Extents are D, H, W.
struct WarpTask : ConvertTask {
  WarpMap map = WarpMap::kAffine;
  kernels::WarpFilter filter = kernels::WarpFilter::kLinear;
  kernels::Border border = kernels::Border::kClamp;
  bool volume = false, fixed_point = false, empty = false;
  int64_t in_extents[3] = {}, out_extents[3] = {}, channels = 1;
  // Outside: float[num_fills] before conversion, uint64[channels] the bytes of the result.
  BlobOffset fills = 0, fill_bytes = 0;
  int64_t num_fills = 1;
  float matrix[12] = {};      // kAffine: rows; kPerspective: its first column
  double columns[6] = {};     // kPerspective: the others, row by row
  const void* lists[2] = {};  // kLists: x and y of each pixel, to which `shift` is added
  DType list_dtypes[2] = {DType::kFloat, DType::kFloat};
  float shift = 0;
  BlobOffset waves[2] = {};       // kWaves: float[H] is added to x, float[W] to y
  uint64_t seed = 0, sample = 0;  // kJitter
  int64_t degree = 0;
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
  KernelFn<ArithmeticTask> arithmetic = nullptr;
  KernelFn<ConvolveTask> convolve = nullptr;
  KernelFn<CorrelateTask> correlate = nullptr;
  KernelFn<WarpTask> warp = nullptr;
  const char* (*error_text)(int error) = nullptr;
};

const GpuKernels& emulated_kernels();

}  // namespace torchdali::gpu
