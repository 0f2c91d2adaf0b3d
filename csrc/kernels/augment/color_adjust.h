// SPDX-License-Identifier: Apache-2.0
// Adjustments of saturation, hue and sharpness, and levels of gray, as torchvision and Pillow
// define them. Elements are uint8, or float with values from 0 to 1, for which the arithmetic is
// kTorch. `out` and `in` do not overlap. Results do not depend on the instruction set. Source: the
// documentation of torchvision 0.29 and Pillow 12, and their results.
#pragma once

#include <cstdint>

#include "kernels/augment/augment_image.h"

namespace torchdali::kernels {

// The mean of the levels of gray of three channels, or of the values of one, before any rounding of
// the mean.
double mean_gray(const uint8_t* in, const ImageExtents& image, ImageArithmetic arithmetic);
double mean_gray(const float* in, const ImageExtents& image);

// Three channels. A factor of 0 gives gray, 1 changes nothing.
void adjust_saturation(uint8_t* out, const uint8_t* in, const ImageExtents& image, float factor,
                       ImageArithmetic arithmetic);
void adjust_saturation(float* out, const float* in, const ImageExtents& image, float factor);

// Three channels. Adds `turn`, from -0.5 to 0.5 turns, to the hue of HSV.
void adjust_hue(uint8_t* out, const uint8_t* in, const ImageExtents& image, float turn,
                ImageArithmetic arithmetic);
void adjust_hue(float* out, const float* in, const ImageExtents& image, float turn);

// Three equal channels: the level of gray.
void gray_channels(uint8_t* out, const uint8_t* in, const ImageExtents& image,
                   ImageArithmetic arithmetic);
void gray_channels(float* out, const float* in, const ImageExtents& image);

// A factor of 0 gives the image smoothed by a 3 x 3 kernel, 1 changes nothing. The border keeps its
// values.
void adjust_sharpness(uint8_t* out, const uint8_t* in, const ImageExtents& image, float factor,
                      ImageArithmetic arithmetic);
void adjust_sharpness(float* out, const float* in, const ImageExtents& image, float factor);

}  // namespace torchdali::kernels
