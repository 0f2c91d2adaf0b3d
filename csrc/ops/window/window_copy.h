// SPDX-License-Identifier: Apache-2.0
// Copies a window of a sample, with conversion and padding; a view if the window is contiguous.
// Shared by crop and slice.
#pragma once

#include "core/image/image_part.h"
#include "gpu/chain.h"
#include "kernels/window/window.h"
#include "kernels/window/window_gpu.h"
#include "ops/window/out_of_bounds.h"

namespace torchdali {

// The arguments of WindowCopy, for SchemaBuilder::with().
SchemaBuilder& add_window_copy_args(SchemaBuilder& schema);

// Immutable; any thread.
class WindowCopy {
 public:
  explicit WindowCopy(const OpSpec& spec);
  // Makes output 0 from input 0, whose layout is `layout`. `channel_axis`: the one that
  // `fill_values` are for, or -1.
  void operator()(SampleContext& ctx, const Layout& layout, int channel_axis, Window window) const;
  // The part of an image that it copies, if it does nothing else.
  std::optional<ImagePart> part(const SampleView& image, Window window) const;
  // The same on the GPU, in an operator that derives from GpuWindowOperator: adds its task.
  void run_gpu(SampleContext& ctx, const Layout& layout, int channel_axis, Window window) const;

 private:
  DType checked_dtype(DType of_input) const;
  void fill(const SampleView& out, int channel_axis, const kernels::Overlap& overlap) const;

  OutOfBounds out_of_bounds_;
  DType dtype_ = DType::kNone;
};

// Base classes of operators that copy a window, for CPU and GPU.
class CpuWindowOperator : public Operator, public TakesImagePart {
 protected:
  static void copy_window(const WindowCopy& copy, SampleContext& ctx, const Layout& layout,
                          int channel_axis, const Window& window) {
    copy(ctx, layout, channel_axis, window);
  }
};
class GpuWindowOperator : public gpu::KernelOperator<gpu::WindowKernel>, public gpu::TakesPart {
 protected:
  static void copy_window(const WindowCopy& copy, SampleContext& ctx, const Layout& layout,
                          int channel_axis, const Window& window) {
    copy.run_gpu(ctx, layout, channel_axis, window);
  }
};

}  // namespace torchdali
