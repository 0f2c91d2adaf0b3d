// SPDX-License-Identifier: Apache-2.0
// What GPU operators say about themselves so that several of them over one image become one kernel
// (executor/chain/gpu_chain.h, docs/design/fusion.md). Images and parts of them are those of
// core/image_part.h; nobody looks at pixels here.
#pragma once

#include <memory>

#include "core/image_part.h"
#include "gpu/operator.h"

namespace torchdali::gpu {

using ChainTasks = Tasks<ChainTask>;  // of one of the two kernels

// The schema of who derives from it says so (Schema::chains_on_gpu).
class ChainMember {
 public:
  virtual ~ChainMember() = default;
};

// ImageRole::kWindow and kFlip.
class TakesPart : public ChainMember, public TakesImagePart {};

// The resampling of the sample in hand.
class ChainResampling {
 public:
  virtual ~ChainResampling() = default;
  // Of the result; without data.
  virtual SampleView image() const = 0;
  // As ImageResampling::narrow().
  virtual void narrow(const ImagePart& part) = 0;
  // Whether it goes by strips (kernels/resample/strips_gpu.h), as it would alone: another kernel.
  virtual bool by_strips() const = 0;
  // Sets what a resampling has of `task`, but the addresses. Rows of the input are `row_stride`
  // elements apart. False where that cannot be done in the way that it would alone. Once.
  virtual bool describe(const SampleContext& ctx, ChainTasks& tasks, ChainTask& task,
                        int64_t row_stride) = 0;
};
// ImageRole::kResampler. `in`, of layout "HWC", stands for input 0 and has no data.
class ResamplesInChain : public ChainMember {
 public:
  virtual std::unique_ptr<ChainResampling> plan(SampleContext& ctx, const SampleView& in) const = 0;
};

// ImageRole::kPixelwise.
class MapsPixels : public ChainMember {
 public:
  // What becomes of each pixel of input 0, which has layout "HWC" and no data; `lists` takes what
  // is longer.
  virtual PixelStep step(const SampleContext& ctx, ChainTasks& lists) const = 0;
};

// ImageRole::kNormalizer.
class NormalizesInChain : public TakesPart {
 public:
  // Makes output 0 for an image like `in`, which part() was taken of, and sets what a normalisation
  // and the output have of `task`, its address too.
  virtual void finish(SampleContext& ctx, const SampleView& in, ChainTasks& tasks,
                      ChainTask& task) const = 0;
};

}  // namespace torchdali::gpu
