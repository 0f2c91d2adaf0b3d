// SPDX-License-Identifier: Apache-2.0
// Affine transforms of 1 to 6 dimensions, and the common part of fn.transforms.*: the optional
// input matrix, `reverse_order`, arguments with a number for each dimension.
#pragma once

#include <array>

#include "core/operator.h"

namespace torchdali {

// x -> linear part * x + offset, as an ndim x (ndim + 1) matrix.
struct Affine {
  static constexpr int kMaxNdim = 6;
  int ndim = 0;
  std::array<std::array<float, kMaxNdim + 1>, kMaxNdim> m{};

  static Affine identity(int64_t ndim);
  float& offset(int row) { return m[row][ndim]; }
  float offset(int row) const { return m[row][ndim]; }
  // Moves the fixed point of the linear part from the origin to `center`: one number for all
  // dimensions, or one for each.
  void set_center(std::span<const float> center);
  // The transform `before`, followed by this.
  Affine after(const Affine& before) const;

  // From a matrix of any element type. Raises unless it has such a shape.
  static Affine from(const SampleView& matrix, std::string_view input);
  void write(SampleContext& ctx) const;
};

// Numbers of a constant list or of a tensor of any shape and element type. Immutable; any thread.
class FloatsArg {
 public:
  FloatsArg(const OpSpec& spec, std::string_view name);
  bool given() const { return given_; }
  const std::string& name() const { return name_; }
  std::span<const float> operator()(SampleContext& ctx) const;
  Shape shape(const SampleContext& ctx) const;

 private:
  std::string name_;
  std::vector<float> constant_;
  int slot_ = -1;
  bool given_;
};

// Raises unless there is one number, or one for each dimension.
void check_one_each(const FloatsArg& arg, std::span<const float> values, int ndim);

// Moves the fixed point of `t` to the center that the argument gives, if any.
void apply_center(SampleContext& ctx, const FloatsArg& center, Affine& t);

// An operator that makes a transform, and combines it with that of its input.
class TransformOperator : public Operator {
 public:
  explicit TransformOperator(const OpSpec& spec)
      : reverse_order_(spec.get<bool>("reverse_order")) {}
  void run(SampleContext& ctx) const final;

 protected:
  // `input_ndim`: of the input matrix; 0 if there is none.
  virtual Affine transform(SampleContext& ctx, int input_ndim) const = 0;

 private:
  bool reverse_order_;
};

// Input, output and `reverse_order`, for SchemaBuilder::with().
SchemaBuilder& add_transform_args(SchemaBuilder& schema);
SchemaBuilder& add_center_arg(SchemaBuilder& schema);

}  // namespace torchdali
