// SPDX-License-Identifier: Apache-2.0
// fn.resize: scales images, volumes and sequences.
#include "core/operator.h"
#include "ops/input_layout.h"
#include "ops/resize_attr.h"
#include "ops/resize_filter.h"

namespace torchdali {
namespace {

class Resize final : public Operator {
 public:
  explicit Resize(const OpSpec& spec)
      : layout_(spec, 0), size_(spec), resample_(spec), save_attrs_(spec.get<bool>("save_attrs")) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const SpatialAxes axes = SpatialAxes::of(layout);
    const auto extents = in.shape.span().subspan(axes.first, axes.ndim);
    if (save_attrs_) {
      int32_t* attrs = ctx.output(1, DType::kInt32, Shape{axes.ndim}).as<int32_t>();
      for (int a = 0; a < axes.ndim; ++a) attrs[a] = static_cast<int32_t>(extents[a]);
    }
    resample_.run(ctx, layout, size_(ctx, extents));
  }

 private:
  InputLayout layout_;
  ResizeArgs size_;
  ResampleArgs resample_;
  bool save_attrs_;
};

class ResizeGpu final : public GpuResampler {
 public:
  explicit ResizeGpu(const OpSpec& spec) : layout_(spec, 0), size_(spec), resample_(spec) {
    TORCHDALI_CHECK_KIND(kUnsupported, !spec.get<bool>("save_attrs"),
                         "`save_attrs` is not there on the GPU. To fix it: use fn.shapes of the "
                         "input, before .gpu()");
  }
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const SpatialAxes axes = SpatialAxes::of(layout);
    const ResizeGeometry geometry = size_(ctx, in.shape.span().subspan(axes.first, axes.ndim));
    resample_.run_gpu(ctx, layout, geometry, {.out = geometry.out});
  }

 private:
  InputLayout layout_;
  ResizeArgs size_;
  ResampleArgs resample_;
};

TORCHDALI_OPERATOR("resize")
    .doc(
        "Resizes images, volumes and sequences, or a region of interest of them, with a filter of "
        "choice. Pixels outside the region are read where the filter reaches them; outside the "
        "input its border repeats. An empty input stays empty.")
    .input("data", "Images, volumes or sequences; uint8, int16, uint16 or float32.",
           {"HWC", "FHWC", "CHW", "FCHW", "CFHW", "DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW"})
    .output("resized", "Layout of the input; element type `dtype`.")
    .output("attrs",
            "With `save_attrs`: the input's spatial extents, (D,) H, W, int32. Otherwise absent.")
    .num_outputs([](const OpSpec& spec) { return spec.get<bool>("save_attrs") ? 2 : 1; })
    .with(add_resize_args)
    .with(add_resample_args)
    .arg("save_attrs", false, "Give the input's spatial extents as a second output.")
    .deprecated_arg("image_type", ArgType::kImageType, "Without effect.")
    .sequences()
    .volumes()
    .cpu<Resize>()
    .gpu<ResizeGpu>();

}  // namespace
}  // namespace torchdali
