// SPDX-License-Identifier: Apache-2.0
// Which members of a chain run as one for a sample. Decided before any pixel is computed.
#pragma once

#include <memory>
#include <vector>

#include "core/image/image_part.h"
#include "executor/chain/image_member.h"

namespace torchdali {

// Consecutive members that run as one, up to `end`.
struct FusedMembers {
  size_t end = 0;
  SampleView image;  // the result of the last member that was added; has no data
  std::unique_ptr<ImageSource> source;
  ImagePart window;  // the part of the source, or of the input, that is used
  size_t resampler = 0;
  std::unique_ptr<ImageResampling> resampling;  // of the window
  std::vector<size_t> pixelwise;
  int64_t row_bytes = 0;  // of their longest row
  bool normalized = false;
  bool mirror = false;  // the normalizer mirrors

  // Whether the result is a part of the decoded image as it is.
  bool only_decodes() const {
    return source != nullptr && resampling == nullptr && pixelwise.empty() && !normalized;
  }
  // Whether running them as one saves anything.
  bool is_worthwhile(size_t begin) const {
    return end - begin > 1 &&
           (source != nullptr || resampling != nullptr || normalized || !pixelwise.empty());
  }
};

inline int64_t bytes_of_row(const SampleView& image) {
  return image.shape[1] * image.shape[2] * itemsize(image.dtype);
}

// The longest sequence of members from `begin` on that run as one. A member whose planning fails is
// not among them.
FusedMembers fuse_members(ImageChainSample& sample, size_t begin);
// The same for member 0, a decoder of sequences, which made this frame, and those after it.
FusedMembers fuse_frame(ImageChainSample& sample, std::unique_ptr<ImageSource> frame);

}  // namespace torchdali
