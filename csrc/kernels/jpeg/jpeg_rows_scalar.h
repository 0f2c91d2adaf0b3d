// SPDX-License-Identifier: Apache-2.0
// One pixel of jpeg_rows.h, for the host and the GPU: color conversion and smooth upsampling.
#pragma once

#include <algorithm>
#include <cstdint>

namespace torchdali::kernels::jpeg_rows_scalar {

// R = Y + 1.402 Cr, G = Y - 0.34414 Cb - 0.71414 Cr, B = Y + 1.772 Cb; each sum of products is
// rounded once. The factors less an integer fit 16 bits.
inline constexpr int kBits = 16;
constexpr int fix(double x) {
  constexpr double kToNearest = 0.5;  // of positive numbers
  return static_cast<int>(x * (1 << kBits) + kToNearest);
}
inline constexpr int kCrR = fix(1.40200), kCbB = fix(1.77200), kCbG = fix(0.34414),
                     kCrG = fix(0.71414);
inline constexpr int kOne = 1 << kBits, kHalf = kOne / 2;

constexpr uint8_t clamp_byte(int x) { return static_cast<uint8_t>(std::clamp(x, 0, 255)); }

template <bool kBgr>
constexpr void ycc_pixel(int y, int cb, int cr, uint8_t* out) {
  cb -= 128;
  cr -= 128;
  out[kBgr ? 2 : 0] = clamp_byte(y + ((kCrR * cr + kHalf) >> kBits));
  out[1] = clamp_byte(y + ((-kCbG * cb - kCrG * cr + kHalf) >> kBits));
  out[kBgr ? 0 : 2] = clamp_byte(y + ((kCbB * cb + kHalf) >> kBits));
}

// Each new sample is a quarter of the way to the adjacent one. Halves are alternately rounded up
// and down, so that there is no bias. `second`: which of the two new samples.
constexpr uint8_t smooth_across(int near, int neighbor, bool second) {
  return static_cast<uint8_t>((3 * near + neighbor + (second ? 2 : 1)) >> 2);
}
constexpr uint8_t smooth_down(int near, int far, bool above) {
  return static_cast<uint8_t>((3 * near + far + (above ? 1 : 2)) >> 2);
}
// Both directions, from the sums 3 near + far of rows.
constexpr uint8_t smooth_sums(int near, int neighbor, bool second) {
  return static_cast<uint8_t>((3 * near + neighbor + (second ? 7 : 8)) >> 4);
}

}  // namespace torchdali::kernels::jpeg_rows_scalar
