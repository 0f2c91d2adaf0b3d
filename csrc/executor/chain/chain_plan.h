// SPDX-License-Identifier: Apache-2.0
// Which members of a chain run as one for a sample, decided before any pixel is made.
#pragma once

#include <memory>
#include <vector>

#include "core/image_part.h"
#include "executor/chain/chain_sample.h"

namespace torchdali {

// Members that run as one: those from the first one on that fit, up to `end`.
struct ChainSegment {
  size_t end = 0;
  SampleView image;  // the value behind the last of them that was added; without data
  std::unique_ptr<ImageSource> source;
  ImagePart window;  // of the source, or of the value that comes in: all that is looked at
  size_t resampler = 0;
  std::unique_ptr<ImageResampling> resampling;  // of that window
  std::vector<size_t> pixelwise;
  int64_t row_bytes = 0;  // of the longest row of these
  bool normalized = false;
  bool mirror = false;  // by the normalizer

  // Whether running them as one saves anything.
  bool is_worthwhile(size_t begin) const {
    return end - begin > 1 &&
           (source != nullptr || resampling != nullptr || normalized || !pixelwise.empty());
  }
};

inline int64_t bytes_of_row(const SampleView& image) {
  return image.shape[1] * image.shape[2] * itemsize(image.dtype);
}

// The longest such run that begins with member `begin`, which takes the chain's value. A member
// whose planning fails does not fit.
ChainSegment plan_segment(ChainSample& sample, size_t begin);

}  // namespace torchdali
