// SPDX-License-Identifier: Apache-2.0
// The arguments of random windows, common to all operators that draw them.
#pragma once

#include "core/operator.h"
#include "ops/window/random_crop.h"

namespace torchdali {

// For SchemaBuilder::with().
inline SchemaBuilder& add_random_crop_args(SchemaBuilder& schema) {
  return schema
      .arg("random_area", std::vector<float>{0.08f, 1.0f},
           "Range of the window's area, as a fraction of the image.")
      .arg("random_aspect_ratio", std::vector<float>{0.75f, 1.333333f},
           "Range of the window's width over its height; drawn uniformly on a logarithmic scale.")
      .arg("num_attempts", 10,
           "Draws of area and aspect ratio, a million at most, before the largest window with a "
           "permitted ratio is used, at a random position.")
      .arg("window_rule", "dali",
           "How windows are drawn: \"dali\", or \"torchvision\": as its RandomResizedCrop does, "
           "which also takes windows whose ratio leaves the range by rounding, and in the end the "
           "largest one with a permitted ratio, in the center. torchdali only.");
}

inline RandomCropGenerator make_random_crop_generator(const OpSpec& spec) {
  // A single number is both ends. As floats, so that equal arguments result in equal windows.
  const auto range = [&](const char* name) {
    const auto values = spec.get<std::vector<float>>(name);
    TORCHDALI_CHECK(values.size() == 1 || values.size() == 2, "`", name, "` has ", values.size(),
                    " values, expected the two ends of a range");
    return FloatRange{.low = values.front(), .high = values.back()};
  };
  const auto rule = spec.get<std::string>("window_rule");
  TORCHDALI_CHECK(rule == "dali" || rule == "torchvision", "`window_rule` is \"", rule,
                  "\", expected \"dali\" or \"torchvision\"");
  return {range("random_area"), range("random_aspect_ratio"), spec.get<int>("num_attempts"),
          rule == "dali" ? WindowRule::kDali : WindowRule::kTorchvision};
}

}  // namespace torchdali
