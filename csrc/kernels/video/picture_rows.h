// SPDX-License-Identifier: Apache-2.0
// Where the samples of a picture are: for each kind (Y, U, V; or R, G, B), the same few numbers.
#pragma once

#include <cstdint>

#include "kernels/video/picture.h"

namespace torchdali::kernels {

struct PictureRows {
  const uint8_t* first[3] = {};  // the first sample; null: all are in the middle of their range
  int64_t stride[3] = {};        // bytes from row to row
  int step[3] = {1, 1, 1};       // samples from column to column
  int shift_x[3] = {}, shift_y[3] = {};

  explicit PictureRows(const Picture& p) : sample_bytes_(p.bits > 8 ? 2 : 1) {
    switch (p.model) {
      case PictureModel::kRgbPacked:
        for (int k = 0; k < 3; ++k) set(p, k, 0, p.pixel_samples, p.sample_order[k]);
        break;
      case PictureModel::kRgbPlanes:
        set(p, 0, 2, 1, 0);
        set(p, 1, 0, 1, 0);
        set(p, 2, 1, 1, 0);
        break;
      case PictureModel::kGray: set(p, 0, 0, 1, 0); break;
      case PictureModel::kYuv:
        set(p, 0, 0, 1, 0);
        for (int k = 1; k < 3; ++k) {
          if (p.interleaved_chroma) set(p, k, 1, 2, p.sample_order[k - 1]);
          else set(p, k, k, 1, 0);
          shift_x[k] = p.chroma_shift_x;
          shift_y[k] = p.chroma_shift_y;
        }
        break;
    }
  }

  int64_t sample_bytes() const { return sample_bytes_; }
  // The sample of a pixel; not for kinds without samples.
  const uint8_t* at(int k, int64_t x, int64_t y) const {
    return first[k] + (y >> shift_y[k]) * stride[k] + (x >> shift_x[k]) * step[k] * sample_bytes_;
  }

 private:
  void set(const Picture& p, int k, int plane, int samples, int place) {
    first[k] = p.planes[plane] + place * sample_bytes_;
    stride[k] = p.strides[plane];
    step[k] = samples;
  }
  int64_t sample_bytes_;
};

}  // namespace torchdali::kernels
