// SPDX-License-Identifier: Apache-2.0
// The factors of a conversion. Luma and chroma: ITU-R BT.601-7, BT.709-6, BT.2020-2 (section 4 of
// each); the ranges of n bits: ITU-T H.273, 8.3.
#include "kernels/video/to_rgb.h"

#include <cmath>

namespace torchdali::kernels {
namespace {

struct Affine {
  double m[3][3] = {};
  double offset[3] = {};
};

// first, then second
Affine compose(const Affine& first, const Affine& second) {
  Affine result;
  for (int i = 0; i < 3; ++i) {
    result.offset[i] = second.offset[i];
    for (int k = 0; k < 3; ++k) {
      result.offset[i] += second.m[i][k] * first.offset[k];
      for (int j = 0; j < 3; ++j) result.m[i][j] += second.m[i][k] * first.m[k][j];
    }
  }
  return result;
}

struct Weights {
  double red, blue;
  double green() const { return 1 - red - blue; }
};
constexpr Weights kBt601 = {0.299, 0.114}, kBt709 = {0.2126, 0.0722}, kBt2020 = {0.2627, 0.0593};

Weights weights_of(YuvMatrix matrix) {
  switch (matrix) {
    case YuvMatrix::kBt709: return kBt709;
    case YuvMatrix::kBt2020: return kBt2020;
    default: return kBt601;
  }
}

// Luma in [0, 1] and chroma in [-1/2, 1/2] to R, G, B in [0, 1], and back.
Affine yuv_to_rgb(Weights w) {
  const double u = 2 * (1 - w.blue), v = 2 * (1 - w.red);
  return {{{1, 0, v}, {1, -u * w.blue / w.green(), -v * w.red / w.green()}, {1, u, 0}}, {}};
}
Affine rgb_to_yuv(Weights w) {
  const double u = 1 / (2 * (1 - w.blue)), v = 1 / (2 * (1 - w.red));
  return {{{w.red, w.green(), w.blue},
           {-w.red * u, -w.green() * u, (1 - w.blue) * u},
           {(1 - w.red) * v, -w.green() * v, -w.blue * v}},
          {}};
}

Affine scaled(double scale0, double offset0, double scale, double offset) {
  return {{{scale0, 0, 0}, {0, scale, 0}, {0, 0, scale}}, {offset0, offset, offset}};
}

// Centered 16-bit samples to R, G, B in [0, 1].
Affine samples_to_rgb(const Picture& p) {
  const double middle = 32768, one = 256;  // one: a unit of 8 bits
  const double full = 1.0 / ((1 << 16) - (1 << (16 - p.bits)));
  const Affine from_full = scaled(full, full * middle, full, full * middle);
  if (p.model == PictureModel::kRgbPlanes || p.model == PictureModel::kRgbPacked) return from_full;
  const double luma = p.full_range ? full : 1 / (219 * one);
  const double black = p.full_range ? 0 : 16 * one;
  double chroma = p.full_range ? full : 1 / (224 * one);
  if (p.model == PictureModel::kGray) chroma = 0;
  const Affine yuv = scaled(luma, luma * (middle - black), chroma, 0);
  return compose(yuv, yuv_to_rgb(weights_of(p.matrix)));
}

Affine rgb_to_output(PixelOutput output) {
  switch (output) {
    case PixelOutput::kYCbCr: return compose(rgb_to_yuv(kBt601), scaled(219, 16, 224, 128));
    case PixelOutput::kGray: return compose(rgb_to_yuv(kBt601), scaled(255, 0, 0, 0));
    default: return scaled(255, 0, 255, 0);
  }
}

}  // namespace

PixelMap pixel_map(const Picture& picture, PixelOutput output) {
  const Affine exact = compose(samples_to_rgb(picture), rgb_to_output(output));
  constexpr double kUnit = 1 << yuv_scalar::kFractionBits, kHalf = 0.5;
  PixelMap map;
  for (size_t c = 0; c < 3; ++c) {
    double offset = (exact.offset[c] + kHalf) * kUnit;
    for (size_t k = 0; k < 3; ++k) {
      const auto factor = static_cast<int16_t>(std::lround(exact.m[c][k] * kUnit * (1 << 16)));
      map.factor[c][k] = factor;
      // What the product loses on average, if the unit of a sample times the factor is not whole.
      if ((factor << (16 - picture.bits)) % (1 << 16) != 0) offset += kHalf;
    }
    map.offset[c] = static_cast<int16_t>(std::lround(offset));
  }
  return map;
}

}  // namespace torchdali::kernels
