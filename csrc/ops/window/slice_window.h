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

// The arguments `start`, `end`, `shape` and their `rel_` forms. With the prefix "roi_" their names
// are `roi_start`, `rel_roi_start` and so on. Immutable; any thread. Fractional coordinates are
// rounded to the nearest integer, halves away from zero. Start and end are rounded, not the extent.
// Results are those of DALI 1.35 (checked by the tests).
class SliceCoordinates {
 public:
  explicit SliceCoordinates(const OpSpec& spec, const std::string& prefix = {})
      : start_(spec, prefix + "start"),
        end_(spec, prefix + "end"),
        shape_(spec, prefix + "shape"),
        rel_start_(spec, "rel_" + prefix + "start"),
        rel_end_(spec, "rel_" + prefix + "end"),
        rel_shape_(spec, "rel_" + prefix + "shape") {
    const int starts = start_.values.given() + rel_start_.values.given();
    const int ends = end_.values.given() + rel_end_.values.given() + shape_.values.given() +
                     rel_shape_.values.given();
    TORCHDALI_CHECK(starts <= 1, "`", start_.name, "` and `", rel_start_.name,
                    "` exclude each other");
    TORCHDALI_CHECK(ends <= 1, "`", end_.name, "`, `", rel_end_.name, "`, `", shape_.name,
                    "` and `", rel_shape_.name, "` exclude each other");
    given_ = starts + ends > 0;
  }
  bool given() const { return given_; }
  // Whether they differ from sample to sample.
  bool per_sample() const {
    return start_.values.is_tensor() || end_.values.is_tensor() || shape_.values.is_tensor() ||
           rel_start_.values.is_tensor() || rel_end_.values.is_tensor() ||
           rel_shape_.values.is_tensor();
  }

  // Sets the window in a sample of `shape` along `axes`.
  void place(const SampleContext& ctx, const Shape& shape, const AxisList& axes,
             Window& window) const {
    const auto count = static_cast<size_t>(axes.count);
    static thread_local std::vector<double> from, to;
    if (!read(ctx, start_, shape, axes, from) && !read(ctx, rel_start_, shape, axes, from))
      from.assign(count, 0);
    if (read(ctx, shape_, shape, axes, to) || read(ctx, rel_shape_, shape, axes, to)) {
      add_extents(from, to);
    } else if (!read(ctx, end_, shape, axes, to) && !read(ctx, rel_end_, shape, axes, to)) {
      to.resize(count);
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<double>(shape[axes.axes[i]]);
    }
    place(axes, from, to, window);
  }
  // The same for a window that starts at `from` and ends at `to`.
  static void place(const AxisList& axes, const std::vector<double>& from,
                    const std::vector<double>& to, Window& window) {
    for (size_t i = 0; i < from.size(); ++i) {
      TORCHDALI_CHECK(from[i] <= to[i], "the window ends at ", to[i], " before it starts at ",
                      from[i], " along axis ", axes.axes[i]);
      const int64_t first = round(from[i]);
      window.anchor[axes.axes[i]] = first;
      window.shape[axes.axes[i]] = round(to[i]) - first;
    }
  }
  // Turns extents into ends.
  static void add_extents(const std::vector<double>& from, std::vector<double>& extents) {
    for (size_t i = 0; i < extents.size(); ++i) {
      TORCHDALI_CHECK(extents[i] >= 0, "the window cannot have an extent of ", extents[i]);
      extents[i] += from[i];
    }
  }

 private:
  template <class T>
  struct Values {
    Values(const OpSpec& spec, std::string arg) : name(std::move(arg)), values(spec, name) {}
    std::string name;
    ListArg<T> values;
  };

  static int64_t round(double value) {
    constexpr double kMax = 1e15;  // far from overflow; NaN fails too
    TORCHDALI_CHECK(value >= -kMax && value <= kMax, "a coordinate of the window is ", value);
    return static_cast<int64_t>(std::round(value));
  }

  // Returns false if the argument is not given.
  template <class T>
  static bool read(const SampleContext& ctx, const Values<T>& arg, const Shape& shape,
                   const AxisList& axes, std::vector<double>& out) {
    if (!arg.values.given()) return false;
    static thread_local std::vector<T> buffer;
    const auto values = arg.values(ctx, buffer);
    const auto count = static_cast<size_t>(axes.count);
    TORCHDALI_CHECK(values.size() == count || values.size() == 1, "`", arg.name, "` has ",
                    values.size(), " values, expected one for each of the ", count, " axes");
    out.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const T value = values[values.size() == 1 ? 0 : i];
      // The product is rounded to float, as in DALI, which affects halves.
      if constexpr (std::is_floating_point_v<T>)
        out[i] = value * static_cast<T>(shape[axes.axes[i]]);
      else out[i] = static_cast<double>(value);
    }
    return true;
  }

  Values<int64_t> start_, end_, shape_;
  Values<float> rel_start_, rel_end_, rel_shape_;
  bool given_ = false;
};

// Reads the arguments of add_slice_args() and places the window. Immutable; any thread.
class SliceArgs {
 public:
  explicit SliceArgs(const OpSpec& spec)
      : axes_(spec),
        coordinates_(spec),
        normalized_anchor_(spec.get<bool>("normalized_anchor")),
        normalized_shape_(spec.get<bool>("normalized_shape")),
        positional_(spec.num_inputs == 3) {
    TORCHDALI_CHECK(spec.num_inputs != 2, "the input `anchor` needs the input `extent`");
    TORCHDALI_CHECK(!positional_ || !coordinates_.given(),
                    "the inputs `anchor` and `extent` exclude the arguments `start`, `end`, "
                    "`shape` and their `rel_` forms");
    TORCHDALI_CHECK(positional_ || coordinates_.given(),
                    "needs a window: the inputs `anchor` and `extent`, or `start`, `end`, `shape` "
                    "or their `rel_` forms");
  }

  // The window in a sample of `shape`; axes that are not named are kept whole.
  Window operator()(const SampleContext& ctx, const Shape& shape, const Layout& layout) const {
    const AxisList axes = axes_(ctx, shape, layout);
    Window window = Window::whole(shape);
    if (!positional_) {
      coordinates_.place(ctx, shape, axes, window);
      return window;
    }
    static thread_local std::vector<double> from, to;
    read_input(ctx.input(1), "anchor", normalized_anchor_, shape, axes, from);
    read_input(ctx.input(2), "extent", normalized_shape_, shape, axes, to);
    SliceCoordinates::add_extents(from, to);
    SliceCoordinates::place(axes, from, to, window);
    return window;
  }

 private:
  static void read_input(const SampleView& input, const char* name, bool normalized,
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
  SliceCoordinates coordinates_;
  bool normalized_anchor_, normalized_shape_, positional_;
};

}  // namespace torchdali
