// SPDX-License-Identifier: Apache-2.0
#include "ops/audio/spectrogram_gpu.h"

#include <algorithm>
#include <span>

namespace torchdali {
namespace {

// The transform of a frame, if the kernel has it; else a plan without passes.
gpu::FftPlan plan_transform(int64_t nfft) {
  constexpr int64_t kTooLarge = 1 << 16;
  if (nfft > kTooLarge) return {};
  gpu::SpectrogramTask task;
  task.nfft = static_cast<int32_t>(nfft);
  task.plan = gpu::make_fft_plan(task.is_packed() ? task.nfft / 2 : task.nfft);
  if (gpu::SpectrogramKernel::shared_bytes(task) > gpu::kMaxSharedBytes) return {};
  return task.plan;
}

}  // namespace

SpectrogramGpu::SpectrogramGpu(const OpSpec& spec)
    : args_(spec), plan_(plan_transform(args_.nfft())) {
  if (plan_.passes == 0) return;
  using Kernel = gpu::SpectrogramKernel;
  frames_per_block_ = std::clamp(Kernel::kPoints / plan_.size, 1, Kernel::kMaxFrames);
  twiddles_ = gpu::fft_twiddles(plan_);
  for (int64_t k = 0; k < args_.rows(); ++k) roots_.push_back(gpu::root_of_unity(k, args_.nfft()));
}

void SpectrogramGpu::run(SampleContext& ctx) const {
  SpectrogramSteps& steps = StepsOperator::steps(ctx);
  gpu::SpectrogramTask task;
  const bool by_transforms = describe_frames(ctx, steps.blob, task);
  task.out =
      ctx.output(0, DType::kFloat, args_.output_shape(task.frames), args_.output_layout()).data;
  if (by_transforms) {
    steps.transforms.add(ctx, task);
    return;
  }
  task.size = task.rows * task.frames;
  steps.sums.add(ctx, task);
}

bool SpectrogramGpu::describe_frames(const SampleContext& ctx, gpu::Blob& blob,
                                     gpu::SpectrogramTask& task) const {
  describe_signal(ctx, blob, task);
  if (plan_.passes == 0) return false;
  task.plan = plan_;
  task.frames_per_block = frames_per_block_;
  task.twiddles = blob.keep_once(std::span<const gpu::Complex>(twiddles_));
  task.roots = blob.keep_once(std::span<const gpu::Complex>(roots_));
  task.size = (task.frames + frames_per_block_ - 1) / frames_per_block_;
  return true;
}

void SpectrogramGpu::describe_signal(const SampleContext& ctx, gpu::Blob& blob,
                                     gpu::SpectrogramTask& task) const {
  const kernels::Framing& framing = args_.framing();
  task.in = ctx.input(0).data;
  task.samples = args_.samples(ctx.input(0));
  task.frames = args_.frames(task.samples);
  task.first = framing.start(0);
  task.step = framing.step;
  task.window_length = static_cast<int32_t>(framing.length);
  task.nfft = static_cast<int32_t>(args_.nfft());
  task.window = blob.keep_once(std::span<const float>(args_.window()));
  task.reflects = args_.reflects();
  task.magnitudes = args_.kind() == kernels::SpectrumKind::kMagnitude;
  task.time_first = args_.time_first();
  task.rows = static_cast<int32_t>(args_.rows());
}

}  // namespace torchdali
