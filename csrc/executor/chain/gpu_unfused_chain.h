// SPDX-License-Identifier: Apache-2.0
// The samples of a batch that do not fit the kernel of a chain on the GPU. The members run one by
// one for them, as they do outside of chains.
#pragma once

#include <memory>
#include <vector>

#include "core/batch_context.h"
#include "executor/chain/chain_member.h"
#include "gpu/audio_chain.h"
#include "gpu/chain.h"

namespace torchdali {

// A member of a chain on the GPU.
struct GpuMember : PreparedMember {
  explicit GpuMember(PreparedMember&& member)
      : PreparedMember(std::move(member)),
        gpu(as<gpu::GpuOperator>()),
        resamples(as<gpu::ResamplesInChain>()),
        takes(as<TakesImagePart>()),
        maps(as<gpu::MapsPixels>()),
        normalizes(as<gpu::NormalizesInChain>()),
        makes_frames(as<gpu::MakesFramesInChain>()),
        filters_frames(as<gpu::FiltersFramesInChain>()) {}
  const gpu::GpuOperator* gpu;
  const gpu::ResamplesInChain* resamples;
  const TakesImagePart* takes;
  const gpu::MapsPixels* maps;
  const gpu::NormalizesInChain* normalizes;
  // Of audio.
  const gpu::MakesFramesInChain* makes_frames;
  const gpu::FiltersFramesInChain* filters_frames;
};

// One batch.
class UnfusedChain {
 public:
  // `samples`: their numbers k in `batch`.
  UnfusedChain(const std::vector<GpuMember>& members, int num_values, BatchContext& batch,
               const std::vector<int>& samples);
  ~UnfusedChain();
  // Runs all members. The last one only describes its outputs.
  void run();
  // Launches the kernels of the last member, after BatchContext::make_outputs().
  void launch_last();

 private:
  class Stage;
  void run_member(size_t m);

  const std::vector<GpuMember>& members_;
  BatchContext& batch_;
  const std::vector<int>& samples_;
  std::vector<SampleView> slots_;
  struct Value {
    SampleView view;
    int input = 0;  // the input of the chain that it is a view of; -1: none
  };
  std::vector<Value> values_;                  // the chain's value, per sample
  std::vector<std::shared_ptr<void>> memory_;  // of values between members, until all is queued
  std::unique_ptr<Stage> last_;
  std::unique_ptr<BatchState> last_tasks_;
};

}  // namespace torchdali
