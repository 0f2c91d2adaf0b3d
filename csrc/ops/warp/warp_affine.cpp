// SPDX-License-Identifier: Apache-2.0
// fn.warp_affine: images and volumes under affine maps.
#include <algorithm>
#include <array>
#include <iterator>

#include "ops/input_layout.h"
#include "ops/warp/warp_args.h"
#include "ops/warp/warp_gpu.h"

namespace torchdali {
namespace {

class WarpAffineArgs {
 public:
  explicit WarpAffineArgs(const OpSpec& spec)
      : layout_(spec, 0),
        settings_(spec),
        size_(spec),
        matrix_(spec),
        inverse_map_(spec.get<bool>("inverse_map")) {}

  struct Warp {
    kernels::WarpSource source;
    std::array<int64_t, 3> extents;  // of the result
    float matrix[12];
  };
  // Makes the output.
  Warp operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    Warp warp{.source = settings_.source(in, layout), .extents = {}, .matrix = {}};
    const bool volume = warp.source.volume;
    warp.extents = size_.given() ? size_(ctx, volume) : warp.source.extents;
    const Shape shape = warped_shape(in.shape, layout, warp.extents);
    read_matrix(ctx, volume ? 3 : 2, warp.matrix);
    ctx.output(0, warp.source.out_dtype, shape, layout);
    return warp;
  }

 private:
  void read_matrix(const SampleContext& ctx, int ndim, float* matrix) const {
    double m[12];
    matrix_.read(ctx, ndim, ndim + 1, m);
    if (!inverse_map_) {
      double linear[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
      for (int r = 0; r < ndim; ++r)
        for (int c = 0; c < ndim; ++c) linear[r * 3 + c] = m[r * (ndim + 1) + c];
      invert(linear);
      double shift[3];
      for (int r = 0; r < ndim; ++r) shift[r] = m[r * (ndim + 1) + ndim];
      for (int r = 0; r < ndim; ++r) {
        double moved = 0;
        for (int c = 0; c < ndim; ++c) {
          m[r * (ndim + 1) + c] = linear[r * 3 + c];
          moved -= linear[r * 3 + c] * shift[c];
        }
        m[r * (ndim + 1) + ndim] = moved;
      }
    }
    for (int i = 0; i < ndim * (ndim + 1); ++i) matrix[i] = static_cast<float>(m[i]);
  }

  InputLayout layout_;
  WarpSettings settings_;
  WarpSize size_;
  MatrixArg matrix_;
  bool inverse_map_;
};

class WarpAffine final : public Operator {
 public:
  explicit WarpAffine(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const auto warp = args_(ctx);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() == 0) return;
    kernels::warp_affine(kernels::WarpSampler(warp.source), warp.source.volume, warp.matrix,
                         warp.extents, out.data);
  }

 private:
  WarpAffineArgs args_;
};

class WarpAffineGpu final : public WarpGpuOperator {
 public:
  explicit WarpAffineGpu(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const auto warp = args_(ctx);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() == 0) return;
    Task task;
    set_warp(blob(ctx), task, kernels::WarpSampler(warp.source), warp.extents, out.data);
    std::copy(std::begin(warp.matrix), std::end(warp.matrix), task.matrix);
    tasks(ctx).add(ctx, task);
  }

 private:
  WarpAffineArgs args_;
};

TORCHDALI_OPERATOR("warp_affine")
    .doc(
        "Warps images and volumes by an affine map: result(x, y) = data(M11 x + M12 y + M13, M21 x "
        "+ M22 y + M23). (0, 0) is the corner of the first pixel, so the center of pixel i is at i "
        "+ 0.5. Linear interpolation is computed in float32; for uint8 in fixed point, which "
        "differs by at most 1.")
    .input("data", "Images, volumes or sequences; any element type.",
           {"HWC", "FHWC", "DHWC", "FDHWC"})
    .optional_input("mtx", "Replaces `matrix`: [2, 3], or [3, 4] for volumes.")
    .output("warped", "Layout of the input, extents `size`, element type `dtype`.")
    .arg("matrix", std::vector<float>{},
         "The map from positions in the result to positions in the input: 2 x 3 numbers (M11, M12, "
         "M13, M21, M22, M23), or 3 x 4 for volumes; coordinates are x, y, z.",
         Arity::kPerSample)
    .arg("inverse_map", true,
         "False if the matrix maps the input to the result; it is then inverted.")
    .with(add_warp_size)
    .with(add_warp_settings)
    .each_frame()
    .volumes()
    .host_input(1)
    .cpu<WarpAffine>()
    .gpu<WarpAffineGpu>();

}  // namespace
}  // namespace torchdali
