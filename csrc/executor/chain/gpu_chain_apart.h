// SPDX-License-Identifier: Apache-2.0
// The samples of a batch that do not fit into the one kernel of a chain on the GPU: its members run
// on them one after the other, as if they were no chain.
#pragma once

#include <memory>
#include <vector>

#include "executor/chain/chain_member.h"
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
        normalizes(as<gpu::NormalizesInChain>()) {}
  const gpu::GpuOperator* gpu;
  const gpu::ResamplesInChain* resamples;
  const TakesImagePart* takes;
  const gpu::MapsPixels* maps;
  const gpu::NormalizesInChain* normalizes;
};

// One batch.
class ChainApart {
 public:
  // `samples`: which of the batch.
  ChainApart(const std::vector<GpuMember>& members, int num_values, BatchContext& batch,
             const std::vector<int>& samples);
  ~ChainApart();
  // All but the kernels of the last member, whose outputs are described then.
  void run();
  // Behind BatchContext::make_outputs().
  void launch_last();

 private:
  class Pass;
  void run_member(size_t m);

  const std::vector<GpuMember>& members_;
  BatchContext& batch_;
  const std::vector<int>& samples_;
  std::vector<SampleView> slots_;
  struct Value {
    SampleView view;
    int input = 0;  // of the chain, whose memory it is a view of; -1: of none
  };
  std::vector<Value> values_;                  // the chain's, of each sample
  std::vector<std::shared_ptr<void>> memory_;  // of values between, until all is queued
  std::unique_ptr<Pass> last_;
  std::unique_ptr<BatchState> last_tasks_;
};

}  // namespace torchdali
