// SPDX-License-Identifier: Apache-2.0
// fn.slice: a window of each sample, given by coordinates.
#include "core/known_layout.h"
#include "core/operator.h"
#include "ops/window/slice_window.h"
#include "ops/window/window_copy.h"

namespace torchdali {
namespace {

// Images, volumes and sequences without a layout are channels-last.
int channel_axis(int ndim, const Layout& layout) {
  return layout.empty() && ndim >= 3 ? ndim - 1 : layout.find('C');
}

template <class Base>
class Slice final : public Base {
 public:
  explicit Slice(const OpSpec& spec)
      : layout_(spec), numbered_(spec.has("axes")), slice_(slice_spec(spec)), copy_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    // Axes that the user numbers need no layout.
    const Layout layout = numbered_ ? in.layout : layout_(in.shape, in.layout);
    this->copy_window(copy_, ctx, in.layout, channel_axis(in.shape.ndim(), layout),
                      slice_(ctx, in.shape, layout));
  }
  std::optional<ImagePart> part(SampleContext& ctx, const SampleView& in) const override {
    return copy_.part(in, slice_(ctx, in.shape, in.layout));
  }
  // Numbers of axes count the axis of frames, too.
  bool take_frames() override { return !numbered_; }

 private:
  KnownLayout layout_;
  bool numbered_;
  SliceArgs slice_;
  WindowCopy copy_;
};

TORCHDALI_OPERATOR("slice")
    .doc(
        "Slices a window of each sample. Its coordinates are the inputs `anchor` and `extent`, "
        "or the arguments `start` with `end` or `shape` or their `rel_` forms, along `axes` or "
        "`axis_names`; other axes are kept whole. Fractional coordinates are rounded to the "
        "nearest integer, halves away from zero. Fractions are cut off and values saturate where "
        "`dtype` asks for uint8 or float16 (fn.cast rounds).")
    .input("data", "Any layout, any element type.")
    .optional_input("anchor", "First element of the window, one value per axis.")
    .optional_input("extent", "Extent of the window, one value per axis.")
    .output("window", "The window, in the input's layout.")
    .with(add_slice_args)
    .with(add_window_copy_args)
    .sequences()
    .volumes()
    .image_role(ImageRole::kWindow)
    .cpu<Slice<CpuWindowOperator>>()
    .gpu<Slice<GpuWindowOperator>>()
    .host_input(1)
    .host_input(2);

}  // namespace
}  // namespace torchdali
