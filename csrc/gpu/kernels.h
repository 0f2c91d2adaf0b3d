// SPDX-License-Identifier: Apache-2.0
// All that the engine and the GPU library know of each other: tasks, one a sample (or a frame), and
// the table of kernels. No torch, no CUDA header. docs/design/gpu.md.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/arithmetic.h"
#include "kernels/border.h"
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

// Three interleaved channels; as kernels/colour_matrix.h. `size` counts pixels.
struct ColourTask : ConvertTask {
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
  KernelFn<ArithmeticTask> arithmetic = nullptr;
  KernelFn<ConvolveTask> convolve = nullptr;
  KernelFn<CorrelateTask> correlate = nullptr;
  KernelFn<WarpTask> warp = nullptr;
  const char* (*error_text)(int error) = nullptr;
};

const GpuKernels& emulated_kernels();

}  // namespace torchdali::gpu
