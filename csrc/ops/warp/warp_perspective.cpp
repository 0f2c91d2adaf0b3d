// SPDX-License-Identifier: Apache-2.0
// fn.experimental.warp_perspective: images under perspective maps. Source: the documentation of
// DALI 2; DALI 1.35 does not have it.
#include <algorithm>
#include <string>

#include "ops/input_layout.h"
#include "ops/warp/warp_args.h"
#include "ops/warp/warp_gpu.h"

namespace torchdali {
namespace {

using Matrix = std::array<double, 9>;

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j)
      for (size_t k = 0; k < 3; ++k) c[i * 3 + j] += a[i * 3 + k] * b[k * 3 + j];
  return c;
}

kernels::Border parse_border(const std::string& name) {
  if (name == "constant") return kernels::Border::kConstant;
  if (name == "replicate") return kernels::Border::kClamp;
  if (name == "reflect") return kernels::Border::kReflect1001;
  if (name == "reflect_101") return kernels::Border::kReflect101;
  TORCHDALI_CHECK(name == "wrap", "`border_mode` is \"", name,
                  "\", expected \"constant\", \"replicate\", \"reflect\", \"reflect_101\" or "
                  "\"wrap\"");
  return kernels::Border::kWrap;
}

kernels::WarpFilter perspective_filter(InterpType type) {
  if (type == InterpType::kCubic) return kernels::WarpFilter::kCubic;
  if (type == InterpType::kLanczos3) return kernels::WarpFilter::kLanczos3;
  TORCHDALI_CHECK(type == InterpType::kNN || type == InterpType::kLinear, "`interp_type` is ",
                  type == InterpType::kGaussian ? "INTERP_GAUSSIAN" : "INTERP_TRIANGULAR",
                  ", expected INTERP_NN, INTERP_LINEAR, INTERP_CUBIC or INTERP_LANCZOS3");
  return warp_filter(type);
}

class WarpPerspectiveArgs {
 public:
  explicit WarpPerspectiveArgs(const OpSpec& spec)
      : layout_(spec, 0),
        size_(spec),
        matrix_(spec),
        border_(parse_border(spec.get<std::string>("border_mode"))),
        fill_(spec.get<std::vector<float>>("fill_value")),
        filter_(perspective_filter(spec.get<InterpType>("interp_type"))),
        inverse_map_(spec.get<bool>("inverse_map")),
        centers_(is_center_origin(spec)) {
    if (fill_.empty()) fill_ = {0.0f};
  }

  // Makes the output, and calls warp(source, matrix, extents, out) for each of its planes.
  template <class Warp>
  void each_plane(SampleContext& ctx, Warp&& warp) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    kernels::WarpSource source = warp_source(in, layout, DType::kNone);
    source.filter = filter_;
    source.border = border_;
    const auto extents = size_.given() ? size_(ctx, false) : source.extents;
    const int64_t channels = source.channels;
    TORCHDALI_CHECK(fill_.size() == 1 || static_cast<int64_t>(fill_.size()) == channels,
                    "`fill_value` has ", fill_.size(), " values, expected 1 or one for each of ",
                    channels, " channels");
    Matrix matrix;
    matrix_.read(ctx, 3, 3, matrix.data());
    if (!inverse_map_) invert(matrix.data());
    if (centers_)
      matrix = multiply({1, 0, 0.5, 0, 1, 0.5, 0, 0, 1},
                        multiply(matrix, {1, 0, -0.5, 0, 1, -0.5, 0, 0, 1}));
    SampleView& out = ctx.output(0, in.dtype, warped_shape(in.shape, layout, extents), layout);
    if (out.volume() == 0) return;
    const int64_t planes = layout[0] == 'C' ? channels : 1;
    source.channels = channels / planes;
    const int64_t in_bytes = in.size_bytes() / planes, out_bytes = out.size_bytes() / planes;
    for (int64_t p = 0; p < planes; ++p) {
      source.data = in.as<char>() + p * in_bytes;
      source.fill = fill_;
      if (planes > 1 && fill_.size() > 1) source.fill = {fill_[static_cast<size_t>(p)]};
      warp(source, matrix, extents, out.as<char>() + p * out_bytes);
    }
  }

 private:
  InputLayout layout_;
  WarpSize size_;
  MatrixArg matrix_;
  kernels::Border border_;
  std::vector<float> fill_;
  kernels::WarpFilter filter_;
  bool inverse_map_, centers_;
};

class WarpPerspective final : public Operator {
 public:
  explicit WarpPerspective(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    args_.each_plane(ctx, [](const kernels::WarpSource& source, const Matrix& matrix,
                             const std::array<int64_t, 3>& extents, void* out) {
      run_plane(kernels::WarpSampler(source), matrix, extents, out);
    });
  }

 private:
  static void run_plane(const kernels::WarpSampler& sampler, const Matrix& matrix,
                        const std::array<int64_t, 3>& extents, void* out) {
    float steps[3];
    for (size_t k = 0; k < 3; ++k) steps[k] = static_cast<float>(matrix[3 * k]);
    kernels::warp(sampler, extents, out,
                  [&](kernels::WarpPoints& points, int64_t, int64_t h, int64_t w, int64_t n) {
                    float bases[3];
                    for (size_t k = 0; k < 3; ++k)
                      bases[k] = static_cast<float>(
                          matrix[3 * k + 1] * (static_cast<double>(h) + 0.5) + matrix[3 * k + 2]);
                    kernels::perspective_points(steps, bases, w, n, points.x, points.y);
                  });
  }

  WarpPerspectiveArgs args_;
};

class WarpPerspectiveGpu final : public WarpGpuOperator {
 public:
  explicit WarpPerspectiveGpu(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    args_.each_plane(ctx, [&](const kernels::WarpSource& source, const Matrix& matrix,
                              const std::array<int64_t, 3>& extents, void* out) {
      Task task;
      set_warp(blob(ctx), task, kernels::WarpSampler(source), extents, out);
      task.map = gpu::WarpMap::kPerspective;
      for (size_t k = 0; k < 3; ++k) {
        task.matrix[k] = static_cast<float>(matrix[3 * k]);
        task.columns[2 * k] = matrix[3 * k + 1];
        task.columns[2 * k + 1] = matrix[3 * k + 2];
      }
      tasks(ctx).add(ctx, task);
    });
  }

 private:
  WarpPerspectiveArgs args_;
};

TORCHDALI_OPERATOR("experimental.warp_perspective")
    .doc(
        "Warps images by a perspective map: with (x', y', w') = matrix (x, y, 1), result(x, y) = "
        "input(x' / w', y' / w'). Linear interpolation is computed in float32; for uint8 in fixed "
        "point, which differs by at most 1.")
    .input("input", "Images or sequences; any element type.", {"HW", "HWC", "FHWC", "CHW", "FCHW"})
    .optional_input("matrix", "Replaces the argument `matrix`: [3, 3].")
    .output("warped", "Layout and element type of the input, extents `size`.")
    .arg("matrix", std::vector<float>{},
         "The map from positions in the result to positions in the input: a 3 x 3 matrix, or its 9 "
         "numbers row by row.",
         Arity::kPerSample)
    .arg("inverse_map", true,
         "False where the matrix maps the input to the result; it is inverted then.")
    .with(add_warp_size)
    .arg("interp_type", InterpType::kLinear,
         "Interpolation: INTERP_LINEAR, INTERP_NN, INTERP_CUBIC (Keys, a = -0.5) or "
         "INTERP_LANCZOS3.")
    .arg("border_mode", "constant",
         "Values outside the input: \"constant\" (`fill_value`), \"replicate\" (aaa|abcd|ddd), "
         "\"reflect\" (cba|abcd|dcb), \"reflect_101\" (dcb|abcd|cba) or \"wrap\" (bcd|abcd|abc).")
    .arg("fill_value", std::vector<float>{},
         "Value of the constant border: one number, or one for each channel; 0 by "
         "default.")
    .with(add_pixel_origin)
    .each_frame()
    .host_input(1)
    .cpu<WarpPerspective>()
    .gpu<WarpPerspectiveGpu>();

}  // namespace
}  // namespace torchdali
