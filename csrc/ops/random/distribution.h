// SPDX-License-Identifier: Apache-2.0
// The common part of random operators: the shape of the output, and conversion of draws to any
// element type. Draws come from ctx.random(): a pure function of (operator's seed, position of the
// sample in the pipeline's stream, number of the draw), element after element in C order.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"
#include "kernels/convert.h"

namespace torchdali {

// Input, `dtype` and `shape`, for SchemaBuilder::with().
inline SchemaBuilder& add_random_args(SchemaBuilder& schema) {
  return schema
      .optional_input("shape_like", "Input with the shape of the output; its values are not used.")
      .output("values", "Random values, of type `dtype`; without layout.")
      .optional_arg("shape", ArgType::kIntVec,
                    "Shape of each sample. Cannot be combined with `shape_like`. Without either, a "
                    "sample is one value (no dimensions).",
                    Arity::kPerSample)
      .random();
}

// The argument `shape` of a sample, checked.
inline Shape drawn_shape(const ListArg<int64_t>& argument, const SampleContext& ctx) {
  static thread_local std::vector<int64_t> buffer;
  Shape shape;
  for (int64_t extent : argument(ctx, buffer)) {
    TORCHDALI_CHECK(extent >= 0, "`shape` has a negative extent: ", extent);
    shape.push_back(extent);
  }
  constexpr double kMaxElements = 0x1p40;
  double elements = 1;
  for (int64_t extent : shape) elements *= static_cast<double>(extent);
  TORCHDALI_CHECK(elements <= kMaxElements, "`shape` asks for too many values: ", shape);
  return shape;
}

// RandomStream::normal() in double: two draws of 53 bits a value (Box and Muller, 1958).
inline double standard_normal(RandomStream& random) {
  const double u1 = 1.0 - random.uniform_double();  // (0, 1]: the logarithm is finite
  const double u2 = random.uniform_double();
  return std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * 3.14159265358979323846 * u2);
}

// Immutable; any thread.
class RandomOutput {
 public:
  RandomOutput(const OpSpec& spec, DType default_dtype)
      : shape_(spec, "shape"),
        dtype_(spec.has("dtype") ? spec.get<DType>("dtype") : default_dtype) {
    TORCHDALI_CHECK(!shape_.given() || spec.num_inputs == 0,
                    "`shape` excludes the input `shape_like`: give one or the other");
  }
  DType dtype() const { return dtype_; }

  // Makes the output and fills it with draw(), converted as fn.cast does.
  template <class Draw>
  void fill(SampleContext& ctx, Draw&& draw) const {
    using T = std::invoke_result_t<Draw&>;
    fill_blocks<T>(ctx, [&](T* values, int64_t /*first*/, int64_t n) {
      for (int64_t k = 0; k < n; ++k) values[k] = draw();
    });
  }
  // The same with draw(values, first, n), which writes the draws of elements first to first + n,
  // and may write up to kBlock values.
  static constexpr int64_t kBlock = 512;
  template <class T, class Draw>
  void fill_blocks(SampleContext& ctx, Draw&& draw) const {
    const SampleView& out = ctx.output(0, dtype_, shape(ctx));
    const int64_t count = out.volume(), size = itemsize(dtype_);
    const kernels::ConvertFn convert = kernels::converter(dtype_, dtype_of<T>());
    alignas(64) T block[kBlock];
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t n = std::min(kBlock, count - i);
      draw(block, i, n);
      convert(out.as<char>() + i * size, block, n);
    }
  }
  // Types for which draws of 24 bits are too coarse; their values are drawn as double.
  bool wants_double() const {
    return dtype_ == DType::kFloat64 || (!is_floating(dtype_) && itemsize(dtype_) >= 4);
  }

 private:
  Shape shape(SampleContext& ctx) const {
    if (ctx.num_inputs() > 0) return ctx.input(0).shape;
    return shape_.given() ? drawn_shape(shape_, ctx) : Shape();
  }

  ListArg<int64_t> shape_;
  DType dtype_;
};

}  // namespace torchdali
