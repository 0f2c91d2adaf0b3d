// SPDX-License-Identifier: Apache-2.0
// One pixel of to_rgb.h, for the host and the GPU. A sample of any number of bits is aligned to 16
// bits and taken as the difference to the middle, so that a product with a 16-bit factor has its
// upper half in 16 bits, too:
//
//   out[c] = clamp((offset[c] + sum over k of (in[k] * factor[c][k] >> 16)) >> 5)
//
// Each product loses at most one unit of 1/32, half of it on average, which `offset` contains. So a
// result is at most 0.57 off the exact value, and sums fit 16 bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace torchdali::kernels {

// From samples (Y, U, V; or R, G, B) to channels; to_rgb.cpp makes it.
struct PixelMap {
  std::array<std::array<int16_t, 3>, 3> factor = {};  // of channels, of samples
  std::array<int16_t, 3> offset = {};
};

namespace yuv_scalar {

inline constexpr int kFractionBits = 5;

// `shift`: the number of bits that a stored sample lacks to 16.
constexpr int16_t centered(unsigned sample, int shift) {
  constexpr unsigned kMiddle = 0x8000;
  return static_cast<int16_t>(static_cast<uint16_t>((sample << shift) ^ kMiddle));
}

constexpr int product(int sample, int factor) { return (sample * factor) >> 16; }

constexpr uint8_t channel(const PixelMap& map, int c, int a, int b, int d) {
  const std::array<int16_t, 3>& factor = map.factor[static_cast<size_t>(c)];
  const int sum = map.offset[static_cast<size_t>(c)] + product(a, factor[0]) +
                  product(b, factor[1]) + product(d, factor[2]);
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

}  // namespace yuv_scalar
}  // namespace torchdali::kernels
