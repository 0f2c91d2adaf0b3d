// SPDX-License-Identifier: Apache-2.0
// The size of a resized sample and its region of the input: the arguments `size`, `resize_x/y/z`,
// `resize_shorter`, `resize_longer`, `mode`, `max_size`, `subpixel_scale`, `roi_start`, `roi_end`
// and `roi_relative`. Source: DALI 1.35, run with thousands of sizes.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"
#include "ops/resize/fit_axes.h"

namespace torchdali {

// Axes in the order of the layout: (D,) H, W.
struct ResizeGeometry {
  int ndim = 0;
  std::array<int64_t, 3> out{};
  // The region of the input, in pixels, that becomes the result; low > high mirrors.
  std::array<float, 3> low{}, high{};
};

// The arguments of ResizeArgs, for SchemaBuilder::with().
SchemaBuilder& add_resize_args(SchemaBuilder& schema);
// Those of the region of interest.
SchemaBuilder& add_region_args(SchemaBuilder& schema);

// Reads the arguments of add_resize_args(). Immutable; any thread.
class ResizeArgs {
 public:
  explicit ResizeArgs(const OpSpec& spec);
  // `extents`: (D,) H, W of the input.
  ResizeGeometry operator()(const SampleContext& ctx, std::span<const int64_t> extents) const;

 private:
  using Mode = ResizeMode;
  using Values = std::array<float, 3>;
  void read(const SampleContext& ctx, const ListArg<float>& arg, const char* name, int ndim,
            Values& values) const;
  // Size of an image with `size_rounding` "truncate".
  void truncated_size(const SampleContext& ctx, std::span<const int64_t> extents,
                      const Values& size, ResizeGeometry& geometry) const;
  Values requested_size(const SampleContext& ctx, int ndim) const;

  ListArg<float> size_, max_size_, roi_start_, roi_end_;
  Arg<float> x_, y_, z_, shorter_, longer_;
  Mode mode_;
  bool subpixel_scale_, roi_relative_, truncate_ = false;
};

}  // namespace torchdali
