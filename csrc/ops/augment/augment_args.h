// SPDX-License-Identifier: Apache-2.0
// What both halves of fn.augment do first.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "core/argument.h"
#include "kernels/augment/map_pixels.h"
#include "ops/augment/image_args.h"
#include "ops/augment/steps.h"

namespace torchdali {

// What is done to one image.
struct AugmentSteps {
  kernels::ImageExtents image;
  Step steps[StepArgs::kMost];
  int count = 0;
  std::span<const Step> span() const { return {steps, static_cast<size_t>(count)}; }
};

// Immutable; any thread.
class StepsOfImage {
 public:
  explicit StepsOfImage(const OpSpec& spec)
      : args_(spec), steps_(spec), fill_(spec, "fill_value"), linear_(takes_linear(spec)) {}

  // Makes the output, and reads the operations. False if there is no pixel.
  bool operator()(SampleContext& ctx, AugmentSteps& to) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = args_.layout(in);
    to.image = args_.extents(in, layout);
    if (ctx.output(0, in.dtype, in.shape, layout).volume() == 0) return false;
    to.count = steps_.read(ctx, to.image, to.steps);
    return true;
  }
  kernels::ImageArithmetic arithmetic() const { return args_.arithmetic; }

  // Of a geometric operation.
  kernels::MapPlan plan_move(const SampleContext& ctx, const kernels::ImageExtents& image,
                             const Step& step, bool bytes) const {
    thread_local std::vector<float> buffer;
    kernels::MapOptions options;
    options.linear = linear_;
    options.arithmetic = args_.arithmetic;
    options.fill = outside_values(fill_(ctx, buffer), image);
    return plan_map(map_of(image, step), image, image.height, image.width, options, bytes);
  }

 private:
  kernels::PixelMap map_of(const kernels::ImageExtents& image, const Step& step) const {
    kernels::AffineArguments to;
    const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
    const auto by = static_cast<double>(step.magnitude);
    const bool shears =
        step.operation == Operation::kShearX || step.operation == Operation::kShearY;
    if (!shears) to.center = {width * 0.5, height * 0.5};
    // A part of an extent that should be whole pixels and is not, by rounding, is whole.
    const auto whole = [](double x) { return std::trunc(x + std::copysign(1e-4, x)); };
    const double degrees = std::atan(by) * (180 / std::numbers::pi);
    switch (step.operation) {
      case Operation::kShearX: to.shear = {degrees, 0}; break;
      case Operation::kShearY: to.shear = {0, degrees}; break;
      case Operation::kTranslateX: to.translate = {std::trunc(by), 0}; break;
      case Operation::kTranslateY: to.translate = {0, std::trunc(by)}; break;
      case Operation::kTranslateXPart: to.translate = {whole(by * width), 0}; break;
      case Operation::kTranslateYPart: to.translate = {0, whole(by * height)}; break;
      default:
        if (args_.arithmetic == kernels::ImageArithmetic::kPillow)
          return kernels::pillow_rotation(by, to.center);
        to.angle = -by;
    }
    return kernels::inverse_affine(to);
  }

  AugmentArgs args_;
  StepArgs steps_;
  ListArg<float> fill_;
  bool linear_;
};

}  // namespace torchdali
