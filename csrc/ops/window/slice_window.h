// SPDX-License-Identifier: Apache-2.0
// Windows given by coordinates: the arguments `start`, `end`, `shape` and their `rel_` forms, or
// the inputs `anchor` and `extent`, along `axes` or `axis_names`. Shared by slice and
// decoders.image_slice.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"
#include "ops/axes.h"
#include "ops/empty_lists.h"
#include "ops/window/crop_window.h"

namespace torchdali {

// The arguments of SliceArgs, for SchemaBuilder::with(). The operator declares the inputs: the
// data, then optionally `anchor` and `extent` (DALI's "shape", which is also the name of an
// argument).
inline SchemaBuilder& add_slice_args(SchemaBuilder& schema) {
  constexpr auto kPerSample = Arity::kPerSample;
  return schema
      .arg("axes", std::vector<int64_t>{1, 0},
           "Axes of the coordinates, as numbers; negative ones count from the end. "
           "Excludes `axis_names`.",
           kPerSample)
      .arg("axis_names", Layout("WH"), "Axes of the coordinates, as letters of the layout.")
      .optional_arg("start", ArgType::kIntVec, "First element of the window, one value per axis.",
                    kPerSample)
      .optional_arg("rel_start", ArgType::kFloatVec, "`start` as a fraction of the extent.",
                    kPerSample)
      .optional_arg("end", ArgType::kIntVec,
                    "Element after the last of the window, one value per axis. Without `end` and "
                    "`shape`, the window extends to the end of the sample.",
                    kPerSample)
      .optional_arg("rel_end", ArgType::kFloatVec, "`end` as a fraction of the extent.", kPerSample)
      .optional_arg("shape", ArgType::kIntVec, "Extent of the window, one value per axis.",
                    kPerSample)
      .optional_arg("rel_shape", ArgType::kFloatVec, "`shape` as a fraction of the extent.",
                    kPerSample)
      .arg("normalized_anchor", true,
           "Whether a floating-point input `anchor` is in fractions of the extent; integers are "
           "always elements.")
      .arg("normalized_shape", true,
           "Whether a floating-point input `extent` is in fractions of the extent.");
}

// What SliceArgs is made from: an empty list counts as not given.
inline OpSpec slice_spec(const OpSpec& spec) {
  return without_empty_lists(spec, {"start", "end", "shape", "rel_start", "rel_end", "rel_shape"});
}

// Reads the arguments of add_slice_args() and places the window. Immutable; any thread. Fractional
// coordinates are rounded to the nearest integer, halves away from zero. Start and end are rounded,
// not the extent. Results are those of DALI 1.35 (checked by the tests).
class SliceArgs {
 public:
  explicit SliceArgs(const OpSpec& spec)
      : axes_(spec),
        start_(spec, "start"),
        end_(spec, "end"),
        shape_(spec, "shape"),
        rel_start_(spec, "rel_start"),
        rel_end_(spec, "rel_end"),
        rel_shape_(spec, "rel_shape"),
        normalized_anchor_(spec.get<bool>("normalized_anchor")),
        normalized_shape_(spec.get<bool>("normalized_shape")),
        positional_(spec.num_inputs == 3) {
    TORCHDALI_CHECK(spec.num_inputs != 2, "the input `anchor` needs the input `extent`");
    const int starts = start_.given() + rel_start_.given();
    const int ends = end_.given() + rel_end_.given() + shape_.given() + rel_shape_.given();
    TORCHDALI_CHECK(starts <= 1, "`start` and `rel_start` exclude each other");
    TORCHDALI_CHECK(ends <= 1, "`end`, `rel_end`, `shape` and `rel_shape` exclude each other");
    TORCHDALI_CHECK(!positional_ || starts + ends == 0,
                    "the inputs `anchor` and `extent` exclude the arguments `start`, `end`, "
                    "`shape` and their `rel_` forms");
    TORCHDALI_CHECK(positional_ || starts + ends > 0,
                    "needs a window: the inputs `anchor` and `extent`, or `start`, `end`, `shape` "
                    "or their `rel_` forms");
  }

  // The window in a sample of `shape`; axes that are not named are kept whole.
  Window operator()(const SampleContext& ctx, const Shape& shape, const Layout& layout) const {
    const AxisList axes = axes_(ctx, shape, layout);
    Window window = Window::whole(shape);
    const auto count = static_cast<size_t>(axes.count);
    static thread_local std::vector<double> from, to;
    if (positional_) {
      coordinates(ctx.input(1), "anchor", normalized_anchor_, shape, axes, from);
      coordinates(ctx.input(2), "extent", normalized_shape_, shape, axes, to);
      for (size_t i = 0; i < count; ++i) check_extent(to[i]), to[i] += from[i];
    } else {
      const bool has_start = read(ctx, start_, "start", count, from) ||
                             read_relative(ctx, rel_start_, "rel_start", shape, axes, from);
      if (!has_start) from.assign(count, 0);
      const bool extent = read(ctx, shape_, "shape", count, to) ||
                          read_relative(ctx, rel_shape_, "rel_shape", shape, axes, to);
      if (extent) {
        for (size_t i = 0; i < count; ++i) check_extent(to[i]), to[i] += from[i];
      } else if (!read(ctx, end_, "end", count, to) &&
                 !read_relative(ctx, rel_end_, "rel_end", shape, axes, to)) {
        to.resize(count);
        for (size_t i = 0; i < count; ++i) to[i] = static_cast<double>(shape[axes.axes[i]]);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      TORCHDALI_CHECK(from[i] <= to[i], "the window ends at ", to[i], " before it starts at ",
                      from[i], " along axis ", axes.axes[i]);
      const int64_t first = round(from[i]);
      window.anchor[axes.axes[i]] = first;
      window.shape[axes.axes[i]] = round(to[i]) - first;
    }
    return window;
  }

 private:
  static void check_extent(double extent) {
    TORCHDALI_CHECK(extent >= 0, "the window cannot have an extent of ", extent);
  }
  static int64_t round(double value) {
    constexpr double kMax = 1e15;  // far from overflow; NaN fails too
    TORCHDALI_CHECK(value >= -kMax && value <= kMax, "a coordinate of the window is ", value);
    return static_cast<int64_t>(std::round(value));
  }
  static void check_count(const char* name, size_t got, size_t expected) {
    TORCHDALI_CHECK(got == expected || got == 1, "`", name, "` has ", got,
                    " values, expected one for each of the ", expected, " axes");
  }

  static bool read(const SampleContext& ctx, const ListArg<int64_t>& arg, const char* name,
                   size_t count, std::vector<double>& out) {
    if (!arg.given()) return false;
    static thread_local std::vector<int64_t> buffer;
    const auto values = arg(ctx, buffer);
    check_count(name, values.size(), count);
    out.resize(count);
    for (size_t i = 0; i < count; ++i)
      out[i] = static_cast<double>(values[values.size() == 1 ? 0 : i]);
    return true;
  }
  static bool read_relative(const SampleContext& ctx, const ListArg<float>& arg, const char* name,
                            const Shape& shape, const AxisList& axes, std::vector<double>& out) {
    if (!arg.given()) return false;
    static thread_local std::vector<float> buffer;
    const auto values = arg(ctx, buffer);
    check_count(name, values.size(), static_cast<size_t>(axes.count));
    out.resize(static_cast<size_t>(axes.count));
    // The product is rounded to float, as in DALI, which affects halves.
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = values[values.size() == 1 ? 0 : i] * static_cast<float>(shape[axes.axes[i]]);
    return true;
  }
  static void coordinates(const SampleView& input, const char* name, bool normalized,
                          const Shape& shape, const AxisList& axes, std::vector<double>& out) {
    const auto count = static_cast<size_t>(input.volume());
    TORCHDALI_CHECK(static_cast<int>(count) == axes.count, "the input `", name, "` has ", count,
                    " values, expected one for each of the ", axes.count, " axes");
    out.resize(count);
    const bool relative = normalized && is_floating(input.dtype);
    dispatch_dtype(input.dtype, [&]<class T>() {
      for (size_t i = 0; i < count; ++i) {
        out[i] = static_cast<double>(input.as<const T>()[i]);
        if (relative) out[i] *= static_cast<double>(shape[axes.axes[i]]);
      }
    });
  }

  AxisArgs axes_;
  ListArg<int64_t> start_, end_, shape_;
  ListArg<float> rel_start_, rel_end_, rel_shape_;
  bool normalized_anchor_, normalized_shape_, positional_;
};

}  // namespace torchdali
