// SPDX-License-Identifier: Apache-2.0
// What the operators of this folder share: images of 1 or 3 channels, whose arithmetic to follow.
#pragma once

#include <span>
#include <string>

#include "core/operator.h"
#include "kernels/augment/augment_image.h"
#include "ops/input_layout.h"

namespace torchdali {

inline SchemaBuilder& add_augment_image(SchemaBuilder& schema) {
  return schema.input("data",
                      "Images or sequences with 1 or 3 channels; uint8, or float32 with values "
                      "from 0 to 1.",
                      {"HWC", "CHW", "FHWC", "FCHW"});
}
inline SchemaBuilder& add_arithmetic(SchemaBuilder& schema) {
  return schema.arg("arithmetic", "torch",
                    "Whose rounding to follow: \"torch\", of torchvision's functions on tensors, "
                    "or \"pillow\", of those on Pillow's images.");
}

// Whether `interp_type` is linear, else the nearest pixel.
inline bool takes_linear(const OpSpec& spec) {
  const auto type = spec.get<InterpType>("interp_type");
  TORCHDALI_CHECK(type == InterpType::kNN || type == InterpType::kLinear,
                  "`interp_type` is number ", static_cast<int>(type),
                  " of DALIInterpType, expected INTERP_NN or INTERP_LINEAR");
  return type == InterpType::kLinear;
}
// `fill_value` of a sample.
inline std::span<const float> outside_values(std::span<const float> fill,
                                             const kernels::ImageExtents& image) {
  TORCHDALI_CHECK(fill.size() <= 1 || static_cast<int64_t>(fill.size()) == image.channels,
                  "`fill_value` has ", fill.size(), " values, expected 1 or ", image.channels);
  return fill;
}

// Immutable; any thread.
class AugmentArgs {
 public:
  explicit AugmentArgs(const OpSpec& spec) : layout_(spec, 0) {
    const auto name = spec.get<std::string>("arithmetic");
    TORCHDALI_CHECK(name == "torch" || name == "pillow", "`arithmetic` is \"", name,
                    "\", expected \"torch\" or \"pillow\"");
    if (name == "pillow") arithmetic = kernels::ImageArithmetic::kPillow;
  }
  Layout layout(const SampleView& in) const { return layout_(in); }
  // The extents of an image; raises unless it is one that the kernels take.
  kernels::ImageExtents extents(const SampleView& in, const Layout& layout) const {
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8 || in.dtype == DType::kFloat,
                         "input `data` is ", dtype_name(in.dtype), ", expected uint8 or float32",
                         to_fix("use fn.cast"));
    TORCHDALI_CHECK_KIND(
        kType, in.dtype == DType::kUInt8 || arithmetic != kernels::ImageArithmetic::kPillow,
        "input `data` is float32, and arithmetic=\"pillow\" takes uint8 only");
    kernels::ImageExtents image;
    image.planar = layout.find('C') == 0;
    image.height = in.shape[layout.find('H')];
    image.width = in.shape[layout.find('W')];
    image.channels = in.shape[layout.find('C')];
    TORCHDALI_CHECK(image.channels == 1 || image.channels == 3, "input `data` has ", image.channels,
                    " channels, expected 1 or 3");
    // Positions are computed in float, and in 16.16 fixed point.
    constexpr int64_t kLargest = (1 << 15) - 1;
    TORCHDALI_CHECK(image.height <= kLargest && image.width <= kLargest, "input `data` has shape ",
                    in.shape, ", expected at most ", kLargest, " rows and columns");
    return image;
  }
  kernels::ImageArithmetic arithmetic = kernels::ImageArithmetic::kTorch;

 private:
  InputLayout layout_;
};

}  // namespace torchdali
