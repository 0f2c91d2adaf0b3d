// SPDX-License-Identifier: Apache-2.0
// All that the engine and the GPU library know of each other: tasks, one a sample (or a frame), and
// the table of kernels. No torch, no CUDA header. docs/design/gpu.md.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/border.h"
#include "kernels/color/clahe.h"
#include "kernels/math/arithmetic.h"
#include "kernels/math/reduce.h"
#include "kernels/warp/warp.h"

namespace torchdali::gpu {

// Axes of a task; axes that can be walked over as one are one.
inline constexpr int kMaxAxes = 8;

// What every task begins with. Until a batch is complete, `out` is a placeholder
// (gpu/placeholder.h).
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

// Three interleaved channels; as kernels/color/color_matrix.h. `size` counts pixels. One channel of
// the input stands for all three, and of the output for the first.
struct ColorTask : ConvertTask {
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

// The same with (x - mean) * scale + shift; kernels/window/normalize_box.h.
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

// How bytes become bytes by positive weights: kernels/resample/strips_gpu.h. Weights of columns are
// whole numbers that add up to kStripOne, two in 32 bits, those of rows float / kStripOne. Rows are
// in the order of the source: rows `first_row`, `first_row + row_step` ... of the result.
inline constexpr int kStripOne = 1 << 15;
inline constexpr int kStripWords = 2;  // of a row of the result that a thread makes
struct ResampleStrips {
  int64_t count = 0;  // of strips; 0: not done so
  int64_t lanes = 0;  // threads of a strip: whole warps, of which those behind `columns` are idle
  int64_t columns = 0;
  int64_t words = 0;  // of a row; where it is not 0 a column is kStripWords of them, else a pixel
  int taps = 2;       // of a column; even
  bool spreads = false;  // steps are SpreadRow, of the rows of the source, instead of GatherRow
  int first_row = 0, row_step = 1;
  int first_source = 0;                // the row of the first step
  BlobOffset starts = 0, weights = 0;  // int32[columns], bytes; uint32[columns, taps / 2]
                                       // or StripWord[words] and none
  BlobOffset rows = 0, steps = 0;      // StripRows[count]; steps
};
struct alignas(16) StripWord {
  int32_t at = 0;              // the first of eight bytes of the source's row
  uint32_t selectors[2] = {};  // which two of them each byte is made of
  uint32_t weights[4] = {};
  uint32_t unused = 0;
};
struct alignas(16) StripRows {
  int32_t begin = 0, end = 0;  // steps
  // Of those that spread: the row of the result that the first step ends, and the strip's first.
  int32_t made = 0, wanted = 0;
};
struct alignas(16) SpreadRow {
  float weights[2] = {};  // in the row of the result that is being made, and the one behind
  int32_t ends = 0;       // whether the former is complete
  int32_t unused = 0;
};
// The two rows of the source that it is made of, one of even and one of odd number: thus neither
// moves when the next takes the other's place.
struct alignas(16) GatherRow {
  int32_t even = 0, odd = 0;
  float weights[2] = {};
};

struct ResampleTask : ConvertTask {
  ResampleAxisTable axes[3];
  int64_t channels = 1, outer_stride = 0;  // of the input, in elements
  ResampleStrips strips;                   // where it has some, `size` counts their threads
};

// The input with boxes filled. kernels/window/window.h's fill, all boxes at once.
struct EraseTask : TaskBase {
  int ndim = 0;
  int itemsize = 1;
  int channel_axis = -1;  // -1: one value serves all
  int64_t extent[kMaxAxes] = {};
  int64_t boxes = 0;
  BlobOffset bounds = 0;  // int64[boxes, ndim, 2]: first index and the one behind the last
  BlobOffset fill = 0;    // uint64[channels]: the bytes of an element
};

// The input, [planes, height, width, pixel] elements, with what kernels/window/grid_mask.h masks as
// zeros.
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

// kernels/math/standardize.h: (x - mean) * scale + shift, with lists that are broadcast along axes.
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
// [parts, size] accumulators. kernels/math/reduce_finish.h.
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

// A symmetric window along one axis, borders reflected: kernels/filter/convolve.h, one axis at a
// time.
struct ConvolveTask : ConvertTask {
  const float* sum = nullptr;      // what the result is added to, where there is something
  int64_t extent = 1, stride = 1;  // of the axis; elements from one position to the next
  int64_t radius = 0;
  BlobOffset weights = 0;  // float[radius + 1], by distance
};

// Any filter; kernels/filter/correlate.h. Samples [outer, D, H, W, channels]; the output is dense.
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
// kernels/warp/warp.h; `size` counts pixels. Extents are D, H, W.
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

// Blocks of a JPEG whose coefficients are packed as kernels/jpeg/jpeg_entropy.h says, to samples.
// `in` is the packing; offsets in it are bytes. `size` counts blocks, in the order of the file.
//
// The files are anybody's, the packing is not: whatever the file, io/jpeg_decoder/packer.cpp makes
// exactly mcus_across * mcus_down MCUs of blocks_per_mcu blocks, each with 1 to kJpegMaxUnits
// units, one block's behind the other's, unit_count in all. So kernels do not look at numbers of
// the packing before they use them as an index; places need no check, 6 bits cannot leave a block.
// Emulation and the fuzzer do look (TORCHDALI_GRID_CHECK).
struct JpegBlocksTask : TaskBase {
  int64_t bases = 0, starts = 0, units = 0, unit_count = 0;
  int mcus_across = 1, mcus_down = 1, blocks_per_mcu = 1;
  // Where in an MCU a block belongs: which component, and which of its blocks.
  struct Place {
    uint8_t component = 0, x = 0, y = 0;
  };
  Place places[10] = {};
  int h[3] = {1, 1, 1}, v[3] = {1, 1, 1};  // blocks of the components in an MCU
  uint8_t* samples[3] = {};                // of all these MCUs, rows without gaps
  BlobOffset quant[3] = {};                // int16[64]
};
// The samples to pixels: upsampling, colors, the region, orientation. `size` counts runs of up to
// kJpegRun pixels of a row of the output, which is uint8 [height, width, channels].
inline constexpr int kJpegRun = 4;
struct JpegSamples {
  const uint8_t* samples = nullptr;
  int64_t stride = 0, rows = 0;  // bytes of a row; all that pixels of the region look at is there
  int x = 0, y = 0;              // the sample in the picture that is the first here
  int width = 0, height = 0;     // samples in the picture
  int across = 1, down = 1;      // kernels::JpegUpsampling
  bool smooth = false;
};
struct JpegPixelsTask : TaskBase {
  int64_t width = 0;  // of the output
  int channels = 3, components = 3;
  bool rgb = false, bgr = false;
  // The region in the picture, whose axes change places and are reversed on the way to the output.
  int x = 0, y = 0, region_width = 0, region_height = 0;
  bool transpose = false, flip_rows = false, flip_columns = false;
  JpegSamples component[3] = {};
};

// Adds to uint32[copies, channels, 256] how often each byte occurs in each channel of the input,
// [size, channels]. Threads take turns in the copies, so that fewer of them wait for each other.
struct CountBytesTask : TaskBase {
  int64_t channels = 1, copies = 1;
};
// uint8[channels, 256] from such counts: what values become where histograms are equalised.
struct EqualizeTask : TaskBase {
  int64_t channels = 1, copies = 1;
  int64_t pixels = 0;
};
// out[i] = tables[i % channels][in[i]], of bytes.
struct ByteTableTask : TaskBase {
  const uint8_t* tables = nullptr;
  int64_t channels = 1;
};

// add + factor * x for each coordinate of points; float32.
struct FlipPointsTask : TaskBase {
  int components = 1;
  float factor[3] = {}, add[3] = {};
};
// kernels/boxes/flip_boxes.h; float32. `size` counts boxes.
struct FlipBoxesTask : TaskBase {
  bool ltrb = false;
  bool flips[2] = {};  // x and y
};
// kernels/boxes/linear_points.h. `size` counts components of the output.
struct TransformPointsTask : ConvertTask {
  int64_t rows = 1, columns = 1;
  BlobOffset matrix = 0, offset = 0;  // float[rows, columns], float[rows]
};

// Regions of images on a black canvas, [height, width, channels]; later ones lie over earlier ones.
struct PastedRegion {
  const void* image = nullptr;                       // of the region's first element
  int64_t row = 0;                                   // elements from row to row of the image
  int64_t top = 0, left = 0, height = 0, width = 0;  // on the canvas
};
struct PasteTask : ConvertTask {
  int64_t width = 1, channels = 1;
  int64_t regions = 0;
  BlobOffset list = 0;  // PastedRegion
};

// What elements become by random words, in the order of kernels/noise/random_block.h. `size` counts
// draws of four words.
struct NoiseTask : TaskBase {
  DType dtype = DType::kNone;
  int64_t count = 0;  // elements or pixels
  uint64_t seed = 0, sample = 0;
};
struct GaussianNoiseTask : NoiseTask {
  float mean = 0, stddev = 0;
};
// Pixels are [count / inner, channels, inner] elements.
struct SaltAndPepperTask : NoiseTask {
  int64_t channels = 1, inner = 1;
  float salt_below = 0, either_below = 0;  // of a draw
  uint64_t salt = 0, pepper = 0;           // the bytes of an element
};
struct ShotNoiseTask : NoiseTask {
  float factor = 1;
  bool by_tables = false;  // kernels::ByteDraws in the blob
  BlobOffset rows = 0, ends = 0, results = 0;
};

// Boxes and anchors, one step after the other: kernels/boxes/box_match.h. Both are float[..., 4].
enum class BoxStep : uint8_t {
  kScan,   // BoxCandidate[boxes, parts]: the anchor among every `parts`-th that a box overlaps most
  kTake,   // int32[boxes]: the best of them
  kMatch,  // int32[anchors]: the box of each anchor, or -1
  kBoxes,  // float[anchors, 4]
  kLabels  // int32[anchors]
};
struct BoxTask : TaskBase {
  BoxStep step = BoxStep::kScan;
  DType label_dtype = DType::kNone;
  bool offset = false;
  int64_t boxes = 0, anchors = 0, parts = 1;
  const void* taken = nullptr;
  const void* matches = nullptr;
  const void* labels = nullptr;
  BlobOffset anchor_list = 0;
  float criteria = 0, scale = 1;
  float means[4] = {}, stds[4] = {};
};

// kernels/color/clahe.h, one step after the other. `planes` are the channels, or one, the luma of
// three.
enum class ClaheStep : uint8_t {
  kCount,   // adds to uint32[planes, tiles, bins]; `size` counts pixels of tiles
  kTables,  // uint8[planes, tiles, bins] from the counts, which it changes; `size` counts tables
  kApply    // `size` counts pixels
};
struct ClaheTask : TaskBase {
  ClaheStep step = ClaheStep::kCount;
  int channels = 1, planes = 1;
  kernels::ClaheTiles tiles;
  uint32_t* counts = nullptr;
  uint8_t* tables = nullptr;
};

// RGB pixels to what a JPEG of them decodes to, kernels/jpeg/jpeg_distortion.h, but for upsampling
// and colors, which are JpegPixelsTask's.
struct JpegDistortionTask : TaskBase {
  bool blocks = false;  // in place, a thread a block; else the samples of the components
  int64_t height = 0, width = 0;
  // Y, Cb and Cr, in whole blocks.
  struct Plane {
    uint8_t* samples = nullptr;
    int64_t rows = 0, columns = 0;
  };
  Plane planes[3] = {};
  uint8_t quant[2][64] = {};  // of Y, and of both others
};

// A pixelwise operator of a chain: what the task of its own kernel says.
struct PixelStep {
  enum class Kind : uint8_t { kConvert, kLinear, kColor, kLookup };
  Kind kind = Kind::kConvert;
  DType dtype = DType::kNone;             // of the result
  int channels = 0;                       // of the result
  float m[3][3] = {{1}}, offset[3] = {};  // kColor; kLinear has the first of each
  int64_t entries = 0;                    // kLookup: as LookupTask
  BlobOffset table = 0;
};
// Several operators over one image, in one kernel: a resampling or, without one, what is loaded
// (by strides of any sign, in elements); then the steps; then, maybe, normalisation. `size` and
// the tables are those of a resampling; without one, axes[1] and axes[2] have the extents, and
// the strides, alone. `out_dtype` is the resampling's.
struct ChainTask : ResampleTask {
  bool resampled = false, normalized = false;
  int num_steps = 0;
  BlobOffset steps = 0;  // PixelStep
  float shift = 0;       // as NormalizeTask
  BlobOffset mean = 0, scale = 0;
  DType final_dtype = DType::kNone;
  int64_t row_stride = 0, column_stride = 0, channel_stride = 0;  // of the output, in elements
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
  KernelFn<ColorTask> color = nullptr;
  KernelFn<WindowTask> window = nullptr;
  KernelFn<NormalizeTask> normalize = nullptr;
  KernelFn<ResampleTask> resample = nullptr, resample_strips = nullptr;
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
  KernelFn<JpegBlocksTask> jpeg_blocks = nullptr;
  KernelFn<JpegPixelsTask> jpeg_pixels = nullptr;
  KernelFn<CountBytesTask> count_bytes = nullptr;
  KernelFn<EqualizeTask> equalize = nullptr;
  KernelFn<ByteTableTask> byte_table = nullptr;
  KernelFn<FlipPointsTask> flip_points = nullptr;
  KernelFn<FlipBoxesTask> flip_boxes = nullptr;
  KernelFn<TransformPointsTask> transform_points = nullptr;
  KernelFn<PasteTask> paste = nullptr;
  KernelFn<GaussianNoiseTask> gaussian_noise = nullptr;
  KernelFn<SaltAndPepperTask> salt_and_pepper = nullptr;
  KernelFn<ShotNoiseTask> shot_noise = nullptr;
  KernelFn<BoxTask> boxes = nullptr;
  KernelFn<ClaheTask> clahe = nullptr;
  KernelFn<JpegDistortionTask> jpeg_distortion = nullptr;

  KernelFn<ChainTask> chain = nullptr, chain_strips = nullptr;  // those with strips
  const char* (*error_text)(int error) = nullptr;
};

const GpuKernels& emulated_kernels();

}  // namespace torchdali::gpu
