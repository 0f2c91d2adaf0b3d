// SPDX-License-Identifier: Apache-2.0
// fn.resize: scales images, volumes and sequences.
#include <algorithm>
#include <array>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/host_bytes_gpu.h"
#include "ops/input_layout.h"
#include "ops/resize/resize_attr.h"
#include "ops/resize/resize_filter.h"

namespace torchdali {
namespace {

// The output of `save_attrs`: the spatial extents of an input.
struct Attrs {
  explicit Attrs(const SampleView& in, const SpatialAxes& axes) : count(axes.ndim) {
    for (int a = 0; a < count; ++a)
      extents[static_cast<size_t>(a)] = static_cast<int32_t>(in.shape[axes.first + a]);
  }
  const SampleView& make_output(SampleContext& ctx) const {
    return ctx.output(1, DType::kInt32, Shape{count});
  }
  std::array<int32_t, 3> extents{};
  int count;
};

// The arguments, as a region and a size.
class ResizeTask {
 public:
  explicit ResizeTask(const OpSpec& spec) : layout_(spec, 0), size_(spec), resample_(spec) {}
  ResampleArgs::Task operator()(const SampleContext& ctx, const SampleView& in) const {
    const Layout layout = layout_(in);
    const SpatialAxes axes = SpatialAxes::of(layout);
    const auto extents = in.shape.span().subspan(axes.first, axes.ndim);
    return resample_.plan(ctx, in, layout, size_(ctx, extents));
  }
  Attrs attrs(const SampleView& in) const { return Attrs(in, SpatialAxes::of(layout_(in))); }

 private:
  InputLayout layout_;
  ResizeArgs size_;
  ResampleArgs resample_;
};

class Resize final : public CpuResampler {
 public:
  explicit Resize(const OpSpec& spec) : task_(spec), save_attrs_(spec.get<bool>("save_attrs")) {}

  void run(SampleContext& ctx) const override {
    if (save_attrs_) {
      const Attrs attrs = task_.attrs(ctx.input(0));
      std::copy_n(attrs.extents.begin(), attrs.count, attrs.make_output(ctx).as<int32_t>());
    }
    CpuResampler::run(ctx);
  }
  ResampleArgs::Task task(const SampleContext& ctx, const SampleView& in) const override {
    return task_(ctx, in);
  }

 private:
  ResizeTask task_;
  bool save_attrs_;
};

struct ResizeSteps final : ResampleSteps {
  gpu::Tasks<gpu::HostBytesKernel> attrs{*this};
};

class ResizeGpu final : public gpu::StepsOperator<ResizeSteps>, public ResamplesOnGpu {
 public:
  explicit ResizeGpu(const OpSpec& spec) : task_(spec), save_attrs_(spec.get<bool>("save_attrs")) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    if (save_attrs_) add_attrs(ctx, task_.attrs(in));
    resample_on_gpu(ctx, steps(ctx), task(ctx, in));
  }
  ResampleArgs::Task task(const SampleContext& ctx, const SampleView& in) const override {
    return task_(ctx, in);
  }

 private:
  static void add_attrs(SampleContext& ctx, const Attrs& attrs) {
    const SampleView& out = attrs.make_output(ctx);
    const std::span<const int32_t> extents(attrs.extents);
    gpu::HostBytesTask task;
    task.out = out.data;
    task.size = out.size_bytes();
    task.bytes = steps(ctx).blob.keep(extents.first(static_cast<size_t>(attrs.count)));
    steps(ctx).attrs.add(ctx, task, 1);
  }

  ResizeTask task_;
  bool save_attrs_;
};

// All but the name and the description.
SchemaBuilder& describe_resize(SchemaBuilder& schema) {
  return schema
      .input("data", "Images, volumes or sequences; uint8, int16, uint16 or float32.",
             {"HWC", "FHWC", "CHW", "FCHW", "CFHW", "DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW"})
      .output("resized", "Layout of the input; element type `dtype`.")
      .output("attrs",
              "With `save_attrs`: the input's spatial extents, (D,) H, W, int32. Otherwise absent.")
      .num_outputs([](const OpSpec& spec) { return spec.get<bool>("save_attrs") ? 2 : 1; })
      .with(add_resize_args)
      .with(add_resample_args)
      .arg("save_attrs", false, "Return the spatial extents of the input as a second output.")
      .deprecated_arg("image_type", ArgType::kImageType, "Without effect.")
      .sequences()
      .volumes()
      .image_role(ImageRole::kResampler)
      .cpu<Resize>()
      .gpu<ResizeGpu>();
}

TORCHDALI_OPERATOR("resize")
    .doc(
        "Resizes images, volumes and sequences, or a region of interest of them, with a choice of "
        "filters. Filters also read pixels outside the region; outside the input, border pixels "
        "are repeated. An empty input stays empty.")
    .with(describe_resize);
// DALI's is another implementation, by a library for GPUs, of the same arguments.
TORCHDALI_OPERATOR("experimental.resize")
    .doc("The same as fn.resize, under the name that DALI has on the GPU only.")
    .with(describe_resize);

}  // namespace
}  // namespace torchdali
