// SPDX-License-Identifier: Apache-2.0
// Spectrograms on the GPU, with the filter bank and the decibels that follow
// (docs/design/audio.md).
#pragma once

#include <cmath>

#include "kernels/audio/spectrogram_task.h"
#include "kernels/gpu/block.h"

namespace torchdali::gpu {

// Several frames in each block. Phase 0 loads the frames and does the first pass of their
// transforms; then there is a phase for each other pass, one that makes powers of the results, and
// one that makes rows of the output of the powers. The signal is read and the output is written
// once; all else is in shared memory.
struct SpectrogramKernel : Kernel<SpectrogramTask> {
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 5;
  static constexpr int kMaxFrames = 32;
  // The points of the transforms of a block, so that each thread has 16 of them.
  static constexpr int kPoints = 16 * kThreads;

  struct Shared {
    float maxima[kThreads];
    // Followed by two buffers, each for all frames.
  };
  static_assert(sizeof(Shared) % alignof(Complex) == 0);

  static int64_t shared_bytes(const SpectrogramTask& task) {
    return static_cast<int64_t>(sizeof(Shared)) + int64_t{2} * task.frames_per_block *
                                                      task.buffer_floats() *
                                                      static_cast<int64_t>(sizeof(float));
  }

  TORCHDALI_HOST_DEVICE int phases() const {
    return task.plan.passes + 2 + (task.relative ? 1 : 0);
  }
  TORCHDALI_HOST_DEVICE void operator()(int64_t block, int phase, int thread,
                                        Shared& shared) const {
    const int passes = task.plan.passes;
    const int64_t first = block * task.frames_per_block, left = task.frames - first;
    const int frames =
        left < task.frames_per_block ? static_cast<int>(left) : task.frames_per_block;
    if (phase < passes) run_pass(phase, thread, first, frames, shared);
    else if (phase == passes) make_powers(thread, frames, shared);
    else if (phase == passes + 1) make_rows(thread, first, frames, shared);
    else if (thread == 0) task.maxima[block] = largest(shared.maxima, kThreads);
  }

 private:
  TORCHDALI_HOST_DEVICE float* buffer(Shared& shared, int number) const {
    return reinterpret_cast<float*>(&shared + 1) +
           (number & 1) * task.frames_per_block * task.buffer_floats();
  }
  TORCHDALI_HOST_DEVICE Complex* values(Shared& shared, int number, int frame) const {
    return reinterpret_cast<Complex*>(buffer(shared, number) + frame * task.buffer_floats());
  }
  TORCHDALI_HOST_DEVICE float* powers(Shared& shared, int frame) const {
    return buffer(shared, task.plan.passes) + frame * task.power_stride();
  }
  TORCHDALI_HOST_DEVICE static float largest(const float* list, int count) {
    float most = list[0];
    for (int i = 1; i < count; ++i) most = list[i] > most ? list[i] : most;
    return most;
  }

  TORCHDALI_HOST_DEVICE void run_pass(int pass, int thread, int64_t first, int frames,
                                      Shared& shared) const {
    const int size = task.plan.size, radix = task.plan.radix[pass], butterflies = size / radix;
    int done = 1, twiddles = 0;
    for (int p = 0; p < pass; ++p) {
      if (p > 0) twiddles += done * (task.plan.radix[p] - 1);
      done *= task.plan.radix[p];
    }
    const Complex* factors = list<Complex>(task.twiddles) + twiddles;
    with_radix(radix, [&]<int kRadix>() {
      for (int i = thread; i < butterflies * frames; i += kThreads) {
        const int frame = i / butterflies, j = i - frame * butterflies;
        Complex* out = values(shared, pass, frame);
        if (pass > 0) {
          const Complex* in = values(shared, pass - 1, frame);
          run_butterfly<kRadix>(
              size, done, j, factors, [&](int at) { return in[padded(at)]; }, out);
          continue;
        }
        const WindowedFrame samples(task, blob, first + frame);
        if (task.is_packed())
          run_butterfly<kRadix>(
              size, 1, j, nullptr,
              [&](int at) { return Complex{samples[2 * at], samples[2 * at + 1]}; }, out);
        else
          run_butterfly<kRadix>(
              size, 1, j, nullptr, [&](int at) { return Complex{samples[at], 0}; }, out);
      }
    });
  }

  TORCHDALI_HOST_DEVICE float power(float re, float im) const {
    const float square = multiply_add(re, re, im * im);
    return task.magnitudes ? sqrtf(square) : square;
  }

  // The transform of n pairs of samples is that of the even samples plus i times that of the odd
  // ones. Bins k and n - k of the spectrum depend on values k and n - k of it.
  TORCHDALI_HOST_DEVICE void make_powers(int thread, int frames, Shared& shared) const {
    const int last = task.plan.passes - 1, size = task.plan.size;
    const auto* roots = list<Complex>(task.roots);
    const int count = task.is_packed() ? size / 2 + 1 : task.bins();
    for (int i = thread; i < count * frames; i += kThreads) {
      const int frame = i / count, k = i - frame * count;
      const Complex* in = values(shared, last, frame);
      float* out = powers(shared, frame);
      const Complex a = in[padded(k)];
      if (!task.is_packed()) {
        out[k] = power(a.re, a.im);
        continue;
      }
      const Complex b = in[padded(k == 0 ? 0 : size - k)];
      const Complex even{0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
      const Complex odd = Complex{0.5f * (a.im + b.im), 0.5f * (b.re - a.re)} * roots[k];
      out[k] = power(even.re + odd.re, even.im + odd.im);
      if (2 * k != size) out[size - k] = power(even.re - odd.re, even.im - odd.im);
    }
  }

  // Threads write consecutive elements of the output.
  TORCHDALI_HOST_DEVICE void make_rows(int thread, int64_t first, int frames,
                                       Shared& shared) const {
    auto* out = static_cast<float*>(task.out);
    float most = 0;
    for (int i = thread; i < task.rows * frames; i += kThreads) {
      const int inner = task.time_first ? task.rows : frames;
      const int outer = i / inner, rest = i - outer * inner;
      const int row = task.time_first ? rest : outer, frame = task.time_first ? outer : rest;
      const float* in = powers(shared, frame);
      float x = task.filters ? filtered(in, row) : in[row];
      most = x > most ? x : most;
      if (task.decibels && !task.relative) x = kernels::decibels_of(x, task.scale);
      const int64_t at = first + frame;
      out[task.time_first ? at * task.rows + row : row * task.frames + at] = x;
    }
    if (task.relative) shared.maxima[thread] = most;
  }
  // As MelKernel.
  TORCHDALI_HOST_DEVICE float filtered(const float* in, int row) const {
    const int32_t* start = list<int32_t>(task.start) + row;
    const float* rising = list<float>(task.rising);
    const float* falling = list<float>(task.falling);
    float sum = 0;
    for (int b = start[0]; b < start[1]; ++b) sum += in[b] * rising[b];
    for (int b = start[1]; b < start[2]; ++b) sum += in[b] * falling[b];
    return sum;
  }
};
TORCHDALI_GPU_KERNEL(SpectrogramKernel)

// Decibels relative to the largest value of a sample, of which each block finds the largest of
// those that the blocks of SpectrogramKernel found.
struct RelativeDecibelsKernel : Kernel<RelativeDecibelsTask> {
  static constexpr int kThreads = 128;
  static constexpr int kPerBlock = 16 * kThreads;  // values
  struct Shared {
    float maxima[kThreads];
  };

  TORCHDALI_HOST_DEVICE int phases() const { return 2; }
  TORCHDALI_HOST_DEVICE void operator()(int64_t block, int phase, int thread,
                                        Shared& shared) const {
    if (phase == 0) {
      float most = 0;
      for (int64_t i = thread; i < task.num_maxima; i += kThreads)
        most = task.maxima[i] > most ? task.maxima[i] : most;
      shared.maxima[thread] = most;
      return;
    }
    float greatest = 0;
    for (int t = 0; t < kThreads; ++t)
      greatest = shared.maxima[t] > greatest ? shared.maxima[t] : greatest;
    kernels::DecibelScale scale = task.scale;
    scale.inverse_reference = kernels::inverse_of_reference(greatest);
    const int64_t begin = block * kPerBlock;
    const int64_t end = begin + kPerBlock < task.values ? begin + kPerBlock : task.values;
    auto* values = static_cast<float*>(task.out);
    for (int64_t i = begin + thread; i < end; i += kThreads)
      values[i] = kernels::decibels_of(values[i], scale);
  }
};
TORCHDALI_GPU_KERNEL(RelativeDecibelsKernel)

// Element `i` of a spectrogram whose transform has other factors than SpectrogramKernel has, or is
// too large for it: the sum of the definition, in float64. The root of unity is multiplied from
// sample to sample, and computed anew from time to time.
struct DirectSpectrogramKernel : Kernel<SpectrogramTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t inner = task.time_first ? task.rows : task.frames;
    const int64_t outer = i / inner, rest = i - outer * inner;
    const WindowedFrame samples(task, blob, task.time_first ? outer : rest);
    const auto k = static_cast<int>(task.time_first ? rest : outer);
    constexpr int kExact = 64;
    const double turn = 2 * 3.14159265358979323846 / task.nfft;
    const double step_re = cos(turn * k), step_im = sin(turn * k);
    double re = 0, im = 0;
    for (int begin = 0; begin < task.window_length; begin += kExact) {
      const auto angle = static_cast<double>(int64_t{k} * begin % task.nfft);
      double root_re = cos(turn * angle), root_im = sin(turn * angle);
      const int left = task.window_length - begin, count = left < kExact ? left : kExact;
      for (int n = begin; n < begin + count; ++n) {
        const double x = samples[n];
        re += x * root_re;
        im += x * root_im;
        const double next = root_re * step_re - root_im * step_im;
        root_im = root_re * step_im + root_im * step_re;
        root_re = next;
      }
    }
    const double square = re * re + im * im;
    static_cast<float*>(task.out)[i] = static_cast<float>(task.magnitudes ? sqrt(square) : square);
  }
};
TORCHDALI_GPU_KERNEL(DirectSpectrogramKernel)

}  // namespace torchdali::gpu
