// SPDX-License-Identifier: Apache-2.0
// fn.full, fn.zeros, fn.ones, and their variants with the shape of an input (_like).
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/argument.h"
#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/copy_axes.h"
#include "gpu/operator.h"
#include "kernels/convert.h"
#include "kernels/convert_gpu.h"
#include "kernels/window/copy_gpu.h"
#include "kernels/window/fill.h"

namespace torchdali {
namespace {

// Repeats the first `count` elements of `out` until there are `total`.
void repeat(char* out, int64_t count, int64_t total) {
  for (int64_t done = count; done < total; done *= 2)
    std::memcpy(out + done, out, static_cast<size_t>(std::min(done, total - done)));
}

// NumPy's rules: axes are compared from the end; along an axis where `value` has extent 1 or no
// axis, it is repeated. Returns the number of missing axes.
int check_fits(const SampleView& out, const SampleView& value) {
  const int shift = out.shape.ndim() - value.shape.ndim();
  bool fits = shift >= 0;
  for (int i = 0; fits && i < value.shape.ndim(); ++i)
    fits = value.shape[i] == out.shape[i + shift] || value.shape[i] == 1;
  TORCHDALI_CHECK(fits, "`fill_value` of shape ", value.shape,
                  " cannot be repeated to fill the shape ", out.shape);
  return shift;
}

// Writes `value` to `out`, repeated to its shape.
void broadcast(const SampleView& out, const SampleView& value) {
  const int64_t size = itemsize(out.dtype);
  const int shift = check_fits(out, value);
  if (out.volume() == 0) return;
  // From the last axis to the first: the elements of an axis, then their repetitions.
  int64_t block = 1;  // elements of `out` after the axis
  std::vector<char> done(value.as<char>(), value.as<char>() + value.size_bytes());
  for (int axis = out.shape.ndim() - 1; axis >= 0; --axis) {
    const int64_t extent = out.shape[axis];
    const int64_t have = axis >= shift ? value.shape[axis - shift] : 1;
    if (have == extent) {
      block *= extent;
      continue;
    }
    // Repeats every block `extent` times.
    const auto blocks = static_cast<int64_t>(done.size()) / (block * size);
    std::vector<char> wider(static_cast<size_t>(blocks * block * extent * size));
    for (int64_t b = 0; b < blocks; ++b) {
      char* to = wider.data() + b * block * extent * size;
      std::memcpy(to, done.data() + b * block * size, static_cast<size_t>(block * size));
      repeat(to, block * size, block * extent * size);
    }
    done.swap(wider);
    block *= extent;
  }
  std::memcpy(out.data, done.data(), done.size());
}

// The argument `shape`; without it, the shape `otherwise`.
Shape shape_of(const SampleContext& ctx, const ListArg<int64_t>& arg, const Shape& otherwise) {
  if (!arg.given()) return otherwise;
  static thread_local std::vector<int64_t> buffer;
  Shape shape;
  for (const int64_t extent : arg(ctx, buffer)) {
    TORCHDALI_CHECK(extent >= 0, "`shape` has a negative extent: ", extent);
    shape.push_back(extent);
  }
  return shape;
}

const SampleView& make(SampleContext& ctx, DType dtype, const Shape& shape, const Layout& layout) {
  checked_size_bytes({.data = nullptr, .dtype = dtype, .shape = shape, .layout = {}});
  TORCHDALI_CHECK_KIND(kLayout, layout.empty() || layout.size() == shape.ndim(), "`layout` ",
                       layout, " does not fit the shape ", shape);
  return ctx.output(0, dtype, shape, layout);
}

void fill(const SampleView& out, float value) {
  kernels::fill(out.data, itemsize(out.dtype), out.volume(),
                kernels::fill_element(out.dtype, value));
}

template <int kValue>
class Uniform final : public Operator {
 public:
  explicit Uniform(const OpSpec& spec) : dtype_(spec.get<DType>("dtype")), shape_(spec, "shape") {
    if (spec.has("layout")) layout_ = spec.get<Layout>("layout");
  }
  void run(SampleContext& ctx) const override {
    fill(make(ctx, dtype_, shape_of(ctx, shape_, {}), layout_), kValue);
  }

 private:
  DType dtype_;
  ListArg<int64_t> shape_;
  Layout layout_;
};

// The output of an operator that has the shape and, by default, the type of its input.
class Like {
 public:
  explicit Like(const OpSpec& spec) {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
  }
  const SampleView& make_output(SampleContext& ctx) const {
    const SampleView& like = ctx.input(0);
    return make(ctx, dtype_ == DType::kNone ? like.dtype : dtype_, like.shape, like.layout);
  }

 private:
  DType dtype_ = DType::kNone;
};

template <int kValue>
class UniformLike final : public Operator {
 public:
  explicit UniformLike(const OpSpec& spec) : like_(spec) {}
  void run(SampleContext& ctx) const override { fill(like_.make_output(ctx), kValue); }

 private:
  Like like_;
};

template <int kValue>
class UniformLikeGpu final : public gpu::KernelOperator<gpu::CopyKernel> {
 public:
  explicit UniformLikeGpu(const OpSpec& spec) : like_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& out = like_.make_output(ctx);
    const uint64_t bytes = kernels::fill_element(out.dtype, kValue);
    tasks(ctx).add(ctx, gpu::make_fill(out.data, out.size_bytes(), itemsize(out.dtype), bytes));
  }

 private:
  Like like_;
};

class Full final : public Operator {
 public:
  explicit Full(const OpSpec& spec) : shape_(spec, "shape") {
    if (spec.has("layout")) layout_ = spec.get<Layout>("layout");
  }
  void run(SampleContext& ctx) const override {
    const SampleView& value = ctx.input(0);
    broadcast(make(ctx, value.dtype, shape_of(ctx, shape_, value.shape), layout_), value);
  }

 private:
  ListArg<int64_t> shape_;
  Layout layout_;
};

class FullLike final : public Operator {
 public:
  explicit FullLike(const OpSpec&) {}
  void run(SampleContext& ctx) const override {
    const SampleView& like = ctx.input(0);
    SampleView value = ctx.input(1);
    if (value.dtype != like.dtype) {
      const std::span<char> converted =
          ctx.scratch<char>(static_cast<size_t>(value.volume() * itemsize(like.dtype)));
      kernels::converter(like.dtype, value.dtype)(converted.data(), value.data, value.volume());
      value.data = converted.data();
      value.dtype = like.dtype;
    }
    broadcast(make(ctx, like.dtype, like.shape, like.layout), value);
  }
};

// Converts the value, then repeats it.
struct FullLikeSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::ConvertKernel> converted{*this};
  gpu::Tasks<gpu::CopyKernel> repeated{*this};
};
class FullLikeGpu final : public gpu::StepsOperator<FullLikeSteps> {
 public:
  explicit FullLikeGpu(const OpSpec&) {}
  void run(SampleContext& ctx) const override {
    FullLikeSteps& steps = this->steps(ctx);
    const SampleView &like = ctx.input(0), &value = ctx.input(1);
    const SampleView& out = make(ctx, like.dtype, like.shape, like.layout);
    const int shift = check_fits(out, value), ndim = out.shape.ndim();
    if (out.volume() == 0) return;
    const int64_t size = itemsize(out.dtype);
    const void* from = value.data;
    if (value.dtype != out.dtype) {
      gpu::TypedTask task;
      task.in = value.data;
      task.out = steps.workspace.reserve(value.volume() * size);
      task.size = value.volume();
      task.in_dtype = value.dtype;
      task.out_dtype = out.dtype;
      from = task.out;
      steps.converted.add_intermediate(task);
    }
    auto axes = gpu::dense_axes(out.shape, size);
    const auto value_axes = gpu::dense_axes(value.shape, size);
    for (int i = 0; i < ndim; ++i) {
      const bool repeated = i < shift || value.shape[i - shift] == 1;
      axes[static_cast<size_t>(i)].in_stride =
          repeated ? 0 : value_axes[static_cast<size_t>(i - shift)].in_stride;
    }
    steps.repeated.add(ctx, gpu::make_copy(from, out.data, out.size_bytes(), size, axes));
  }
};

SchemaBuilder& add_shape_args(SchemaBuilder& schema) {
  return schema
      .optional_arg("shape", ArgType::kIntVec,
                    "Shape of the output; by default that of the fill value, or a scalar.",
                    Arity::kPerSample)
      .optional_arg("layout", ArgType::kLayout, "Letters of the axes, one per dimension.");
}
constexpr const char* kLikeType = "Element type of the output, by default the input's.";

TORCHDALI_OPERATOR("zeros")
    .doc("Returns tensors of zeros.")
    .output("zeros", "Zeros of the given shape and type.")
    .with(add_shape_args)
    .arg("dtype", DType::kInt32, "Element type of the output.")
    .cpu<Uniform<0>>();

TORCHDALI_OPERATOR("zeros_like")
    .doc("Returns zeros in the shape of the input.")
    .input("data_like", "Input with the shape, layout and type of the output.")
    .output("zeros", "Shape and layout of the input.")
    .optional_arg("dtype", ArgType::kDType, kLikeType)
    .cpu<UniformLike<0>>()
    .gpu<UniformLikeGpu<0>>();

TORCHDALI_OPERATOR("ones")
    .doc("Returns tensors of ones.")
    .output("ones", "Ones of the given shape and type.")
    .with(add_shape_args)
    .arg("dtype", DType::kInt32, "Element type of the output.")
    .cpu<Uniform<1>>();

TORCHDALI_OPERATOR("ones_like")
    .doc("Returns ones in the shape of the input.")
    .input("data_like", "Input with the shape, layout and type of the output.")
    .output("ones", "Shape and layout of the input.")
    .optional_arg("dtype", ArgType::kDType, kLikeType)
    .cpu<UniformLike<1>>()
    .gpu<UniformLikeGpu<1>>();

TORCHDALI_OPERATOR("full")
    .doc("Repeats a value until it fills a shape, by NumPy's rules for broadcasting.")
    .input("fill_value", "A scalar or a tensor; extents that differ from those of `shape` are 1.")
    .output("full", "Of the type of `fill_value`.")
    .with(add_shape_args)
    .cpu<Full>();

TORCHDALI_OPERATOR("full_like")
    .doc("Repeats a value until it fills the shape of an input, by NumPy's rules for broadcasting.")
    .input("data_like", "Input with the shape, layout and type of the output.")
    .input("fill_value", "A scalar or a tensor, converted to that type as by fn.cast.")
    .output("full", "Shape, layout and type of `data_like`.")
    .cpu<FullLike>()
    .gpu<FullLikeGpu>();

}  // namespace
}  // namespace torchdali
