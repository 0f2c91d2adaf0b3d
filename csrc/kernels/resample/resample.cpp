// SPDX-License-Identifier: Apache-2.0
// Chooses how a job is resampled, by its types and filters, and loops over planes and volumes.
#include "kernels/resample/resample.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/error.h"
#include "kernels/resample/halving.h"
#include "kernels/resample/nearest.h"
#include "kernels/resample/plane_resampler.h"
#include "kernels/resample/resample_strides.h"
#include "kernels/resample/resample_table.h"
#include "kernels/resample_rows/resample_rows.h"

namespace torchdali::kernels {
namespace {

constexpr int kMaxFixedChannels = 4;

// Whether the result is a copy: same extent, whole region. The Gaussian blurs even then.
bool keeps(const ResampleAxis& axis) {
  return axis.in == axis.out && (axis.full == 0 || axis.full == axis.out) && axis.begin == 0 &&
         !axis.mirror && axis.low == 0 && axis.high == static_cast<float>(axis.in) &&
         axis.mag_filter != ResampleFilter::kGaussian;
}
// Whether every pixel of the result is a copy of a source pixel, since the whole result would be a
// copy of the source.
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

// Whether the result is the source, byte by byte.
bool is_copy(const ResampleJob& job) {
  constexpr int64_t kMaxExact = int64_t{1} << 22;  // where positions of pixels are exact
  const bool dense = job.in_outer_stride == 0 && job.in_slice_stride == 0 &&
                     job.in_row_stride == 0 && job.out_outer_stride == 0 &&
                     job.out_slice_stride == 0 && job.out_row_stride == 0;
  return dense && job.in_type == job.out_type &&
         std::all_of(job.axes.begin(), job.axes.end(), [](const ResampleAxis& axis) {
           return keeps(axis) && axis.stored == 0 && axis.in <= kMaxExact;
         });
}
void copy(const ResampleJob& job, const void* in, void* out) {
  int64_t bytes = job.outer * job.channels * itemsize(job.in_type);
  for (const ResampleAxis& axis : job.axes) bytes *= axis.out;
  std::memcpy(out, in, static_cast<size_t>(bytes));
}

// `Planes`: PlaneResampler or HalvedPlane.
template <class In, class Out, class Planes>
void run_planes(const ResampleJob& job, const void* in, void* out, ScratchArena& arena) {
  const AxisTable depth = build_table(job.axes[kD], true, arena);
  Planes planes(job, arena);
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

bool fits_fixed_point(const ResampleJob& job) {
  const auto fits = [](const ResampleAxis& axis) {
    return is_positive(axis_filter(axis)) && max_taps(axis) <= kMaxFixedTaps;
  };
  return job.in_type == DType::kUInt8 && job.out_type == DType::kUInt8 &&
         job.channels <= kMaxFixedChannels && fits(job.axes[kH]) && fits(job.axes[kW]);
}

// If slices are only copied, the axis D uses the nearest neighbor, which is exact in any order.
enum class Method { kNearest, kHalved, kPlanes, kVolumes };
Method choose_method(ResampleJob& job) {
  ResampleAxis& depth = job.axes[kD];
  if (picks(depth)) depth.min_filter = depth.mag_filter = ResampleFilter::kNearest;
  if (job.in_type == job.out_type && all_nearest(job)) return Method::kNearest;
  // Images have a depth of 1.
  if (axis_filter(depth) != ResampleFilter::kNearest) return Method::kVolumes;
  return HalvedPlane::fits(job) ? Method::kHalved : Method::kPlanes;
}

// Calls fn.operator()<In, Mid, Out>().
template <class Fn>
auto with_types(const ResampleJob& job, Method method, Fn&& fn) {
  const auto from = [&]<class In>() {
    if (job.out_type == job.in_type) return fn.template operator()<In, float, In>();
    return fn.template operator()<In, float, float>();
  };
  if (method == Method::kPlanes && fits_fixed_point(job))
    return fn.template operator()<uint8_t, uint16_t, uint8_t>();
  switch (job.in_type) {
    case DType::kUInt8: return from.template operator()<uint8_t>();
    case DType::kUInt16: return from.template operator()<uint16_t>();
    case DType::kInt16: return from.template operator()<int16_t>();
    default: return from.template operator()<float>();
  }
}

void run_any(ResampleJob job, const void* in, void* out, ScratchArena& arena) {
  // Rows of it (resample_rows) need the memory.
  if (!arena.counting() && is_copy(job)) return copy(job, in, out);
  const Method method = choose_method(job);
  if (method == Method::kNearest) return resample_nearest(job, in, out, arena);
  if (method == Method::kHalved)
    return run_planes<uint8_t, uint8_t, HalvedPlane>(job, in, out, arena);
  with_types(job, method, [&]<class In, class Mid, class Out>() {
    if constexpr (std::is_same_v<Mid, float>)
      if (method == Method::kVolumes) return run_volumes<In, Out>(job, in, out, arena);
    run_planes<In, Out, PlaneResampler<In, Mid, Out>>(job, in, out, arena);
  });
}

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
  void restart(const void* in) override { in_ = static_cast<const std::byte*>(in); }

 private:
  AxisTable depth_;  // takes scratch memory like resample_nearest()
  NearestPlane plane_;
  const std::byte* in_;
  int64_t size_, in_stride_;
};

// `Planes`: as for run_planes().
template <class In, class Out, class Planes>
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
  void restart(const void* in) override {
    in_ = static_cast<const In*>(in);
    plane_.begin_plane();
  }

 private:
  AxisTable depth_;  // as in NearestRows
  Planes plane_;
  const In* in_;
  int64_t in_stride_;
};

// Returns whether there is anything to do.
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
  const Method method = choose_method(job);
  if (method == Method::kNearest) return std::make_unique<NearestRows>(job, in, arena);
  if (method == Method::kHalved)
    return std::make_unique<FilteredRows<uint8_t, uint8_t, HalvedPlane>>(job, in, arena);
  return with_types(job, method,
                    [&]<class In, class Mid, class Out>() -> std::unique_ptr<ResampledRows> {
                      using Planes = PlaneResampler<In, Mid, Out>;
                      return std::make_unique<FilteredRows<In, Out, Planes>>(job, in, arena);
                    });
}

}  // namespace torchdali::kernels
