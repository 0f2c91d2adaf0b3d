// SPDX-License-Identifier: Apache-2.0
// The common part of fn.sphere, fn.water and fn.jitter, which move pixels of an image.
#pragma once

#include <utility>

#include "core/argument.h"
#include "ops/input_layout.h"
#include "ops/warp/warp_args.h"
#include "ops/warp/warp_gpu.h"

namespace torchdali {

// The arguments of Displacement, for SchemaBuilder::with().
inline SchemaBuilder& add_displacement_args(SchemaBuilder& schema) {
  return schema.input("input", "Images; any number of channels and element type.", {"HWC"})
      .output("displaced", "Shape, element type and layout of the input.")
      .arg("fill_value", 0.0f,
           "Value outside the input; rounded and saturated to the type of the input.")
      .arg("interp_type", InterpType::kNN, "Interpolation: INTERP_NN or INTERP_LINEAR.")
      .arg("mask", 1, "0 keeps the image unchanged.", Arity::kPerSample);
}

// Immutable; any thread.
class Displacement {
 public:
  explicit Displacement(const OpSpec& spec)
      : layout_(spec, 0),
        fill_(spec.get<float>("fill_value")),
        filter_(warp_filter(spec.get<InterpType>("interp_type"))),
        mask_(spec, "mask") {}

  // start(height, width) returns the generator of points for kernels::warp(). Not called if there
  // is nothing to do.
  template <class Start>
  void run(SampleContext& ctx, Start&& start) const {
    kernels::WarpSource source;
    if (!prepare(ctx, source)) return;
    const auto extents = source.extents;
    void* out = ctx.output_view(0).data;
    const kernels::WarpSampler sampler(std::move(source));
    kernels::warp(sampler, extents, out, start(extents[1], extents[2]));
  }
  // set(task) sets how positions in the source are computed.
  template <class Set>
  void run_gpu(SampleContext& ctx, Set&& set) const {
    kernels::WarpSource source;
    if (!prepare(ctx, source)) return;
    gpu::WarpTask task;
    const auto extents = source.extents;
    auto& step = ctx.batch_state<gpu::SingleStep<gpu::WarpKernel>>();
    set_warp(step.blob, task, kernels::WarpSampler(std::move(source)), extents,
             ctx.output_view(0).data);
    set(task);
    step.tasks.add(ctx, task);
  }

 private:
  // Makes the output. Returns false if there is nothing to do.
  bool prepare(SampleContext& ctx, kernels::WarpSource& source) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    if (mask_(ctx) == 0) {
      SampleView same = in;
      same.layout = layout;
      ctx.share_input(0, 0, same);
      return false;
    }
    source = warp_source(in, layout, DType::kNone);
    source.filter = filter_;
    source.border = kernels::Border::kConstant;
    source.fill = {fill_};
    return ctx.output(0, in.dtype, in.shape, layout).volume() > 0;
  }

  InputLayout layout_;
  float fill_;
  kernels::WarpFilter filter_;
  Arg<int> mask_;
};

}  // namespace torchdali
