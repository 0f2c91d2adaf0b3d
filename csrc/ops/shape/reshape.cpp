// SPDX-License-Identifier: Apache-2.0
// fn.reshape: other extents for the same elements; fn.reinterpret: the same bytes as elements of
// another type. Views.
#include <algorithm>
#include <cstring>

#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/convert_gpu.h"
#include "ops/shape/new_shape.h"

namespace torchdali {
namespace {

// The product of the extents and a factor, or -1 if it exceeds any memory.
int64_t checked_volume(const Shape& shape, int64_t factor) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t volume = factor;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(volume, extent, &volume)) volume = -1;
    if (volume < 0) return -1;
  }
  return volume;
}

// The arguments, as a view of the input.
class ReshapeArgs {
 public:
  explicit ReshapeArgs(const OpSpec& spec) : new_shape_(spec), has_layout_(spec.has("layout")) {
    if (has_layout_) layout_ = spec.get<Layout>("layout");
    const bool reinterprets = spec.schema->find_arg("dtype") != nullptr;
    if (reinterprets && spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
    TORCHDALI_CHECK(
        new_shape_.given() || has_layout_ || dtype_ != DType::kNone,
        reinterprets ? "nothing is asked for: give `dtype`, `shape`, `rel_shape` or `layout`"
                     : "nothing is asked for: give `shape`, `rel_shape`, `src_dims` or `layout`");
  }

  SampleView operator()(const SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const DType dtype = dtype_ == DType::kNone ? in.dtype : dtype_;
    SampleView out = in;
    out.dtype = dtype;
    out.shape = output_shape(ctx, in, dtype);
    if (has_layout_) {
      TORCHDALI_CHECK_KIND(kLayout, layout_.empty() || layout_.size() == out.shape.ndim(),
                           "`layout` ", layout_, " does not fit the shape ", out.shape);
      out.layout = layout_;
    } else if (out.shape.ndim() != in.shape.ndim()) {
      out.layout = {};
    }
    return out;
  }
  static bool is_aligned(const SampleView& in, DType dtype) {
    return reinterpret_cast<uintptr_t>(in.data) % static_cast<uintptr_t>(itemsize(dtype)) == 0;
  }

 private:
  Shape output_shape(const SampleContext& ctx, const SampleView& in, DType dtype) const {
    Wanted wanted = new_shape_(ctx, in.shape);
    Shape& shape = wanted.shape;
    const int64_t size = itemsize(dtype), bytes = in.size_bytes();
    if (!new_shape_.extents_given() &&
        itemsize(in.dtype) != size) {  // the last axis has other elements, as many bytes
      const int last = shape.ndim() - 1;
      const int64_t row = last < 0 ? itemsize(in.dtype) : shape[last] * itemsize(in.dtype);
      TORCHDALI_CHECK(last >= 0 && row % size == 0, "the last axis of ", shape, " has ", row,
                      " bytes, which make no whole number of ", dtype_name(dtype));
      shape[last] = row / size;
    }
    const int64_t rest = checked_volume(shape, size);
    if (wanted.open >= 0) {
      TORCHDALI_CHECK(rest > 0 && bytes % rest == 0, "the input of ", in.volume(), " elements, ",
                      in.shape, ", does not fit a shape of ", shape.ndim(),
                      " dimensions whose other extents have ", rest / size, " elements");
      shape[wanted.open] = bytes / rest;
    } else {
      TORCHDALI_CHECK(rest == bytes, "the input of shape ", in.shape, " of ", dtype_name(in.dtype),
                      " does not fit the shape ", shape, " of ", dtype_name(dtype));
    }
    return shape;
  }

  NewShape new_shape_;
  bool has_layout_;
  Layout layout_;
  DType dtype_ = DType::kNone;
};

class Reshape final : public Operator {
 public:
  explicit Reshape(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const SampleView view = args_(ctx);
    if (usable_as(in, view.dtype)) ctx.share_input(0, 0, view);
    else copy(ctx, in, view);
  }

 private:
  // A view needs aligned elements, and bool values that are 0 or 1.
  static bool usable_as(const SampleView& in, DType dtype) {
    if (dtype == in.dtype) return true;
    if (!ReshapeArgs::is_aligned(in, dtype)) return false;
    if (dtype != DType::kBool) return true;
    uint8_t bits = 0;
    for (int64_t i = 0; i < in.size_bytes(); ++i) bits |= in.as<const uint8_t>()[i];
    return bits <= 1;
  }
  static void copy(SampleContext& ctx, const SampleView& in, const SampleView& view) {
    const SampleView& out = ctx.output(0, view.dtype, view.shape, view.layout);
    const auto size = static_cast<size_t>(in.size_bytes());
    if (view.dtype == DType::kBool)
      for (size_t i = 0; i < size; ++i) out.as<uint8_t>()[i] = in.as<const uint8_t>()[i] != 0;
    else if (size > 0) std::memcpy(out.data, in.data, size);
  }

  ReshapeArgs args_;
};

class ReshapeGpu final : public gpu::KernelOperator<gpu::ConvertKernel> {
 public:
  explicit ReshapeGpu(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const SampleView view = args_(ctx);
    const bool to_bool = view.dtype == DType::kBool;
    if (view.dtype == in.dtype || (!to_bool && ReshapeArgs::is_aligned(in, view.dtype))) {
      ctx.share_input(0, 0, view);
      return;
    }
    Task task;
    task.in = in.data;
    task.out = ctx.output(0, view.dtype, view.shape, view.layout).data;
    task.size = in.size_bytes();
    task.in_dtype = DType::kUInt8;
    task.out_dtype = to_bool ? DType::kBool : DType::kUInt8;
    tasks(ctx).add(ctx, task);
  }

 private:
  ReshapeArgs args_;
};

SchemaBuilder& add_layout_arg(SchemaBuilder& schema) {
  return schema.optional_arg("layout", ArgType::kLayout,
                             "Layout of the output, \"\" for none. By default that of the input if "
                             "the number of dimensions does not change, else none.");
}

TORCHDALI_OPERATOR("reshape")
    .doc(
        "Changes the extents and keeps the order of the elements: by `shape`, by factors, or from "
        "another input. Can also change only the layout. A view: nothing is copied.")
    .input("data", "Any layout, any element type.")
    .optional_input("shape_input", "Extents of the output, integers, as in `shape`.")
    .output("reshaped", "The elements of the input.")
    .with(add_new_shape_args)
    .with(add_layout_arg)
    .sequences()
    .volumes()
    .cpu<Reshape>()
    .gpu<ReshapeGpu>()
    .host_input(1);

TORCHDALI_OPERATOR("reinterpret")
    .doc(
        "Reinterprets the bytes of the input as elements of another type, and changes the extents "
        "like fn.reshape. Without a shape, the last axis becomes longer or shorter. As bool, bytes "
        "of 0 are false, others true. A view if the memory is aligned.")
    .input("data", "Any layout, any element type.")
    .optional_input("shape_input", "Extents of the output, integers, as in `shape`.")
    .output("reinterpreted", "The bytes of the input.")
    .with(add_new_shape_args)
    .with(add_layout_arg)
    .optional_arg("dtype", ArgType::kDType, "Element type of the output, by default the input's.")
    .sequences()
    .volumes()
    .cpu<Reshape>()
    .gpu<ReshapeGpu>()
    .host_input(1);

}  // namespace
}  // namespace torchdali
