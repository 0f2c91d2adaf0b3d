// SPDX-License-Identifier: Apache-2.0
// How a sample is resampled: the arguments `interp_type`, `min_filter`, `mag_filter`, `antialias`,
// `filter_edges` and `dtype`, and the resampling job of a sample.
#pragma once

#include <array>

#include "core/argument.h"
#include "core/batch_context.h"
#include "core/image/image_part.h"
#include "gpu/chain.h"
#include "kernels/resample/resample.h"
#include "kernels/resample/resample_gpu.h"
#include "ops/resize/resize_attr.h"

namespace torchdali {

// The positions of the spatial axes of a layout: [outer..., (D,) H, W, channels...].
struct SpatialAxes {
  int first = 0;  // axis of D or H
  int ndim = 2;
  static SpatialAxes of(const Layout& layout);
};

// The wanted part of a resized sample: a window, which is then mirrored. Axes as in ResizeGeometry.
struct ResizeWindow {
  std::array<int64_t, 3> begin{}, out{};
  std::array<bool, 3> mirror{};
};

// The arguments of ResampleArgs, for SchemaBuilder::with().
SchemaBuilder& add_resample_args(SchemaBuilder& schema);
// All but `dtype`.
SchemaBuilder& add_filter_args(SchemaBuilder& schema);

// Reads the arguments of add_resample_args(). Immutable; any thread.
class ResampleArgs {
 public:
  explicit ResampleArgs(const OpSpec& spec);

  // The resampling of a sample.
  struct Task {
    kernels::ResampleJob job;
    Shape out_shape;
    Layout layout;
  };
  // The whole resized sample, or `window` of it. `in` has the type and the shape of the sample;
  // `layout` is its layout.
  Task plan(const SampleContext& ctx, const SampleView& in, const Layout& layout,
            const ResizeGeometry& geometry) const {
    return plan(ctx, in, layout, geometry, {.out = geometry.out});
  }
  Task plan(const SampleContext& ctx, const SampleView& in, const Layout& layout,
            const ResizeGeometry& geometry, const ResizeWindow& window) const;
  // The element type of the result; raises a type error unless the input can be resampled.
  DType out_type(DType in) const;
  // An axis with the filters of a sample.
  kernels::ResampleAxis filters(const SampleContext& ctx) const;

 private:
  Arg<InterpType> interp_type_, min_filter_, mag_filter_;
  bool antialias_, cut_;
  DType dtype_ = DType::kNone;
};

// For a chain on the CPU. The task is that of a whole result.
std::unique_ptr<ImageResampling> plan_resampling(const ResampleArgs::Task& task);

// The steps of GPU operators that resample.
struct ResampleSteps : gpu::TaskBatch {
  gpu::Tasks<gpu::ResampleStripsKernel> strips{*this};
  gpu::Tasks<gpu::ResampleKernel> boxes{*this};
};
// Adds the task of a job. `stored`: the extents (D, H, W) of what `in` holds, which may be a window
// of the job's input. `output`: whether `out` is output 0; otherwise it is in the workspace.
void add_resampling(SampleContext& ctx, gpu::Blob& blob,
                    gpu::Tasks<gpu::ResampleStripsKernel>& strips,
                    gpu::Tasks<gpu::ResampleKernel>& boxes, const kernels::ResampleJob& job,
                    const std::array<int64_t, 3>& stored, const void* in, void* out, bool output);
// Adds the task that makes output 0 of input 0.
void resample_on_gpu(SampleContext& ctx, ResampleSteps& steps, const ResampleArgs::Task& what);

// Base classes of operators that resample. Derived classes return the resampling of a sample. On
// the CPU:
class CpuResampler : public Operator, public ResamplesImage {
 public:
  // The resampling of a sample like `in`, in place of input 0.
  virtual ResampleArgs::Task task(const SampleContext& ctx, const SampleView& in) const = 0;
  void run(SampleContext& ctx) const override;
  std::unique_ptr<ImageResampling> plan(SampleContext& ctx, const SampleView& in) const override;
};
// On the GPU, with and without further outputs.
class ResamplesOnGpu : public gpu::ResamplesInChain {
 public:
  virtual ResampleArgs::Task task(const SampleContext& ctx, const SampleView& in) const = 0;
  std::unique_ptr<gpu::ChainResampling> plan(SampleContext& ctx,
                                             const SampleView& in) const override;
};
class GpuResampler : public gpu::StepsOperator<ResampleSteps>, public ResamplesOnGpu {
 public:
  void run(SampleContext& ctx) const override {
    resample_on_gpu(ctx, steps(ctx), task(ctx, ctx.input(0)));
  }
};

}  // namespace torchdali
