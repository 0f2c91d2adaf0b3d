// SPDX-License-Identifier: Apache-2.0
// How a sample is resampled: the arguments `interp_type`, `min_filter`, `mag_filter`, `antialias`
// and `dtype`, and the way from a sample's layout to the kernel.
#pragma once

#include <array>

#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/resample.h"
#include "ops/resize_attr.h"

namespace torchdali {

// Where the spatial axes of a layout stand: [outer..., (D,) H, W, channels...].
struct SpatialAxes {
  int first = 0;  // axis of D or H
  int ndim = 2;
  static SpatialAxes of(const Layout& layout);
};

// What of a resized sample is wanted: a window of it, then mirrored. Axes as in ResizeGeometry.
struct ResizeWindow {
  std::array<int64_t, 3> begin{}, out{};
  std::array<bool, 3> mirror{};
};

// What GPU operators that resample derive from.
using GpuResampler = gpu::TaskOperator<gpu::ResampleTask, &gpu::GpuKernels::resample>;

// The arguments of ResampleArgs, for SchemaBuilder::with().
SchemaBuilder& add_resample_args(SchemaBuilder& schema);

// Reads the arguments of add_resample_args(). Immutable; any thread.
class ResampleArgs {
 public:
  explicit ResampleArgs(const OpSpec& spec);

  // Makes output 0 from input 0, whose layout is `layout`: the whole resized sample, or `window`.
  void run(SampleContext& ctx, const Layout& layout, const ResizeGeometry& geometry) const;
  void run(SampleContext& ctx, const Layout& layout, const ResizeGeometry& geometry,
           const ResizeWindow& window) const;

  // The same in two steps, for a source of which only a part is in memory.
  struct Task {
    kernels::ResampleJob job;
    Shape out_shape;
  };
  Task plan(const SampleContext& ctx, DType in_type, const Shape& in_shape, const Layout& layout,
            const ResizeGeometry& geometry, const ResizeWindow& window) const;
  // Makes output 0. `in`: where the source's first element is, or would be.
  static void run(SampleContext& ctx, const Task& task, const Layout& layout, const void* in);
  // The same on the GPU: adds its task.
  void run_gpu(SampleContext& ctx, const Layout& layout, const ResizeGeometry& geometry,
               const ResizeWindow& window) const;

 private:
  Arg<InterpType> interp_type_, min_filter_, mag_filter_;
  bool antialias_;
  DType dtype_ = DType::kNone;
};

}  // namespace torchdali
