// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/affine.h"

#include <algorithm>

namespace torchdali {

Affine Affine::identity(int64_t ndim) {
  TORCHDALI_CHECK(ndim >= 1 && ndim <= kMaxNdim, "the transform has ", ndim,
                  " dimensions, expected 1 to ", kMaxNdim);
  Affine t;
  t.ndim = static_cast<int>(ndim);
  for (int i = 0; i < t.ndim; ++i) t.m[i][i] = 1;
  return t;
}

void Affine::set_center(std::span<const float> center) {
  for (int r = 0; r < ndim; ++r) {
    float moved = 0;
    for (int c = 0; c < ndim; ++c) moved += m[r][c] * center[center.size() == 1 ? 0 : c];
    offset(r) = center[center.size() == 1 ? 0 : r] - moved;
  }
}

Affine Affine::after(const Affine& before) const {
  Affine out;
  out.ndim = ndim;
  for (int r = 0; r < ndim; ++r) {
    for (int c = 0; c <= ndim; ++c) {
      float sum = 0;
      for (int k = 0; k < ndim; ++k) sum += m[r][k] * before.m[k][c];
      out.m[r][c] = sum;
    }
    out.offset(r) += offset(r);
  }
  return out;
}

Affine Affine::from(const SampleView& matrix, std::string_view input) {
  const Shape& shape = matrix.shape;
  TORCHDALI_CHECK(
      shape.ndim() == 2 && shape[1] == shape[0] + 1 && shape[0] >= 1 && shape[0] <= kMaxNdim,
      "input `", input, "` has shape ", shape,
      ", expected (ndim, ndim + 1), an affine transform of 1 to ", kMaxNdim, " dimensions");
  Affine t = identity(shape[0]);
  dispatch_dtype(matrix.dtype, [&]<class T>() {
    const T* from = matrix.as<const T>();
    for (int r = 0; r < t.ndim; ++r)
      for (int c = 0; c <= t.ndim; ++c) t.m[r][c] = static_cast<float>(*from++);
  });
  return t;
}

void Affine::write(SampleContext& ctx) const {
  float* to = ctx.output(0, DType::kFloat, {ndim, ndim + 1}).as<float>();
  for (int r = 0; r < ndim; ++r) to = std::copy_n(m[r].data(), ndim + 1, to);
}

FloatsArg::FloatsArg(const OpSpec& spec, std::string_view name)
    : name_(name), given_(spec.has(name)) {
  const auto found = spec.tensors.find(name);
  if (found != spec.tensors.end()) slot_ = found->second;
  else if (spec.defined(name)) constant_ = spec.get<std::vector<float>>(name);
}

std::span<const float> FloatsArg::operator()(SampleContext& ctx) const {
  if (slot_ < 0) return constant_;
  const SampleView& value = ctx.argument_input(slot_);
  const auto numbers = ctx.scratch<float>(static_cast<size_t>(value.volume()));
  dispatch_dtype(value.dtype, [&]<class T>() {
    const T* from = value.as<const T>();
    for (float& number : numbers) number = static_cast<float>(*from++);
  });
  return numbers;
}

Shape FloatsArg::shape(const SampleContext& ctx) const {
  if (slot_ >= 0) return ctx.argument_input(slot_).shape;
  return constant_.size() == 1 ? Shape() : Shape{static_cast<int64_t>(constant_.size())};
}

void check_one_each(const FloatsArg& arg, std::span<const float> values, int ndim) {
  const int64_t size = static_cast<int64_t>(values.size());
  TORCHDALI_CHECK(size == 1 || size == ndim, "`", arg.name(), "` has ", size,
                  " values, expected one, or one for each of the ", ndim, " dimensions");
}

void apply_center(SampleContext& ctx, const FloatsArg& center, Affine& t) {
  if (!center.given()) return;
  const auto values = center(ctx);
  check_one_each(center, values, t.ndim);
  t.set_center(values);
}

void TransformOperator::run(SampleContext& ctx) const {
  if (ctx.num_inputs() == 0) return transform(ctx, 0).write(ctx);
  const Affine input = Affine::from(ctx.input(0), "matrix");
  const Affine own = transform(ctx, input.ndim);
  TORCHDALI_CHECK(own.ndim == input.ndim, "the input describes a transform of ", input.ndim,
                  " dimensions, and the arguments one of ", own.ndim);
  (reverse_order_ ? input.after(own) : own.after(input)).write(ctx);
}

SchemaBuilder& add_transform_args(SchemaBuilder& schema) {
  return schema
      .optional_input("matrix",
                      "An affine transform to combine with: shape (ndim, ndim + 1), any element "
                      "type; or one per frame, with a layout such as \"F**\".")
      .output("transform", "The transform, float32, shape (ndim, ndim + 1).")
      .arg("reverse_order", false,
           "With an input: apply this transform before that of the input, instead of after it.")
      .each_frame()
      .repeats_inputs();
}

SchemaBuilder& add_center_arg(SchemaBuilder& schema) {
  return schema.optional_arg(
      "center", ArgType::kFloatVec,
      "The fixed point, one number for each dimension or one for all; the origin by default.",
      Arity::kPerSample);
}

}  // namespace torchdali
