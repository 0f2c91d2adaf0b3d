// SPDX-License-Identifier: Apache-2.0
// fn.resize_crop_mirror: resize, crop and flip in one; only the pixels of the window are computed.
#include "core/argument.h"
#include "core/operator.h"
#include "ops/input_layout.h"
#include "ops/resize/resize_attr.h"
#include "ops/resize/resize_filter.h"
#include "ops/window/crop_window.h"

namespace torchdali {
namespace {

// Bits of `mirror`.
constexpr int kHorizontal = 1, kVertical = 2, kDepthwise = 4;

// Base: CpuResampler or GpuResampler.
template <class Base>
class ResizeCropMirror final : public Base {
 public:
  explicit ResizeCropMirror(const OpSpec& spec)
      : layout_(spec, 0), size_(spec), crop_(spec), mirror_(spec, "mirror"), resample_(spec) {}

  ResampleArgs::Task task(const SampleContext& ctx, const SampleView& in) const override {
    const Layout layout = layout_(in);
    const SpatialAxes axes = SpatialAxes::of(layout);
    const ResizeGeometry geometry = size_(ctx, in.shape.span().subspan(axes.first, axes.ndim));
    const Shape resized(std::span(geometry.out.data(), static_cast<size_t>(axes.ndim)));
    const Window crop = crop_(ctx, resized, axes.ndim == 3 ? "DHW" : "HW");
    const int mirror = mirror_(ctx);
    constexpr int kBits[] = {kDepthwise, kVertical, kHorizontal};
    ResizeWindow window;
    for (int a = 0; a < axes.ndim; ++a) {
      window.begin[a] = crop.anchor[a];
      // An empty input has no pixels to repeat.
      window.out[a] = resized[a] == 0 ? 0 : crop.shape[a];
      window.mirror[a] = (mirror & kBits[3 - axes.ndim + a]) != 0;
    }
    return resample_.plan(ctx, in, layout, geometry, window);
  }

 private:
  InputLayout layout_;
  ResizeArgs size_;
  CropArgs crop_;
  Arg<int> mirror_;
  ResampleArgs resample_;
};

TORCHDALI_OPERATOR("resize_crop_mirror")
    .doc(
        "Resizes, crops and mirrors in one operation: the result equals resize, crop and flip, but "
        "only the pixels of the window are computed. Outside the resized sample, a window repeats "
        "border pixels.")
    .input("data", "Images, volumes or sequences; uint8, int16, uint16 or float32.",
           {"HWC", "FHWC", "CHW", "FCHW", "CFHW", "DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW"})
    .output("result", "Layout of the input; element type `dtype`.")
    .with(add_resize_args)
    .with(add_crop_args)
    .arg("mirror", 0, "Axes to mirror: 1 horizontal, 2 vertical, 4 depthwise, or a sum of these.",
         Arity::kPerSample)
    .with(add_resample_args)
    .sequences()
    .volumes()
    .image_role(ImageRole::kResampler)
    .cpu<ResizeCropMirror<CpuResampler>>()
    .gpu<ResizeCropMirror<GpuResampler>>();

}  // namespace
}  // namespace torchdali
