// SPDX-License-Identifier: Apache-2.0
// Rows of JPEG components to rows of pixels: smooth ("fancy") upsampling and color conversion, to
// the bit what libjpeg-turbo gives.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// How one component grows to the size of the picture. Smooth: each new sample lies a quarter of
// the way to its neighbour; otherwise samples are repeated.
struct JpegUpsampling {
  int across = 1, down = 1;  // factors
  bool smooth = false;       // only for factors of 1 and 2
};

// Row `near`, and `far`, the row on the other side of the output row (smooth && down == 2 only;
// `above`: it is the one above). `n` samples become n * across. Reads near[-1] and near[n] (far
// too) where smooth: the edge of the picture is its own neighbour. `sums`: n + 2 numbers, unless
// both factors are smooth nothing.
void jpeg_upsample(const JpegUpsampling& how, const uint8_t* near, const uint8_t* far, bool above,
                   int64_t n, int16_t* sums, uint8_t* out);

// BT.601 of full range (JFIF 1.02) in 16 bits of fraction, as libjpeg rounds it. Three planes to
// `n` pixels, R first or B first. May read, but not write, up to 31 samples more.
void jpeg_ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, bool bgr,
                     uint8_t* out);

// Planes that are R, G, B already.
void jpeg_planes_to_rgb(const uint8_t* r, const uint8_t* g, const uint8_t* b, int64_t n, bool bgr,
                        uint8_t* out);

// Readable bytes that rows need behind their end.
inline constexpr int64_t kJpegRowSlack = 32;

}  // namespace torchdali::kernels
