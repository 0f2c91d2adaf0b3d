// SPDX-License-Identifier: Apache-2.0
// The shape argument of reshape and reinterpret: the arguments `shape`, `rel_shape` and `src_dims`,
// or the input `shape_input`.
#pragma once

#include <cmath>
#include <type_traits>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"

namespace torchdali {

// The arguments of NewShape, for SchemaBuilder::with().
inline SchemaBuilder& add_new_shape_args(SchemaBuilder& schema) {
  return schema
      .optional_arg("shape", ArgType::kIntVec,
                    "Extents of the output; one of them may be negative and follows from the rest.",
                    Arity::kPerSample)
      .optional_arg("rel_shape", ArgType::kFloatVec,
                    "Extents of the output as multiples of those of the input (or of the axes that "
                    "`src_dims` names), rounded to the nearest; one of them may be negative and "
                    "follows from the rest.",
                    Arity::kPerSample)
      .optional_arg(
          "src_dims", ArgType::kIntVec,
          "For each axis of the output, the axis of the input whose extent it has; -1 is a new "
          "axis of extent 1. The elements keep their order. No effect if `shape` is given.",
          Arity::kPerSample);
}

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

// Immutable; any thread.
class NewShape {
 public:
  explicit NewShape(const OpSpec& spec)
      : shape_(spec, "shape"),
        rel_shape_(spec, "rel_shape"),
        src_dims_(spec, "src_dims"),
        shape_input_(spec.num_inputs > 1) {
    const int given = shape_input_ + shape_.given() + rel_shape_.given();
    TORCHDALI_CHECK(given <= 1,
                    "the input `shape_input`, `shape` and `rel_shape` exclude each other");
    extents_given_ = given > 0;
    if (shape_.given() && !shape_.is_tensor()) {
      Wanted checked;
      for (const int64_t extent : spec.get<std::vector<int64_t>>("shape")) checked.add(extent);
    }
    if (rel_shape_.given() && !rel_shape_.is_tensor())
      TORCHDALI_CHECK(!spec.get<std::vector<float>>("rel_shape").empty(), "`rel_shape` is empty");
  }

  // Whether there is a shape or factors, which determine the number of elements.
  bool extents_given() const { return extents_given_; }
  // Whether any of the arguments is given.
  bool given() const { return extents_given_ || src_dims_.given(); }

  Wanted operator()(const SampleContext& ctx, const Shape& in) const {
    Wanted wanted;
    if (shape_input_) from_input(ctx.input(1), wanted);
    else if (shape_.given()) from_shape(ctx, wanted);
    else if (rel_shape_.given()) from_relative(ctx, in, wanted);
    else from_source(ctx, in, wanted);
    return wanted;
  }

 private:
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
                      axes, " dimensions", to_fix("say with `src_dims` which axes they are"));
      constexpr float kMostElements = 1e15f;
      const float extent = factors[i] * static_cast<float>(source.shape[static_cast<int>(i)]);
      TORCHDALI_CHECK(extent <= kMostElements, "`rel_shape` makes an extent of ", extent);
      wanted.add(static_cast<int64_t>(std::round(extent)));
    }
  }

  ListArg<int64_t> shape_;
  ListArg<float> rel_shape_;
  ListArg<int64_t> src_dims_;
  bool shape_input_, extents_given_ = false;
};

}  // namespace torchdali
