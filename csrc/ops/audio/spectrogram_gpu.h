// SPDX-License-Identifier: Apache-2.0
// fn.spectrogram on the GPU.
#pragma once

#include <vector>

#include "gpu/audio_chain.h"
#include "gpu/operator.h"
#include "kernels/audio/spectrogram_gpu.h"
#include "ops/audio/spectrogram_args.h"

namespace torchdali {

struct SpectrogramSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::SpectrogramKernel> transforms{*this};
  gpu::Tasks<gpu::DirectSpectrogramKernel> sums{*this};
};

class SpectrogramGpu final : public gpu::StepsOperator<SpectrogramSteps>,
                             public gpu::MakesFramesInChain {
 public:
  explicit SpectrogramGpu(const OpSpec& spec);
  void run(SampleContext& ctx) const override;
  bool describe_frames(const SampleContext& ctx, gpu::Blob& blob,
                       gpu::SpectrogramTask& task) const override;

 private:
  void describe_signal(const SampleContext& ctx, gpu::Blob& blob, gpu::SpectrogramTask& task) const;

  SpectrogramArgs args_;
  // Without passes, the sum of the definition is computed.
  gpu::FftPlan plan_;
  int frames_per_block_ = 1;
  std::vector<gpu::Complex> twiddles_, roots_;
};

}  // namespace torchdali
