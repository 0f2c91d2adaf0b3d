// SPDX-License-Identifier: Apache-2.0
// Drives the row loops over a sample: which pass comes first, which rows are kept, what can be
// copied. Knows no instruction set.
#include "kernels/resample/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/error.h"
#include "kernels/resample/resample_rows.h"
#include "kernels/resample/resample_table.h"

namespace torchdali::kernels {
namespace {

constexpr int kMaxFixedChannels = 4;
enum Axis { kD, kH, kW };

struct Strides {
  int64_t outer, slice, row;
};
Strides strides_of(const ResampleJob& job, bool in) {
  const auto extent = [&](Axis a) { return in ? job.axes[a].in : job.axes[a].out; };
  Strides s = in ? Strides{job.in_outer_stride, job.in_slice_stride, job.in_row_stride}
                 : Strides{job.out_outer_stride, job.out_slice_stride, job.out_row_stride};
  if (s.row == 0) s.row = extent(kW) * job.channels;
  if (s.slice == 0) s.slice = extent(kH) * s.row;
  if (s.outer == 0) s.outer = extent(kD) * s.slice;
  return s;
}

// Whether every filter copies: same extent, whole region. (The Gaussian blurs even then.)
bool keeps(const ResampleAxis& axis) {
  return axis.in == axis.out && (axis.full == 0 || axis.full == axis.out) && axis.begin == 0 &&
         !axis.mirror && axis.low == 0 && axis.high == static_cast<float>(axis.in) &&
         axis.mag_filter != ResampleFilter::kGaussian;
}
// Whether they would if the whole result was wanted: what is wanted is copied, though not all of it
// or in another order.
bool picks(const ResampleAxis& axis) {
  ResampleAxis whole = axis;
  whole.out = full_extent(axis);
  whole.full = whole.begin = 0;
  whole.mirror = false;
  return keeps(whole);
}
bool all_nearest(const ResampleJob& job) {
  return std::all_of(job.axes.begin(), job.axes.end(), [](const ResampleAxis& axis) {
    return axis_filter(axis) == ResampleFilter::kNearest || keeps(axis);
  });
}

// --- Nearest neighbour: pixels are copied -----------------------------------------------------

template <int kBytes>
void gather_pixels(const std::byte* row, const int32_t* start, int64_t n, int64_t bytes,
                   std::byte* out) {
  const size_t size = static_cast<size_t>(kBytes ? kBytes : bytes);
  for (int64_t x = 0; x < n; ++x, out += size)
    std::memcpy(out, row + static_cast<int64_t>(size) * start[x], size);
}

void gather_row(const std::byte* row, const AxisTable& t, int64_t bytes, std::byte* out) {
  if (t.identity)
    return void(std::memcpy(out, row + t.source.begin * bytes, static_cast<size_t>(t.out * bytes)));
  switch (bytes) {
    case 1: return gather_pixels<1>(row, t.start, t.out, bytes, out);
    case 2: return gather_pixels<2>(row, t.start, t.out, bytes, out);
    case 3: return gather_pixels<3>(row, t.start, t.out, bytes, out);
    case 4: return gather_pixels<4>(row, t.start, t.out, bytes, out);
    case 6: return gather_pixels<6>(row, t.start, t.out, bytes, out);
    case 8: return gather_pixels<8>(row, t.start, t.out, bytes, out);
    case 12: return gather_pixels<12>(row, t.start, t.out, bytes, out);
    case 16: return gather_pixels<16>(row, t.start, t.out, bytes, out);
    default: return gather_pixels<0>(row, t.start, t.out, bytes, out);
  }
}

// The pixels of a plane that are picked.
class NearestPlane {
 public:
  NearestPlane(const ResampleJob& job, ScratchArena& arena)
      : h_(build_nearest_table(job.axes[kH], true, arena)),
        w_(build_nearest_table(job.axes[kW], false, arena)),
        pixel_(itemsize(job.in_type) * job.channels) {}
  // Rows [begin, end) of the result; strides in bytes.
  void rows(const std::byte* in, int64_t in_stride, int64_t begin, int64_t end, std::byte* out,
            int64_t out_stride) const {
    for (int64_t h = begin; h < end; ++h, out += out_stride) {
      if (h > begin && h_.start[h] == h_.start[h - 1])
        std::memcpy(out, out - out_stride, static_cast<size_t>(w_.out * pixel_));
      else gather_row(in + h_.start[h] * in_stride, w_, pixel_, out);
    }
  }
  int64_t height() const { return h_.out; }

 private:
  AxisTable h_, w_;
  int64_t pixel_;
};

void run_nearest(const ResampleJob& job, const void* in, void* out, ScratchArena& arena) {
  const AxisTable depth = build_nearest_table(job.axes[kD], true, arena);
  const NearestPlane plane(job, arena);
  if (arena.counting()) return;
  const int64_t size = itemsize(job.in_type);
  const Strides from = strides_of(job, true), to = strides_of(job, false);
  for (int64_t o = 0; o < job.outer; ++o)
    for (int64_t d = 0; d < depth.out; ++d)
      plane.rows(
          static_cast<const std::byte*>(in) + (o * from.outer + depth.start[d] * from.slice) * size,
          from.row * size, 0, plane.height(),
          static_cast<std::byte*>(out) + (o * to.outer + d * to.slice) * size, to.row * size);
}

// --- Filters ----------------------------------------------------------------------------------

// Weights in fixed point: whole numbers that add up to 65536, so that a flat area stays flat; a
// weight of 1 does not fit and becomes 65535. The upper halves of products are taken, which lose
// half a unit each on average, unless the weight leaves no fraction of a pixel; result[0], which
// the sum starts with, gives that back. [1 + taps]
void quantize(const float* weights, int taps, uint16_t* result) {
  constexpr int32_t kOne = 65536, kFraction = 255;
  int32_t sum = 0;
  int largest = 0, inexact = 0;
  for (int k = 0; k < taps; ++k) {
    const int32_t q = static_cast<int32_t>(std::lrint(weights[k] * kOne));
    sum += q;
    result[1 + k] = static_cast<uint16_t>(std::min(q, kOne - 1));
    inexact += (q & kFraction) != 0;
    if (weights[k] > weights[largest]) largest = k;
  }
  uint16_t& corrected = result[1 + largest];
  corrected = static_cast<uint16_t>(std::min(corrected + kOne - sum, kOne - 1));
  result[0] = corrected == kOne - 1 ? 1 : static_cast<uint16_t>(inexact / 2);
}

// Weights of a table as middle elements; numbers in front of the weights of each pixel: kLead<Mid>.
template <class Mid>
constexpr int kLead = std::is_same_v<Mid, float> ? 0 : 1;
template <class Mid>
const Mid* mid_weights(const AxisTable& t, ScratchArena& arena) {
  if constexpr (std::is_same_v<Mid, float>) {
    return t.weights;
  } else {
    const int stride = kLead<Mid> + t.taps;
    Mid* result = arena.take<Mid>(t.out * stride);
    if (!arena.counting())
      for (int64_t i = 0; i < t.out; ++i)
        quantize(t.weights + i * t.taps, t.taps, result + i * stride);
    return result;
  }
}

template <class Mid, class Kernels>
HorizontalTable<Mid> horizontal_table(const Kernels& kernels, const AxisTable& t, int64_t channels,
                                      ScratchArena& arena) {
  constexpr int kMoreOffsets = 4;
  int32_t* offset = arena.take<int32_t>(t.out + kMoreOffsets);
  const Mid* weights = mid_weights<Mid>(t, arena);
  Mid* memory = arena.take<Mid>(kernels.prepared_size(t.out, t.taps, channels));
  if (arena.counting()) return {};
  for (int64_t x = 0; x < t.out; ++x)
    offset[x] = static_cast<int32_t>((t.start[x] - t.source.begin) * channels);
  std::fill(offset + t.out, offset + t.out + kMoreOffsets, 0);
  return kernels.prepare(offset, weights, t.out, t.taps, channels, memory);
}

// Source rows (or slices) that went through the first pass, as many as the second one sees at once.
template <class Mid>
class Ring {
 public:
  Ring(int64_t capacity, int64_t elements, ScratchArena& arena)
      : capacity_(capacity), stride_((elements + kRowPadding + 31) / 32 * 32) {
    rows_ = arena.take<Mid>(capacity_ * stride_);
    held_ = arena.take<int64_t>(capacity_);
  }
  void clear() { std::fill(held_, held_ + capacity_, -1); }
  template <class Make>
  const Mid* get(int64_t source, Make make) {
    Mid* row = rows_ + source % capacity_ * stride_;
    if (int64_t& held = held_[source % capacity_]; held != source) {
      make(row);
      held = source;
    }
    return row;
  }

 private:
  int64_t capacity_, stride_;
  Mid* rows_;
  int64_t* held_;  // source row in each place, -1: none
};

// Two-dimensional resampling; the tables and rows serve every slice and frame of a job.
template <class In, class Mid, class Out>
class PlaneResampler {
 public:
  PlaneResampler(const ResampleJob& job, ScratchArena& arena)
      : channels_(job.channels),
        h_(build_table(job.axes[kH], true, arena)),
        w_(build_table(job.axes[kW], false, arena)),
        weights_(mid_weights<Mid>(h_, arena)),
        table_(horizontal_table<Mid>(horizontal_, w_, channels_, arena)),
        ring_(max_taps(job.axes[kH]), w_.out * channels_, arena) {
    const ResampleRange columns = resample_source_range(job.axes[kW]);
    row_ = arena.take<Mid>((columns.end - columns.begin) * channels_ + kRowPadding);
    buffer_ = arena.take<Mid>(w_.out * channels_ + kRowPadding);
    in_rows_ = arena.take<const In*>(max_taps(job.axes[kH]));
    mid_rows_ = arena.take<const Mid*>(max_taps(job.axes[kH]));
    vertical_first_ = h_.identity || is_vertical_first(job.axes[kH], job.axes[kW]);
  }

  int64_t height() const { return h_.out; }
  // Before the first rows of a plane.
  void begin_plane() { ring_.clear(); }
  // Rows [begin, end) of the result of plane `in`.
  void rows(const In* in, int64_t in_stride, int64_t begin, int64_t end, Out* out,
            int64_t out_stride) {
    in += w_.source.begin * channels_;
    const int64_t in_width = (w_.source.end - w_.source.begin) * channels_;
    const int64_t out_width = w_.out * channels_;
    for (int64_t y = begin; y < end; ++y, out += out_stride) {
      const In* first = in + h_.start[y] * in_stride;
      const Mid* weights = weights_ + y * (kLead<Mid> + h_.taps) + kLead<Mid>;
      const Mid start = kLead<Mid> ? weights[-kLead<Mid>] : Mid(0);
      if (w_.identity) {
        copy_or_blend(first, in_stride, weights, start, out_width, out);
      } else if (vertical_first_) {
        if (h_.identity) kernels_.to_mid(first, in_width, row_);
        else
          kernels_.blend_to_mid(source_rows(first, in_stride), weights, h_.taps, start, in_width,
                                row_);
        horizontal_.finish(row_, table_, channels_, buffer_, out);
      } else {
        for (int k = 0; k < h_.taps; ++k) {
          mid_rows_[k] = ring_.get(h_.start[y] + k, [&](Mid* place) {
            kernels_.to_mid(first + k * in_stride, in_width, row_);
            horizontal_.to_mid(row_, table_, channels_, place);
          });
        }
        kernels_.blend_mid(mid_rows_, weights, h_.taps, start, out_width, buffer_, out);
      }
    }
  }

 private:
  // The pass over fewer elements comes first; the horizontal one costs more for each. Decided for
  // the whole result, so that a window of it is rounded in the same order.
  static bool is_vertical_first(const ResampleAxis& h, const ResampleAxis& w) {
    constexpr double kHorizontalCost = 1.5;
    const double in_h = std::min<double>(whole_source(h), static_cast<double>(h.in));
    const double in_w = std::min<double>(whole_source(w), static_cast<double>(w.in));
    const double out_h = static_cast<double>(full_extent(h));
    const double out_w = static_cast<double>(full_extent(w));
    const double vertical = max_taps(h), horizontal = kHorizontalCost * max_taps(w);
    return out_h * (in_w * vertical + out_w * horizontal) <=
           out_w * (in_h * horizontal + out_h * vertical);
  }
  static double whole_source(const ResampleAxis& axis) {
    return std::abs(static_cast<double>(axis.high) - axis.low);
  }
  const In* const* source_rows(const In* first, int64_t stride) {
    for (int k = 0; k < h_.taps; ++k) in_rows_[k] = first + k * stride;
    return in_rows_;
  }
  void copy_or_blend(const In* first, int64_t stride, const Mid* weights, Mid start, int64_t n,
                     Out* out) {
    if constexpr (std::is_same_v<In, Out>) {
      if (h_.identity) return void(std::memcpy(out, first, static_cast<size_t>(n) * sizeof(Out)));
    }
    kernels_.blend(source_rows(first, stride), weights, h_.taps, start, n, buffer_, out);
  }

  const RowKernels<In, Mid, Out>& kernels_ = row_kernels<In, Mid, Out>();
  const HorizontalKernels<Mid, Out>& horizontal_ = horizontal_kernels<Mid, Out>();
  int64_t channels_;
  AxisTable h_, w_;
  const Mid* weights_;
  HorizontalTable<Mid> table_;
  Ring<Mid> ring_;
  Mid *row_, *buffer_;
  const In** in_rows_;
  const Mid** mid_rows_;
  bool vertical_first_ = true;
};

template <class In, class Mid, class Out>
void run_planes(const ResampleJob& job, const void* in, void* out, ScratchArena& arena) {
  const AxisTable depth = build_table(job.axes[kD], true, arena);
  PlaneResampler<In, Mid, Out> planes(job, arena);
  if (arena.counting()) return;
  const Strides from = strides_of(job, true), to = strides_of(job, false);
  for (int64_t o = 0; o < job.outer; ++o)
    for (int64_t d = 0; d < depth.out; ++d) {
      planes.begin_plane();
      planes.rows(static_cast<const In*>(in) + o * from.outer + depth.start[d] * from.slice,
                  from.row, 0, planes.height(),
                  static_cast<Out*>(out) + o * to.outer + d * to.slice, to.row);
    }
}

// Volumes whose depth changes: every slice that is needed is resampled once, then blended.
template <class In, class Out>
void run_volumes(const ResampleJob& job, const void* in, void* out, ScratchArena& arena) {
  const AxisTable depth = build_table(job.axes[kD], true, arena);
  PlaneResampler<In, float, float> planes(job, arena);
  const int64_t height = job.axes[kH].out, width = job.axes[kW].out * job.channels;
  const int max_depth_taps = max_taps(job.axes[kD]);
  Ring<float> slices(max_depth_taps, height * width, arena);
  const float** rows = arena.take<const float*>(max_depth_taps);
  float* buffer = arena.take<float>(width);
  if (arena.counting()) return;
  const auto& kernels = row_kernels<float, float, Out>();
  const Strides from = strides_of(job, true), to = strides_of(job, false);
  for (int64_t o = 0; o < job.outer; ++o) {
    const In* source = static_cast<const In*>(in) + o * from.outer;
    slices.clear();
    for (int64_t d = 0; d < depth.out; ++d) {
      for (int k = 0; k < depth.taps; ++k) {
        const int64_t slice = depth.start[d] + k;
        rows[k] = slices.get(slice, [&](float* place) {
          planes.begin_plane();
          planes.rows(source + slice * from.slice, from.row, 0, height, place, width);
        });
      }
      Out* target = static_cast<Out*>(out) + o * to.outer + d * to.slice;
      const float* weights = depth.weights + d * depth.taps;
      for (int64_t h = 0; h < height; ++h, target += to.row) {
        kernels.blend(rows, weights, depth.taps, 0.0f, width, buffer, target);
        for (int k = 0; k < depth.taps; ++k) rows[k] += width;
      }
    }
  }
}

// --- Choice -----------------------------------------------------------------------------------

bool is_positive(ResampleFilter filter) {
  return filter != ResampleFilter::kCubic && filter != ResampleFilter::kLanczos3;
}
bool fits_fixed_point(const ResampleJob& job) {
  const auto fits = [](const ResampleAxis& axis) {
    return is_positive(axis_filter(axis)) && max_taps(axis) <= kMaxFixedTaps;
  };
  return job.in_type == DType::kUInt8 && job.out_type == DType::kUInt8 &&
         job.channels <= kMaxFixedChannels && fits(job.axes[kH]) && fits(job.axes[kW]);
}

// How a job is done: the tables of slices that can be picked are those of nearest neighbours,
// which is exact whatever the order.
enum class Way { kNearest, kPlanes, kVolumes };
Way choose_way(ResampleJob& job) {
  ResampleAxis& depth = job.axes[kD];
  if (picks(depth)) depth.min_filter = depth.mag_filter = ResampleFilter::kNearest;
  if (job.in_type == job.out_type && all_nearest(job)) return Way::kNearest;
  // The depth is that of an image, or slices are picked.
  return axis_filter(depth) == ResampleFilter::kNearest ? Way::kPlanes : Way::kVolumes;
}

// Calls fn.operator()<In, Mid, Out>().
template <class Fn>
auto with_types(const ResampleJob& job, Way way, Fn&& fn) {
  const auto from = [&]<class In>() {
    if (job.out_type == job.in_type) return fn.template operator()<In, float, In>();
    return fn.template operator()<In, float, float>();
  };
  if (way == Way::kPlanes && fits_fixed_point(job))
    return fn.template operator()<uint8_t, uint16_t, uint8_t>();
  switch (job.in_type) {
    case DType::kUInt8: return from.template operator()<uint8_t>();
    case DType::kUInt16: return from.template operator()<uint16_t>();
    case DType::kInt16: return from.template operator()<int16_t>();
    default: return from.template operator()<float>();
  }
}

void run_any(ResampleJob job, const void* in, void* out, ScratchArena& arena) {
  const Way way = choose_way(job);
  if (way == Way::kNearest) return run_nearest(job, in, out, arena);
  with_types(job, way, [&]<class In, class Mid, class Out>() {
    if constexpr (std::is_same_v<Mid, float>)
      if (way == Way::kVolumes) return run_volumes<In, Out>(job, in, out, arena);
    run_planes<In, Mid, Out>(job, in, out, arena);
  });
}

// --- Some rows at a time ----------------------------------------------------------------------

class NearestRows final : public ResampledRows {
 public:
  NearestRows(const ResampleJob& job, const void* in, ScratchArena& arena)
      : depth_(build_nearest_table(job.axes[kD], true, arena)),
        plane_(job, arena),
        in_(static_cast<const std::byte*>(in)),
        size_(itemsize(job.in_type)),
        in_stride_(strides_of(job, true).row * size_) {}
  void make(int64_t begin, int64_t end, void* out, int64_t row_stride) override {
    plane_.rows(in_, in_stride_, begin, end, static_cast<std::byte*>(out), row_stride * size_);
  }

 private:
  AxisTable depth_;  // takes its scratch as run_nearest() does
  NearestPlane plane_;
  const std::byte* in_;
  int64_t size_, in_stride_;
};

template <class In, class Mid, class Out>
class FilteredRows final : public ResampledRows {
 public:
  FilteredRows(const ResampleJob& job, const void* in, ScratchArena& arena)
      : depth_(build_table(job.axes[kD], true, arena)),
        plane_(job, arena),
        in_(static_cast<const In*>(in)),
        in_stride_(strides_of(job, true).row) {
    plane_.begin_plane();
  }
  void make(int64_t begin, int64_t end, void* out, int64_t row_stride) override {
    plane_.rows(in_, in_stride_, begin, end, static_cast<Out*>(out), row_stride);
  }

 private:
  AxisTable depth_;  // as in NearestRows
  PlaneResampler<In, Mid, Out> plane_;
  const In* in_;
  int64_t in_stride_;
};

// False where there is nothing to do.
bool check(const ResampleJob& job) {
  const DType in = job.in_type, out = job.out_type;
  TORCHDALI_CHECK_KIND(
      kType,
      in == DType::kUInt8 || in == DType::kInt16 || in == DType::kUInt16 || in == DType::kFloat,
      "cannot resample ", dtype_name(in), ", expected uint8, int16, uint16 or float32");
  TORCHDALI_CHECK_KIND(kType, out == in || out == DType::kFloat, "cannot resample ", dtype_name(in),
                       " to ", dtype_name(out), ", expected the same type or float32");
  int64_t elements = job.outer * job.channels;
  for (const ResampleAxis& axis : job.axes) {
    check_axis(axis);
    elements *= axis.out;
  }
  return elements > 0;
}

}  // namespace

size_t resample_scratch_bytes(const ResampleJob& job) {
  if (!check(job)) return 0;
  ScratchArena arena(nullptr);
  run_any(job, nullptr, nullptr, arena);
  return arena.used();
}

void resample(const ResampleJob& job, const void* in, void* out, void* scratch) {
  if (!check(job)) return;
  ScratchArena arena(scratch);
  run_any(job, in, out, arena);
}

std::unique_ptr<ResampledRows> resample_rows(const ResampleJob& given, const void* in,
                                             void* scratch) {
  if (!check(given)) return nullptr;
  TORCHDALI_ASSERT(given.outer == 1 && given.axes[kD].in == 1 && given.axes[kD].out == 1,
                   "not one image");
  ScratchArena arena(scratch);
  ResampleJob job = given;
  const Way way = choose_way(job);
  if (way == Way::kNearest) return std::make_unique<NearestRows>(job, in, arena);
  return with_types(job, way,
                    [&]<class In, class Mid, class Out>() -> std::unique_ptr<ResampledRows> {
                      return std::make_unique<FilteredRows<In, Mid, Out>>(job, in, arena);
                    });
}

}  // namespace torchdali::kernels
