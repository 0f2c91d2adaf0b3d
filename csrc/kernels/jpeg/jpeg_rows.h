// SPDX-License-Identifier: Apache-2.0
// Rows of JPEG components to rows of pixels: smooth ("fancy") upsampling and color conversion,
// bit-identical to libjpeg-turbo.
#pragma once

#include <cstdint>

namespace torchdali::kernels {

// How one component is enlarged to the size of the picture. Smooth: each new sample is a quarter of
// the way to the adjacent one; otherwise samples are repeated.
struct JpegUpsampling {
  int across = 1, down = 1;  // factors
  bool smooth = false;       // only for factors of 1 and 2
};

// Enlarges row `near`. `far` is the row on the other side of the output row (only if smooth && down
// == 2; `above`: whether it is the row above). `n` samples become n * across. If smooth, reads
// near[-1] and near[n] (of `far` too), which at the edge of the picture repeat the edge. `sums`: n
// + 2 numbers, used only if both factors are smooth.
void jpeg_upsample(const JpegUpsampling& how, const uint8_t* near, const uint8_t* far, bool above,
                   int64_t n, int16_t* sums, uint8_t* out);

// BT.601 of full range (JFIF 1.02) with 16 fraction bits, rounded like libjpeg. Three planes to `n`
// pixels, R first or B first. May read, but not write, up to 31 samples more.
void jpeg_ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, bool bgr,
                     uint8_t* out);

// The same for planes that are R, G, B.
void jpeg_planes_to_rgb(const uint8_t* r, const uint8_t* g, const uint8_t* b, int64_t n, bool bgr,
                        uint8_t* out);

// Readable bytes that rows need after their end.
inline constexpr int64_t kJpegRowSlack = 32;

}  // namespace torchdali::kernels
