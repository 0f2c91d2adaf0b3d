// SPDX-License-Identifier: Apache-2.0
// fn.flip: mirrors samples along W, H or D.
#include <cstring>

#include "core/operator.h"
#include "kernels/mirror.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

// Any supported layout, seen as [outer, D, H, W, pixel]. Spatial axes are always adjacent, so one
// loop serves every layout and element type.
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

class Flip final : public Operator {
 public:
  explicit Flip(const OpSpec& spec)
      : layout_(spec, 0),
        horizontal_(spec, "horizontal"),
        vertical_(spec, "vertical"),
        depthwise_(spec, "depthwise") {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const SpatialView v(in, layout);
    const bool flip_w = horizontal_(ctx) != 0 && v.w > 1;
    const bool flip_h = vertical_(ctx) != 0 && v.h > 1;
    const bool flip_d = depthwise_(ctx) != 0 && v.d > 1;
    if (!flip_w && !flip_h && !flip_d) {
      SampleView same = in;
      same.layout = layout;
      ctx.share_input(0, 0, same);
      return;
    }
    const char* from = in.as<const char>();
    char* to = ctx.output(0, in.dtype, in.shape, layout).as<char>();
    const int64_t row = v.w * v.pixel, plane = v.h * row;
    if (in.volume() == 0) return;
    const kernels::MirrorFn mirror = kernels::mirror_function(v.pixel);
    for (int64_t od = 0; od < v.outer * v.d; ++od) {
      const int64_t source = flip_d ? od + v.d - 1 - 2 * (od % v.d) : od;
      const char* slice = from + source * plane;
      for (int64_t h = 0; h < v.h; ++h, to += row) {
        const char* line = slice + (flip_h ? v.h - 1 - h : h) * row;
        if (flip_w) mirror(to, line, v.w, v.pixel);
        else std::memcpy(to, line, static_cast<size_t>(row));
      }
    }
  }

 private:
  InputLayout layout_;
  Arg<int> horizontal_, vertical_, depthwise_;
};

TORCHDALI_OPERATOR("flip")
    .doc("Mirrors each sample along the chosen spatial axes.")
    .input("data", "Images, volumes or sequences; any element type.",
           {"FDHWC", "FHWC", "DHWC", "HWC", "FCDHW", "FCHW", "CDHW", "CHW"})
    .output("flipped", "Shape, element type and layout of the input.")
    .arg("horizontal", 1, "Mirror the W axis (left to right) where not 0.", Arity::kPerSample)
    .arg("vertical", 0, "Mirror the H axis (top to bottom) where not 0.", Arity::kPerSample)
    .arg("depthwise", 0, "Mirror the D axis where not 0; ignored where there is none.",
         Arity::kPerSample)
    .sequences()
    .volumes()
    .cpu<Flip>();

}  // namespace
}  // namespace torchdali
