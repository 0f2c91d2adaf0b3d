// SPDX-License-Identifier: Apache-2.0
// fn.coord_transform: M x + T for all vectors of a sample.
#include <algorithm>

#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/boxes/linear_points.h"
#include "kernels/boxes/points_gpu.h"
#include "kernels/convert.h"
#include "ops/transforms/affine.h"

namespace torchdali {
namespace {

// The matrix and the offset of a sample, in its scratch memory.
class CoordTransformArgs {
 public:
  explicit CoordTransformArgs(const OpSpec& spec)
      : matrix_(spec, "M"),
        offset_(spec, "T"),
        block_(spec, "MT"),
        dtype_(spec.get<DType>("dtype")) {
    TORCHDALI_CHECK(!block_.given() || (!matrix_.given() && !offset_.given()),
                    "`MT` excludes `M` and `T`: give one or the others");
  }

  // Makes the output.
  kernels::LinearMap operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const int ndim = in.shape.ndim();
    TORCHDALI_CHECK(ndim >= 2, "input `points` has shape ", in.shape,
                    ", expected at least 2 dimensions, the last of which is a vector");
    const int64_t columns = in.shape[ndim - 1];
    int64_t rows = columns;
    std::span<const float> values;
    int64_t step = columns;  // from row to row of `values`
    bool is_matrix = false;  // else one number is that number times the identity
    if (block_.given() || matrix_.given()) {
      const FloatsArg& arg = block_.given() ? block_ : matrix_;
      values = arg(ctx);
      step += block_.given();
      is_matrix = values.size() != 1 || arg.shape(ctx).ndim() >= 2;
      if (is_matrix) rows = count_rows(arg, ctx, values, step);
    }
    const auto matrix = ctx.scratch<float>(static_cast<size_t>(rows * columns));
    const auto added = ctx.scratch<float>(static_cast<size_t>(rows));
    std::fill(added.begin(), added.end(), 0.0f);
    const float factor = values.empty() ? 1.0f : values[0];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c)
        matrix[r * columns + c] = is_matrix ? values[r * step + c] : r == c ? factor : 0.0f;
      if (is_matrix && block_.given()) added[r] = values[r * step + columns];
    }
    if (offset_.given()) {
      const auto offset = offset_(ctx);
      TORCHDALI_CHECK(offset.size() == 1 || static_cast<int64_t>(offset.size()) == rows, "`T` has ",
                      offset.size(), " values, expected one, or one for each of the ", rows,
                      " rows of the matrix");
      for (int64_t r = 0; r < rows; ++r) added[r] = offset[offset.size() == 1 ? 0 : r];
    }
    Shape shape = in.shape;
    shape[ndim - 1] = rows;
    ctx.output(0, dtype_, shape, in.layout);
    return {.rows = rows, .columns = columns, .matrix = matrix.data(), .offset = added.data()};
  }

 private:
  static int64_t count_rows(const FloatsArg& arg, SampleContext& ctx, std::span<const float> values,
                            int64_t step) {
    const Shape shape = arg.shape(ctx);
    const int64_t size = static_cast<int64_t>(values.size());
    const bool fits =
        step > 0 && size % step == 0 && (shape.ndim() < 2 || shape[1] == step) && shape.ndim() <= 2;
    TORCHDALI_CHECK(fits && size > 0, "`", arg.name(), "` has shape ", shape, ", expected rows of ",
                    step, " values: the vectors have ", step - (arg.name() == "MT"), " components");
    return size / step;
  }

  FloatsArg matrix_, offset_, block_;
  DType dtype_;
};

class CoordTransform final : public Operator {
 public:
  explicit CoordTransform(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const kernels::LinearMap map = args_(ctx);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() > 0) transform(ctx.input(0), out, out.volume() / map.rows, map, ctx);
  }

 private:
  // If types are converted, in blocks that stay in the L1 cache.
  static void transform(const SampleView& in, const SampleView& out, int64_t count,
                        const kernels::LinearMap& map, SampleContext& ctx) {
    const bool from_float = in.dtype == DType::kFloat, to_float = out.dtype == DType::kFloat;
    const int64_t piece = from_float && to_float
                              ? count
                              : std::max<int64_t>(1, 2048 / std::max(map.rows, map.columns));
    const auto buffer = [&](bool needed, int64_t components) {
      return needed ? ctx.scratch<float>(static_cast<size_t>(piece * components)).data() : nullptr;
    };
    float* in_buffer = buffer(!from_float, map.columns);
    float* out_buffer = buffer(!to_float, map.rows);
    const auto read = kernels::converter(DType::kFloat, in.dtype);
    const auto write = kernels::converter(out.dtype, DType::kFloat);
    const char* from = in.as<const char>();
    char* to = out.as<char>();
    for (int64_t done = 0; done < count; done += piece) {
      const int64_t n = std::min(piece, count - done);
      if (!from_float) read(in_buffer, from, n * map.columns);
      kernels::transform_points(to_float ? reinterpret_cast<float*>(to) : out_buffer,
                                from_float ? reinterpret_cast<const float*>(from) : in_buffer, n,
                                map);
      if (!to_float) write(to, out_buffer, n * map.rows);
      from += n * map.columns * itemsize(in.dtype);
      to += n * map.rows * itemsize(out.dtype);
    }
  }

  CoordTransformArgs args_;
};

class CoordTransformGpu final : public gpu::KernelOperator<gpu::TransformPointsKernel> {
 public:
  explicit CoordTransformGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const kernels::LinearMap map = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (out.volume() == 0) return;
    Task task;
    task.in = in.data;
    task.out = out.data;
    task.size = out.volume();
    task.in_dtype = in.dtype;
    task.out_dtype = out.dtype;
    task.rows = map.rows;
    task.columns = map.columns;
    const auto rows = static_cast<size_t>(map.rows), columns = static_cast<size_t>(map.columns);
    task.matrix = blob(ctx).keep(std::span(map.matrix, rows * columns));
    task.offset = blob(ctx).keep(std::span(map.offset, rows));
    tasks(ctx).add(ctx, task);
  }

 private:
  CoordTransformArgs args_;
};

TORCHDALI_OPERATOR("coord_transform")
    .doc(
        "M * x + T for the vectors x along the last axis, computed in float: points, or the "
        "channels of pixels.")
    .input("points",
           "Vectors of n components, shape (..., n), any element type; with frames if the layout "
           "begins with F. Vectors without frames are used for each frame of the arguments.")
    .output("transformed",
            "Vectors of m components, shape (..., m), element type `dtype`, layout of the input.")
    .optional_arg("M", ArgType::kFloatVec,
                  "The matrix, m x n, as a tensor or a list of its rows; or one number, which "
                  "multiplies all components. The identity by default.",
                  Arity::kPerSample)
    .optional_arg("T", ArgType::kFloatVec, "The offset: m numbers, or one for all. 0 by default.",
                  Arity::kPerSample)
    .optional_arg("MT", ArgType::kFloatVec,
                  "M and T as one matrix [M T], m x (n + 1); or one number, as for `M`. Excludes "
                  "them.",
                  Arity::kPerSample)
    .arg("dtype", DType::kFloat,
         "Element type of the output. For integers results are rounded to the nearest, halves away "
         "from zero, and saturate.")
    .repeats_inputs()
    .cpu<CoordTransform>()
    .gpu<CoordTransformGpu>();

}  // namespace
}  // namespace torchdali
