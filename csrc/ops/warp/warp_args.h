// SPDX-License-Identifier: Apache-2.0
// The common part of operators that warp: the arguments `size`, `interp_type`, `dtype` and
// `fill_value`, and matrices that are an input, a tensor per sample, or a list.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"
#include "kernels/warp/warp.h"

namespace torchdali {

// Raises unless the type is nearest or linear.
inline kernels::WarpFilter warp_filter(InterpType type) {
  TORCHDALI_CHECK(type == InterpType::kNN || type == InterpType::kLinear,
                  "`interp_type` is number ", static_cast<int>(type),
                  " of DALIInterpType, expected INTERP_NN or INTERP_LINEAR");
  return type == InterpType::kNN ? kernels::WarpFilter::kNearest : kernels::WarpFilter::kLinear;
}

// Extents D, H, W (D is 1 for images) of a dense sample whose layout is [D]HW[C].
inline kernels::WarpSource warp_source(const SampleView& in, const Layout& layout, DType out) {
  kernels::WarpSource source;
  source.data = in.data;
  source.dtype = in.dtype;
  source.out_dtype = out == DType::kNone ? in.dtype : out;
  source.volume = layout.find('D') >= 0;
  for (int i = 0; i < layout.size(); ++i) {
    const char axis = layout[i];
    if (axis == 'C') source.channels = in.shape[i];
    else source.extents[axis == 'D' ? 0 : axis == 'H' ? 1 : 2] = in.shape[i];
  }
  return source;
}

// Shape of the result: that of `in` with other extents.
inline Shape warped_shape(const Shape& in, const Layout& layout,
                          const std::array<int64_t, 3>& extents) {
  Shape shape = in;
  for (int i = 0; i < layout.size(); ++i)
    if (const char axis = layout[i]; axis == 'D' || axis == 'H' || axis == 'W')
      shape[i] = extents[axis == 'D' ? 0 : axis == 'H' ? 1 : 2];
  return shape;
}

// The argument `size`: (D,) H, W of the result. Immutable; any thread.
class WarpSize {
 public:
  explicit WarpSize(const OpSpec& spec) : size_(spec, "size") {
    given_ = size_.given() && (size_.is_tensor() || !spec.get<std::vector<float>>("size").empty());
  }
  bool given() const { return given_; }
  std::array<int64_t, 3> operator()(const SampleContext& ctx, bool volume) const {
    thread_local std::vector<float> buffer;
    const auto size = size_(ctx, buffer);
    const size_t ndim = volume ? 3 : 2;
    TORCHDALI_CHECK(size.size() == ndim, "`size` has ", size.size(), " values, expected ", ndim,
                    volume ? ": depth, height and width" : ": height and width");
    std::array<int64_t, 3> extents = {1, 1, 1};
    for (size_t i = 0; i < ndim; ++i) {
      const float rounded = std::round(size[i]);
      TORCHDALI_CHECK(rounded >= 1 && rounded < 0x1p31f, "`size` has ", size[i],
                      ", expected at least 1 and less than 2^31");
      extents[3 - ndim + i] = static_cast<int64_t>(rounded);
    }
    return extents;
  }

 private:
  ListArg<float> size_;
  bool given_;
};

inline SchemaBuilder& add_warp_size(SchemaBuilder& schema) {
  return schema.arg("size", std::vector<float>{},
                    "Size of the result in pixels, without channels: (height, width), or (depth, "
                    "height, width) of volumes; rounded to whole numbers.",
                    Arity::kPerSample);
}

inline SchemaBuilder& add_pixel_origin(SchemaBuilder& schema) {
  return schema.arg(
      "pixel_origin", "corner",
      "The meaning of position (0, 0): the \"corner\" of the first pixel, or its \"center\", "
      "as in OpenCV.");
}
// Whether the argument of add_pixel_origin() is "center".
inline bool is_center_origin(const OpSpec& spec) {
  const auto origin = spec.get<std::string>("pixel_origin");
  TORCHDALI_CHECK(origin == "corner" || origin == "center", "`pixel_origin` is \"", origin,
                  "\", expected \"corner\" or \"center\"");
  return origin == "center";
}

// The arguments of WarpSettings except `size`, for SchemaBuilder::with().
inline SchemaBuilder& add_warp_settings(SchemaBuilder& schema) {
  return schema
      .arg("interp_type", InterpType::kLinear, "Interpolation: INTERP_LINEAR or INTERP_NN.")
      .optional_arg("fill_value", ArgType::kFloat,
                    "Value outside the input, after conversion to the types of input and result. "
                    "By default, border pixels are repeated.")
      .optional_arg("dtype", ArgType::kDType,
                    "Element type of the result; values are rounded and saturate. Default: that "
                    "of the input.")
      .deprecated_arg("output_dtype", ArgType::kDType, "Old name of `dtype`.", "dtype");
}

// Immutable; any thread.
class WarpSettings {
 public:
  explicit WarpSettings(const OpSpec& spec)
      : filter_(warp_filter(spec.get<InterpType>("interp_type"))) {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
    filled_ = spec.has("fill_value");
    if (filled_) fill_ = spec.get<float>("fill_value");
  }
  kernels::WarpSource source(const SampleView& in, const Layout& layout) const {
    kernels::WarpSource source = warp_source(in, layout, dtype_);
    source.filter = filter_;
    source.border = filled_ ? kernels::Border::kConstant : kernels::Border::kClamp;
    source.fill = {fill_};
    return source;
  }

 private:
  DType dtype_ = DType::kNone;
  kernels::WarpFilter filter_;
  bool filled_;
  float fill_ = 0;
};

// A matrix of a known shape: the second input, or the argument `matrix` as a tensor of that shape
// (or of as many numbers) or as a list of its numbers, row by row. Immutable; any thread.
class MatrixArg {
 public:
  explicit MatrixArg(const OpSpec& spec) : is_input_(spec.num_inputs > 1) {
    TORCHDALI_CHECK(!is_input_ || !spec.has("matrix"),
                    "the matrix is given twice: as the second input and as `matrix`");
    if (const auto found = spec.tensors.find("matrix"); found != spec.tensors.end())
      slot_ = found->second;
    else if (!is_input_) constant_ = spec.get<std::vector<float>>("matrix");
    TORCHDALI_CHECK(is_input_ || slot_ >= 0 || !constant_.empty(), "`matrix` is missing",
                    to_fix("give it, or a second input"));
  }
  // rows * columns numbers, to `matrix`.
  void read(const SampleContext& ctx, int rows, int columns, double* matrix) const {
    if (!is_input_ && slot_ < 0) {
      check(constant_.size() == static_cast<size_t>(rows) * static_cast<size_t>(columns), rows,
            columns, Shape{static_cast<int64_t>(constant_.size())});
      for (size_t i = 0; i < constant_.size(); ++i) matrix[i] = constant_[i];
      return;
    }
    const SampleView& from = is_input_ ? ctx.input(1) : ctx.argument_input(slot_);
    check(from.shape == Shape{rows, columns} || from.shape == Shape{int64_t{rows} * columns}, rows,
          columns, from.shape);
    dispatch_dtype(from.dtype, [&]<class T>() {
      for (int i = 0; i < rows * columns; ++i)
        matrix[i] = argument_cast<float>(from.as<const T>()[i], "matrix");
    });
  }

 private:
  static void check(bool ok, int rows, int columns, const Shape& shape) {
    TORCHDALI_CHECK(ok, "the matrix has shape ", shape, ", expected [", rows, ", ", columns,
                    "] or ", rows * columns, " numbers");
  }
  std::vector<float> constant_;
  bool is_input_;
  int slot_ = -1;
};

// The inverse of a 3 x 3 matrix, in place; raises if it has none.
inline void invert(double* m) {
  const double a = m[0], b = m[1], c = m[2], d = m[3], e = m[4], f = m[5], g = m[6], h = m[7],
               i = m[8];
  const double ca = e * i - f * h, cb = f * g - d * i, cc = d * h - e * g;
  const double det = a * ca + b * cb + c * cc;
  TORCHDALI_CHECK(det != 0, "the matrix has no inverse, which inverse_map=False asks for");
  const double inverse[9] = {ca, c * h - b * i, b * f - c * e, cb, a * i - c * g, c * d - a * f,
                             cc, b * g - a * h, a * e - b * d};
  for (int k = 0; k < 9; ++k) m[k] = inverse[k] / det;
}

}  // namespace torchdali
