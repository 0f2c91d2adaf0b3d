// SPDX-License-Identifier: Apache-2.0
// The interfaces by which several GPU operators over one image become one kernel
// (executor/chain/gpu_chain.h, docs/design/fusion.md). Images and parts of them are those of
// core/image/image_part.h. Nothing here reads pixels.
#pragma once

#include <memory>

#include "core/image/image_part.h"
#include "gpu/operator.h"
#include "kernels/resample/chain_task.h"

namespace torchdali::gpu {

// Base class of GPU operators that can be members of a chain (Schema::chains_on_gpu).
class ChainMember {
 public:
  virtual ~ChainMember() = default;
};

// ImageRole::kWindow and kFlip.
class TakesPart : public ChainMember, public TakesImagePart {};

// The resampling of the current sample.
class ChainResampling {
 public:
  virtual ~ChainResampling() = default;
  // The result, without data.
  virtual SampleView image() const = 0;
  // Like ImageResampling::narrow().
  virtual void narrow(const ImagePart& part) = 0;
  // Whether it uses strips (kernels/resample/strip_resampling.h), as outside a chain.
  virtual bool by_strips() const = 0;
  // Sets the fields of `task` about the resampling, except for the addresses. Rows of the input are
  // `row_stride` elements apart. Returns false if the resampling would be computed differently
  // outside a chain. Called once.
  virtual bool describe(const SampleContext& ctx, Blob& blob, ChainTask& task,
                        int64_t row_stride) = 0;
};
// ImageRole::kResampler. `in`, of layout "HWC", describes input 0 and has no data.
class ResamplesInChain : public ChainMember {
 public:
  virtual std::unique_ptr<ChainResampling> plan(SampleContext& ctx, const SampleView& in) const = 0;
};

// ImageRole::kPixelwise.
class MapsPixels : public ChainMember {
 public:
  // How each pixel of input 0 is mapped. The input has layout "HWC" and no data; tables go to
  // `blob`.
  virtual PixelStep step(const SampleContext& ctx, Blob& blob) const = 0;
};

// ImageRole::kNormalizer.
class NormalizesInChain : public TakesPart {
 public:
  // Makes output 0 for an image like `in`, the result of part(), and sets the fields of `task`
  // about normalization and the output, including its address.
  virtual void finish(SampleContext& ctx, const SampleView& in, Blob& blob,
                      ChainTask& task) const = 0;
};

}  // namespace torchdali::gpu
