// SPDX-License-Identifier: Apache-2.0
// fn.crop: a window of each sample. Without conversion and padding, it is a view if the window is
// contiguous.
#include "core/operator.h"
#include "ops/input_layout.h"
#include "ops/window/crop_window.h"
#include "ops/window/window_copy.h"

namespace torchdali {
namespace {

template <class Base>
class Crop final : public Base {
 public:
  explicit Crop(const OpSpec& spec) : layout_(spec, 0), crop_(spec), copy_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    this->copy_window(copy_, ctx, layout, layout.find('C'), crop_(ctx, in.shape, layout));
  }
  std::optional<ImagePart> part(SampleContext& ctx, const SampleView& in) const override {
    return copy_.part(in, crop_(ctx, in.shape, in.layout));
  }

 private:
  InputLayout layout_;
  CropArgs crop_;
  WindowCopy copy_;
};

TORCHDALI_OPERATOR("crop")
    .doc(
        "Crops a window of each sample. Without a size, the window is the whole sample. Fractions "
        "are cut off and values saturate where `dtype` asks for uint8 or float16 (fn.cast rounds).")
    .input("data", "Images, volumes or sequences; any element type.",
           {"HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW"})
    .output("window", "The window, in the input's layout.")
    .with(add_crop_args)
    .with(add_window_copy_args)
    .sequences()
    .volumes()
    .image_role(ImageRole::kWindow)
    .cpu<Crop<CpuWindowOperator>>()
    .gpu<Crop<GpuWindowOperator>>();

}  // namespace
}  // namespace torchdali
