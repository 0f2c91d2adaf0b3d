// SPDX-License-Identifier: Apache-2.0
// fn.flip: mirrors samples along W, H or D.
#include <cstring>

#include "core/argument.h"
#include "gpu/chain.h"
#include "gpu/copy_axes.h"
#include "kernels/window/copy_gpu.h"
#include "kernels/window/mirror.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

// Any supported layout, as [outer, D, H, W, pixel]. Spatial axes are always adjacent, so one loop
// serves every layout and element type.
struct SpatialView {
  int64_t outer = 1, d = 1, h = 1, w = 1;
  int64_t pixel;  // bytes from one W position to the next

  SpatialView(const SampleView& s, const Layout& layout) : pixel(itemsize(s.dtype)) {
    bool past_spatial = false;
    for (int i = 0; i < layout.size(); ++i) {
      const int64_t extent = s.shape[i];
      switch (layout[i]) {
        case 'D': d = extent; break;
        case 'H': h = extent; break;
        case 'W':
          w = extent;
          past_spatial = true;
          break;
        default: (past_spatial ? pixel : outer) *= extent;
      }
    }
  }
};

// Which axes of a sample are mirrored.
class FlipArgs {
 public:
  struct Flips {
    Layout layout;
    bool w, h, d;
  };
  explicit FlipArgs(const OpSpec& spec)
      : layout_(spec, 0),
        horizontal_(spec, "horizontal"),
        vertical_(spec, "vertical"),
        depthwise_(spec, "depthwise") {}
  Flips operator()(const SampleContext& ctx, const SampleView& in) const {
    return {layout_(in), horizontal_(ctx) != 0, vertical_(ctx) != 0, depthwise_(ctx) != 0};
  }
  ImagePart part(const SampleContext& ctx, const SampleView& image) const {
    const Flips flips = (*this)(ctx, image);
    ImagePart part = ImagePart::whole(image.shape);
    part.rows.mirror = flips.h;
    part.columns.mirror = flips.w;
    return part;
  }

 private:
  InputLayout layout_;
  Arg<int> horizontal_, vertical_, depthwise_;
};

// Returns the input if nothing is mirrored.
bool share_unflipped(SampleContext& ctx, const Layout& layout, bool flipped) {
  if (flipped) return false;
  SampleView same = ctx.input(0);
  same.layout = layout;
  ctx.share_input(0, 0, same);
  return true;
}

class Flip final : public Operator, public TakesImagePart {
 public:
  explicit Flip(const OpSpec& spec) : flips_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto [layout, w, h, d] = flips_(ctx, in);
    const SpatialView v(in, layout);
    const bool flip_w = w && v.w > 1, flip_h = h && v.h > 1, flip_d = d && v.d > 1;
    if (share_unflipped(ctx, layout, flip_w || flip_h || flip_d)) return;
    const char* from = in.as<const char>();
    char* to = ctx.output(0, in.dtype, in.shape, layout).as<char>();
    const int64_t row = v.w * v.pixel, plane = v.h * row;
    if (in.volume() == 0) return;
    const kernels::MirrorFn mirror = kernels::mirror_function(v.pixel);
    for (int64_t od = 0; od < v.outer * v.d; ++od) {
      const int64_t source = flip_d ? od + v.d - 1 - 2 * (od % v.d) : od;
      const char* first = from + source * plane + (flip_h ? plane - row : 0);
      const int64_t step = flip_h ? -row : row;
      if (flip_w) {
        mirror(to, first, v.h, step, v.w, v.pixel);
        to += plane;
        continue;
      }
      for (int64_t h = 0; h < v.h; ++h, to += row)
        std::memcpy(to, first + h * step, static_cast<size_t>(row));
    }
  }
  std::optional<ImagePart> part(SampleContext& ctx, const SampleView& in) const override {
    return flips_.part(ctx, in);
  }

 private:
  FlipArgs flips_;
};

class FlipGpu final : public gpu::KernelOperator<gpu::CopyKernel>, public gpu::TakesPart {
 public:
  explicit FlipGpu(const OpSpec& spec) : flips_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto [layout, w, h, d] = flips_(ctx, in);
    if (share_unflipped(ctx, layout, w || h || d)) return;
    const SampleView& out = ctx.output(0, in.dtype, in.shape, layout);
    if (out.volume() == 0) return;
    const int64_t size = itemsize(in.dtype);
    auto axes = gpu::dense_axes(in.shape, size);
    const char* from = in.as<const char>();
    for (int i = 0; i < layout.size(); ++i) {
      const char letter = layout[i];
      if (!((letter == 'W' && w) || (letter == 'H' && h) || (letter == 'D' && d))) continue;
      gpu::CopyAxis& axis = axes[static_cast<size_t>(i)];
      from += (axis.extent - 1) * axis.in_stride;
      axis.in_stride = -axis.in_stride;
    }
    tasks(ctx).add(ctx, gpu::make_copy(from, out.data, out.size_bytes(), size, axes));
  }
  std::optional<ImagePart> part(SampleContext& ctx, const SampleView& in) const override {
    return flips_.part(ctx, in);
  }

 private:
  FlipArgs flips_;
};

TORCHDALI_OPERATOR("flip")
    .doc("Mirrors each sample along the chosen spatial axes.")
    .input("data", "Images, volumes or sequences; any element type.",
           {"FDHWC", "FHWC", "DHWC", "HWC", "FCDHW", "FCHW", "CDHW", "CHW"})
    .output("flipped", "Shape, element type and layout of the input.")
    .arg("horizontal", 1, "If not 0, mirrors the W axis (left to right).", Arity::kPerSample)
    .arg("vertical", 0, "If not 0, mirrors the H axis (top to bottom).", Arity::kPerSample)
    .arg("depthwise", 0, "If not 0, mirrors the D axis; ignored if there is none.",
         Arity::kPerSample)
    .sequences()
    .volumes()
    .image_role(ImageRole::kFlip)
    .cpu<Flip>()
    .gpu<FlipGpu>();

}  // namespace
}  // namespace torchdali
