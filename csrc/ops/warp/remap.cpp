// SPDX-License-Identifier: Apache-2.0
// fn.experimental.remap: takes pixels from the positions in two maps. DALI 1.35 has it on the GPU
// only.
#include <algorithm>
#include <cstring>

#include "kernels/convert.h"
#include "ops/input_layout.h"
#include "ops/warp/warp_args.h"
#include "ops/warp/warp_gpu.h"

namespace torchdali {
namespace {

kernels::WarpFilter remap_filter(InterpType type) {
  switch (type) {
    case InterpType::kNN: return kernels::WarpFilter::kNearest;
    case InterpType::kLinear: return kernels::WarpFilter::kLinear;
    case InterpType::kCubic: return kernels::WarpFilter::kCubic;
    case InterpType::kLanczos3: return kernels::WarpFilter::kLanczos3;
    default: break;
  }
  raise(ErrorKind::kValue, "`interp` is number ", static_cast<int>(type),
        " of DALIInterpType, expected INTERP_NN, INTERP_LINEAR, INTERP_CUBIC or INTERP_LANCZOS3");
}

class RemapArgs {
 public:
  explicit RemapArgs(const OpSpec& spec)
      : layout_(spec, 0),
        filter_(remap_filter(spec.get<InterpType>("interp"))),
        centers_(is_center_origin(spec)) {}

  struct Remap {
    kernels::WarpSource source;
    std::array<int64_t, 3> extents;  // of the result
  };
  // Makes the output.
  Remap operator()(SampleContext& ctx) const {
    const SampleView &in = ctx.input(0), &map_x = ctx.input(1), &map_y = ctx.input(2);
    const Layout layout = layout_(in);
    const auto extents = map_extents(map_x, "mapx");
    TORCHDALI_CHECK(extents == map_extents(map_y, "mapy"), "`mapx` has shape ", map_x.shape,
                    " and `mapy` ", map_y.shape, ", expected the same extents");
    Remap remap{.source = warp_source(in, layout, DType::kNone), .extents = extents};
    remap.source.filter = filter_;
    remap.source.border = kernels::Border::kConstant;
    ctx.output(0, in.dtype, warped_shape(in.shape, layout, extents), layout);
    return remap;
  }
  // Added to the positions in the maps.
  float shift() const { return centers_ ? 0.5f : 0.0f; }

 private:
  static std::array<int64_t, 3> map_extents(const SampleView& map, const char* name) {
    const Shape& s = map.shape;
    TORCHDALI_CHECK(s.ndim() == 2 || (s.ndim() == 3 && s[2] == 1), "`", name, "` has shape ", s,
                    ", expected [height, width] or [height, width, 1]");
    return {1, s[0], s[1]};
  }
  InputLayout layout_;
  kernels::WarpFilter filter_;
  bool centers_;
};

class Remap final : public Operator {
 public:
  explicit Remap(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    auto [source, extents] = args_(ctx);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() == 0) return;
    const float shift = args_.shift();
    const int64_t width = extents[2];
    const auto read = [shift](const SampleView& map, int64_t at, int64_t n, float* to) {
      kernels::converter(DType::kFloat, map.dtype)(
          to, map.as<const char>() + at * itemsize(map.dtype), n);
      for (int64_t i = 0; i < n; ++i) to[i] += shift;
    };
    const SampleView &map_x = ctx.input(1), &map_y = ctx.input(2);
    kernels::warp(kernels::WarpSampler(std::move(source)), extents, out.data,
                  [&](kernels::WarpPoints& points, int64_t, int64_t h, int64_t w, int64_t n) {
                    read(map_x, h * width + w, n, points.x);
                    read(map_y, h * width + w, n, points.y);
                  });
  }

 private:
  RemapArgs args_;
};

class RemapGpu final : public WarpGpuOperator {
 public:
  explicit RemapGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    auto [source, extents] = args_(ctx);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() == 0) return;
    Task task;
    set_warp(blob(ctx), task, kernels::WarpSampler(std::move(source)), extents, out.data);
    task.map = gpu::WarpMap::kLists;
    task.shift = args_.shift();
    for (int i = 0; i < 2; ++i) {
      task.lists[i] = ctx.input(1 + i).data;
      task.list_dtypes[i] = ctx.input(1 + i).dtype;
    }
    tasks(ctx).add(ctx, task);
  }

 private:
  RemapArgs args_;
};

TORCHDALI_OPERATOR("experimental.remap")
    .doc(
        "Takes each pixel of the result from the position in two maps: result(x, y) = "
        "input(mapx(x, y), mapy(x, y)). What is outside the input, or not a number, "
        "is 0.")
    .input("input", "Images or sequences; any number of channels and element type.",
           {"HWC", "FHWC"})
    .input("mapx", "Horizontal positions, in pixels: [height, width] of the result.",
           {"HWC", "HW", "FHWC", "FHW", "F***", "F**"})
    .input("mapy", "Vertical positions, in pixels; shape of `mapx`.",
           {"HWC", "HW", "FHWC", "FHW", "F***", "F**"})
    .output("remapped", "Layout and element type of the input, extents of the maps.")
    .arg("interp", InterpType::kLinear,
         "Interpolation: INTERP_LINEAR, INTERP_NN, INTERP_CUBIC or INTERP_LANCZOS3.")
    .with(add_pixel_origin)
    .each_frame()
    .cpu<Remap>()
    .gpu<RemapGpu>();

}  // namespace
}  // namespace torchdali
