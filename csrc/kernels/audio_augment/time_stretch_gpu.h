// SPDX-License-Identifier: Apache-2.0
// fn.time_stretch on the GPU (ops/audio_augment/stretched_signal.h). Segments depend on each other,
// so that each signal has one block, whose threads divide the candidates of a segment.
#pragma once

#include "kernels/audio_augment/time_stretch.h"
#include "kernels/gpu/block.h"

namespace torchdali::gpu {

struct TimeStretchTask : TaskBase {
  double rate = 1;
  int64_t frames = 0, channels = 1;
  int64_t overlap = 1, search = 0;
  int64_t output_frames = 0;
  BlobOffset weights = 0;  // float[overlap]

  TORCHDALI_HOST_DEVICE int64_t segments() const { return (output_frames + overlap - 1) / overlap; }
};

struct TimeStretchKernel : Kernel<TimeStretchTask> {
  static constexpr int kThreads = 256;
  static constexpr int kGroup = 16;
  struct Shared {
    kernels::StretchChoice choices[kThreads];  // of threads; position -1: none
    kernels::StretchChoice groups[kThreads / kGroup];
    int64_t from, to;  // the last segment that was chosen fades between these positions
  };

  // Three phases for each segment: threads, groups and one thread choose its position. Its frames
  // are written in the phase after that.
  TORCHDALI_HOST_DEVICE int phases() const { return static_cast<int>(3 * task.segments()) + 1; }
  TORCHDALI_HOST_DEVICE void operator()(int64_t /*block*/, int phase, int thread,
                                        Shared& shared) const {
    const int64_t k = phase / 3;
    if (phase % 3 == 0) {
      if (k > 0) write_segment(k - 1, thread, shared);
      if (k < task.segments()) search(k, thread, shared);
    } else if (phase % 3 == 1) {
      if (thread < kThreads / kGroup)
        shared.groups[thread] = best_of(shared.choices + thread * kGroup, kGroup, k);
    } else if (thread == 0) {
      shared.from = k == 0 ? 0 : shared.to + task.overlap;
      shared.to = best_of(shared.groups, kThreads / kGroup, k).position;
    }
  }

 private:
  TORCHDALI_HOST_DEVICE kernels::StretchCandidates candidates(int64_t k) const {
    return kernels::StretchCandidates::of(k, task.rate, task.overlap, task.search, task.frames);
  }
  TORCHDALI_HOST_DEVICE float at(int64_t frame, int64_t channel) const {
    if (frame >= task.frames) return 0;
    return static_cast<const float*>(task.in)[frame * task.channels + channel];
  }
  // The sum of the channels.
  TORCHDALI_HOST_DEVICE float mono(int64_t frame) const {
    float sum = at(frame, 0);
    for (int64_t c = 1; c < task.channels; ++c) sum += at(frame, c);
    return sum;
  }
  TORCHDALI_HOST_DEVICE kernels::StretchChoice best_of(const kernels::StretchChoice* choices,
                                                       int count, int64_t k) const {
    const int64_t nominal = candidates(k).nominal;
    kernels::StretchChoice best = choices[0];
    for (int i = 1; i < count; ++i)
      if (choices[i].position >= 0 &&
          (best.position < 0 || choices[i].is_better_than(best, nominal)))
        best = choices[i];
    return best;
  }
  TORCHDALI_HOST_DEVICE void search(int64_t k, int thread, Shared& shared) const {
    const kernels::StretchCandidates c = candidates(k);
    const int64_t target = k == 0 ? 0 : shared.to + task.overlap;
    kernels::StretchChoice best{0, -1};
    for (int64_t q = c.first + thread; q <= c.last; q += kThreads) {
      kernels::StretchChoice choice{0, q};
      for (int64_t i = 0; i < task.overlap; ++i) {
        const float difference = mono(q + i) - mono(target + i);
        choice.distance += difference * difference;
      }
      if (best.position < 0 || choice.is_better_than(best, c.nominal)) best = choice;
    }
    shared.choices[thread] = best;
  }
  TORCHDALI_HOST_DEVICE void write_segment(int64_t k, int thread, const Shared& shared) const {
    const int64_t begin = k * task.overlap, left = task.output_frames - begin;
    const int64_t count = left < task.overlap ? left : task.overlap;
    const float* weights = list<float>(task.weights);
    float* out = static_cast<float*>(task.out) + begin * task.channels;
    for (int64_t i = thread; i < count * task.channels; i += kThreads) {
      Unravel index(i);
      const int64_t channel = index.axis(task.channels), frame = index.rest();
      out[i] = kernels::faded(at(shared.from + frame, channel), at(shared.to + frame, channel),
                              weights[frame]);
    }
  }
};
TORCHDALI_GPU_KERNEL(TimeStretchKernel)

}  // namespace torchdali::gpu
