// SPDX-License-Identifier: Apache-2.0
// fn.reshape: other extents for the same elements; fn.reinterpret: the same bytes as elements of
// another type. Views.
#include <cmath>
#include <cstring>
#include <vector>

#include "core/operator.h"

namespace torchdali {
namespace {

// The extents of the output, one of which may be open.
struct Wanted {
  Shape shape;
  int open = -1;

  void add(int64_t extent) {
    if (extent < 0) {
      TORCHDALI_CHECK(open < 0, "only one extent of the shape may be negative");
      open = shape.ndim();
      extent = 1;
    }
    shape.push_back(extent);
  }
};

// `product` of extents and the size of an element, or -1 where it is beyond all memory.
int64_t checked_volume(const Shape& shape, int64_t factor) {
  int64_t volume = factor;
  for (const int64_t extent : shape) {
    if (extent == 0) return 0;
    if (__builtin_mul_overflow(volume, extent, &volume)) volume = -1;
    if (volume < 0) return -1;
  }
  return volume;
}

class Reshape final : public Operator {
 public:
  explicit Reshape(const OpSpec& spec)
      : shape_(spec, "shape"),
        rel_shape_(spec, "rel_shape"),
        src_dims_(spec, "src_dims"),
        shape_input_(spec.num_inputs > 1),
        has_layout_(spec.has("layout")) {
    const int given = shape_input_ + shape_.given() + rel_shape_.given();
    TORCHDALI_CHECK(given <= 1,
                    "the input `shape_input`, `shape` and `rel_shape` exclude each other");
    if (has_layout_) layout_ = spec.get<Layout>("layout");
    const bool reinterprets = spec.schema->find_arg("dtype") != nullptr;
    if (reinterprets && spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
    TORCHDALI_CHECK(
        given > 0 || src_dims_.given() || has_layout_ || dtype_ != DType::kNone,
        reinterprets ? "nothing is asked for: give `dtype`, `shape`, `rel_shape` or `layout`"
                     : "nothing is asked for: give `shape`, `rel_shape`, `src_dims` or `layout`");
    if (shape_.given() && !shape_.is_tensor()) {
      Wanted checked;
      for (const int64_t extent : spec.get<std::vector<int64_t>>("shape")) checked.add(extent);
    }
    if (rel_shape_.given() && !rel_shape_.is_tensor())
      TORCHDALI_CHECK(!spec.get<std::vector<float>>("rel_shape").empty(), "`rel_shape` is empty");
  }

  void run(SampleContext& ctx) const override {
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
    if (usable_as(in, dtype)) ctx.share_input(0, 0, out);
    else copy(ctx, in, out);
  }

 private:
  // A view needs elements at their alignment, and truth values that are 0 or 1.
  static bool usable_as(const SampleView& in, DType dtype) {
    if (dtype == in.dtype) return true;
    if (reinterpret_cast<uintptr_t>(in.data) % static_cast<uintptr_t>(itemsize(dtype)) != 0)
      return false;
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

  Shape output_shape(const SampleContext& ctx, const SampleView& in, DType dtype) const {
    Wanted wanted;
    bool given = true;
    if (shape_input_) from_input(ctx.input(1), wanted);
    else if (shape_.given()) from_shape(ctx, wanted);
    else if (rel_shape_.given()) from_relative(ctx, in.shape, wanted);
    else {
      given = false;
      from_source(ctx, in.shape, wanted);
    }
    Shape& shape = wanted.shape;
    const int64_t size = itemsize(dtype), bytes = in.size_bytes();
    if (!given && itemsize(in.dtype) != size) {  // the last axis has other elements, as many bytes
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

  static void from_input(const SampleView& input, Wanted& wanted) {
    TORCHDALI_CHECK(input.shape.ndim() == 1,
                    "the input `shape_input` takes one extent an axis (a 1-D tensor), got a tensor "
                    "of shape ",
                    input.shape);
    dispatch_dtype(input.dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        for (int64_t i = 0; i < input.volume(); ++i)
          wanted.add(static_cast<int64_t>(input.as<const T>()[i]));
      else
        raise(ErrorKind::kType, "the input `shape_input` takes integers, got ",
              dtype_name(input.dtype));
    });
  }
  void from_shape(const SampleContext& ctx, Wanted& wanted) const {
    static thread_local std::vector<int64_t> buffer;
    for (const int64_t extent : shape_(ctx, buffer)) wanted.add(extent);
  }
  // The axes of the input that `src_dims` names; -1 is a new one.
  void from_source(const SampleContext& ctx, const Shape& in, Wanted& wanted) const {
    if (!src_dims_.given()) {
      wanted.shape = in;
      return;
    }
    static thread_local std::vector<int64_t> buffer;
    for (const int64_t axis : src_dims_(ctx, buffer)) {
      TORCHDALI_CHECK_KIND(kIndex, axis >= -1 && axis < in.ndim(), "`src_dims` has ", axis,
                           ", expected an axis of the input (0 to ", in.ndim() - 1,
                           ") or -1 for a new one");
      wanted.shape.push_back(axis < 0 ? 1 : in[static_cast<int>(axis)]);
    }
  }
  void from_relative(const SampleContext& ctx, const Shape& in, Wanted& wanted) const {
    static thread_local std::vector<float> buffer;
    const auto factors = rel_shape_(ctx, buffer);
    Wanted source;
    from_source(ctx, in, source);
    const auto axes = static_cast<size_t>(source.shape.ndim());
    TORCHDALI_CHECK(!src_dims_.given() || factors.size() == axes, "`rel_shape` has ",
                    factors.size(), " values and `src_dims` ", axes, ", expected as many");
    for (size_t i = 0; i < factors.size(); ++i) {
      if (factors[i] < 0) {
        wanted.add(-1);
        continue;
      }
      TORCHDALI_CHECK(i < axes, "`rel_shape` has ", factors.size(), " values, and the input has ",
                      axes, " dimensions. To fix it: say with `src_dims` which axes they are");
      constexpr float kMostElements = 1e15f;
      const float extent = factors[i] * static_cast<float>(source.shape[static_cast<int>(i)]);
      TORCHDALI_CHECK(extent <= kMostElements, "`rel_shape` makes an extent of ", extent);
      wanted.add(static_cast<int64_t>(std::round(extent)));
    }
  }

  ListArg<int64_t> shape_;
  ListArg<float> rel_shape_;
  ListArg<int64_t> src_dims_;
  bool shape_input_, has_layout_;
  Layout layout_;
  DType dtype_ = DType::kNone;
};

SchemaBuilder& add_reshape_args(SchemaBuilder& schema) {
  return schema
      .optional_arg("shape", ArgType::kIntVec,
                    "Extents of the output; one of them may be negative and follows from the rest.",
                    Arity::kPerSample)
      .optional_arg("rel_shape", ArgType::kFloatVec,
                    "Extents of the output as multiples of those of the input (or of the axes that "
                    "`src_dims` names), rounded to the nearest; one of them may be negative and "
                    "follows from the rest.",
                    Arity::kPerSample)
      .optional_arg("src_dims", ArgType::kIntVec,
                    "Which axis of the input each axis of the output takes its extent from; -1 is "
                    "a new axis of extent 1. The elements keep their order. Without effect where "
                    "`shape` is given.",
                    Arity::kPerSample)
      .optional_arg("layout", ArgType::kLayout,
                    "Layout of the output, \"\" for none. By default the input's, where the number "
                    "of dimensions stays, else none.");
}

TORCHDALI_OPERATOR("reshape")
    .doc(
        "Gives the elements other extents, in the same order: by `shape`, by factors, from another "
        "input; or only another layout. A view: nothing is copied.")
    .input("data", "Any layout, any element type.")
    .optional_input("shape_input", "Extents of the output, integers, as `shape` has them.")
    .output("reshaped", "The elements of the input.")
    .with(add_reshape_args)
    .sequences()
    .volumes()
    .cpu<Reshape>();

TORCHDALI_OPERATOR("reinterpret")
    .doc(
        "Takes the bytes of the input as elements of another type, and gives them other extents as "
        "fn.reshape does. Without a shape the last axis becomes longer or shorter. Bytes that "
        "become bool are false where they are 0. A view where the memory allows it.")
    .input("data", "Any layout, any element type.")
    .optional_input("shape_input", "Extents of the output, integers, as `shape` has them.")
    .output("reinterpreted", "The bytes of the input.")
    .with(add_reshape_args)
    .optional_arg("dtype", ArgType::kDType, "Element type of the output, by default the input's.")
    .sequences()
    .volumes()
    .cpu<Reshape>();

}  // namespace
}  // namespace torchdali
