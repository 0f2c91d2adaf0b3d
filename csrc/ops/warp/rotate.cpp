// SPDX-License-Identifier: Apache-2.0
// fn.rotate: rotates images and volumes about their center. Handles sequences itself, because
// frames with different angles share a canvas that contains all of them.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "ops/frame_values.h"
#include "ops/input_layout.h"
#include "ops/warp/rotated_canvas.h"
#include "ops/warp/warp_args.h"
#include "ops/warp/warp_gpu.h"

namespace torchdali {
namespace {

// A rotation by `radians`; a float, as in DALI.
struct Turn {
  float radians = 0;
  std::array<double, 3> axis = {0, 0, 1};  // x, y, z; of length 1
};
// Counterclockwise with y pointing down, from the result to the source; volumes rotate by a
// positive angle about the axis (Rodrigues).
Matrix3 rotation(const Turn& turn, bool volume) {
  const double c = std::cos(static_cast<double>(turn.radians)),
               s = std::sin(static_cast<double>(turn.radians));
  if (!volume) return {{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}};
  const auto [x, y, z] = turn.axis;
  const double t = 1 - c;
  Matrix3 m = {{{x * x * t + c, x * y * t + z * s, x * z * t - y * s},
                {y * x * t - z * s, y * y * t + c, y * z * t + x * s},
                {z * x * t + y * s, z * y * t - x * s, z * z * t + c}}};
  // Rounded to float, as in DALI, where the sine and the cosine of 45 degrees are equal.
  for (auto& row : m)
    for (double& value : row) value = static_cast<float>(value);
  return m;
}

// Rotations, described frame by frame.
class RotateArgs {
 public:
  explicit RotateArgs(const OpSpec& spec)
      : layout_(spec, 0),
        settings_(spec),
        size_(spec),
        angle_(spec, "angle", 1),
        axis_(spec, "axis", 3),
        keep_size_(spec.get<bool>("keep_size")) {}

  // Makes the output, and calls warp(source, matrix, extents, out) for each frame.
  template <class Warp>
  void each_frame(SampleContext& ctx, Warp&& warp) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const bool sequence = layout[0] == 'F';
    SampleView frame = in;
    frame.layout = sequence ? Layout(layout.str().substr(1)) : layout;
    if (sequence) frame.shape = Shape(in.shape.span().subspan(1));
    const int64_t frames = sequence ? in.shape[0] : 1;
    TORCHDALI_CHECK(frames > 0, "a sequence without frames, of shape ", in.shape);
    kernels::WarpSource source = settings_.source(frame, frame.layout);
    const bool volume = source.volume;
    std::array<int64_t, 3> extents = size_.given() ? size_(ctx, volume) : source.extents;
    if (!size_.given() && !keep_size_) {
      RotatedCanvas canvas(source.extents);
      const bool per_frame = angle_.per_frame(ctx) || axis_.per_frame(ctx);
      for (int64_t f = 0; f < (per_frame ? frames : 1); ++f)
        canvas.add(rotation(turn(ctx, f, frames, volume), volume));
      extents = canvas.extents();
    }
    Shape shape = warped_shape(frame.shape, frame.layout, extents);
    if (sequence) {
      Shape whole{frames};
      for (const int64_t extent : shape) whole.push_back(extent);
      shape = whole;
    }
    SampleView& out = ctx.output(0, source.out_dtype, shape, layout);
    if (out.volume() == 0) return;
    const int64_t in_bytes = frame.size_bytes(), out_bytes = out.size_bytes() / frames;
    for (int64_t f = 0; f < frames; ++f) {
      source.data = in.as<char>() + f * in_bytes;
      float matrix[12] = {};
      set_matrix(source, turn(ctx, f, frames, volume), extents, matrix);
      warp(source, matrix, extents, out.as<char>() + f * out_bytes);
    }
  }

 private:
  Turn turn(const SampleContext& ctx, int64_t frame, int64_t frames, bool volume) const {
    Turn turn;
    float degrees = 0;
    angle_.read(ctx, frame, frames, &degrees);
    turn.radians = radians_of(degrees);
    if (!volume) return turn;
    TORCHDALI_CHECK(axis_.given(), "`axis` is missing: volumes are turned about (x, y, z)");
    float axis[3];
    axis_.read(ctx, frame, frames, axis);
    const double length = std::hypot(double{axis[0]}, double{axis[1]}, double{axis[2]});
    TORCHDALI_CHECK(length > 0 && std::isfinite(length), "`axis` is (", axis[0], ", ", axis[1],
                    ", ", axis[2], "), expected a finite vector that is not 0");
    for (size_t i = 0; i < 3; ++i) turn.axis[i] = axis[i] / length;
    return turn;
  }
  static void set_matrix(const kernels::WarpSource& source, const Turn& turn,
                         const std::array<int64_t, 3>& extents, float* matrix) {
    const Matrix3 m = rotation(turn, source.volume);
    const int ndim = source.volume ? 3 : 2;
    for (int i = 0; i < ndim; ++i) {
      double shift = 0.5 * static_cast<double>(source.extents[2 - i]);
      for (int j = 0; j < ndim; ++j) {
        matrix[i * (ndim + 1) + j] = static_cast<float>(m[i][j]);
        shift -= m[i][j] * 0.5 * static_cast<double>(extents[2 - j]);
      }
      matrix[i * (ndim + 1) + ndim] = static_cast<float>(shift);
    }
  }

  InputLayout layout_;
  WarpSettings settings_;
  WarpSize size_;
  FrameValues angle_, axis_;
  bool keep_size_;
};

class Rotate final : public Operator {
 public:
  explicit Rotate(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    args_.each_frame(ctx, [](const kernels::WarpSource& source, const float* matrix,
                             const std::array<int64_t, 3>& extents, void* out) {
      kernels::warp_affine(kernels::WarpSampler(source), source.volume, matrix, extents, out);
    });
  }

 private:
  RotateArgs args_;
};

class RotateGpu final : public WarpGpuOperator {
 public:
  explicit RotateGpu(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    args_.each_frame(ctx, [&](const kernels::WarpSource& source, const float* matrix,
                              const std::array<int64_t, 3>& extents, void* out) {
      Task task;
      set_warp(blob(ctx), task, kernels::WarpSampler(source), extents, out);
      std::copy(matrix, matrix + std::size(task.matrix), task.matrix);
      tasks(ctx).add(ctx, task);
    });
  }

 private:
  RotateArgs args_;
};

TORCHDALI_OPERATOR("rotate")
    .doc(
        "Rotates images and volumes about their center. The canvas grows to contain the whole "
        "result, unless `size` or `keep_size` is given; that of a sequence contains all frames. "
        "The precision is that of fn.warp_affine.")
    .input("data", "Images, volumes or sequences; any element type.",
           {"HWC", "FHWC", "DHWC", "FDHWC"})
    .output("rotated", "Layout of the input, element type `dtype`.")
    .required_arg("angle", ArgType::kFloat,
                  "Angle in degrees. Images rotate counterclockwise (the first row is on top), "
                  "volumes about `axis`. May have a value for each frame.",
                  Arity::kPerSample)
    .optional_arg(
        "axis", ArgType::kFloatVec,
        "Rotation axis of volumes: a vector (x, y, z) of any length except 0. Ignored for "
        "images. May have a value for each frame.",
        Arity::kPerSample)
    .arg("keep_size", false, "Keep the extents of the input if `size` is not given.")
    .with(add_warp_size)
    .with(add_warp_settings)
    .volumes()
    .cpu<Rotate>()
    .gpu<RotateGpu>();

}  // namespace
}  // namespace torchdali
