// SPDX-License-Identifier: Apache-2.0
// The interfaces by which GPU operators over one clip of audio become one kernel
// (executor/chain/gpu_audio_chain.h, docs/design/audio.md): each describes its part of one task.
// Nothing here reads samples.
#pragma once

#include "gpu/chain.h"
#include "kernels/audio/spectrogram_task.h"

namespace torchdali::gpu {

// AudioRole::kSpectrum.
class MakesFramesInChain : public ChainMember {
 public:
  // Sets the fields of `task` about the signal, input 0, and its frames, except for `out`. Returns
  // false if another kernel has to compute them.
  virtual bool describe_frames(const SampleContext& ctx, Blob& blob,
                               SpectrogramTask& task) const = 0;
};

// AudioRole::kFrames.
class FiltersFramesInChain : public ChainMember {
 public:
  // Adds to `task`, which describes how input 0 is made, what is made of it. Input 0 has no data.
  // Returns false if the kernel cannot do that.
  virtual bool describe_filter(const SampleContext& ctx, Blob& blob,
                               SpectrogramTask& task) const = 0;
};

}  // namespace torchdali::gpu
