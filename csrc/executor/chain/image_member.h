// SPDX-License-Identifier: Apache-2.0
// A member of a chain over one image on the CPU, with the interface of its role.
#pragma once

#include <utility>

#include "core/image/frame_source.h"
#include "core/image/image_part.h"
#include "executor/chain/chain_sample.h"

namespace torchdali {

struct ImageMember : PreparedMember {
  explicit ImageMember(PreparedMember&& member)
      : PreparedMember(std::move(member)),
        makes(as<MakesImage>()),
        makes_sequence(as<MakesSequence>()),
        resamples(as<ResamplesImage>()),
        takes(as<TakesImagePart>()),
        normalizes(as<NormalizesRows>()) {}
  const MakesImage* makes;
  const MakesSequence* makes_sequence;
  const ResamplesImage* resamples;
  const TakesImagePart* takes;
  const NormalizesRows* normalizes;
};

using ImageChainSample = ChainSample<ImageMember>;

}  // namespace torchdali
