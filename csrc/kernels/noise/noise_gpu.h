// SPDX-License-Identifier: Apache-2.0
// Noise on the GPU, from the random words that the CPU draws. A thread draws four words, which
// belong to elements a quarter of a block apart, so that adjacent threads access adjacent elements.
#pragma once

#include <array>

#include "core/random.h"
#include "kernels/gpu/kernel.h"
#include "kernels/noise/byte_draws.h"
#include "kernels/noise/poisson.h"
#include "kernels/noise/random_block.h"
#include "kernels/noise/random_scalar.h"

namespace torchdali::gpu {

// `size` counts draws of four words, in the order of kernels/noise/random_block.h.
struct NoiseTask : TaskBase {
  DType dtype = DType::kNone;
  int64_t count = 0;  // elements or pixels
  uint64_t seed = 0, sample = 0;
};

struct NoiseDraw {
  static constexpr int64_t kStep = kernels::kRandomBlock / 4;
  std::array<uint32_t, 4> words;
  int64_t first;  // element of the first word; those of the others follow, kStep apart

  static constexpr NoiseDraw at(const NoiseTask& task, int64_t i) {
    const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
    const auto number = static_cast<uint64_t>(i);
    return {.words = philox4x32(
                {low(task.sample), low(task.sample >> 32), low(number), low(number >> 32)},
                {low(task.seed), low(task.seed >> 32)}),
            .first = i / kStep * kernels::kRandomBlock + i % kStep};
  }
};

struct GaussianNoiseTask : NoiseTask {
  float mean = 0, stddev = 0;
};
struct GaussianNoiseKernel : Kernel<GaussianNoiseTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const NoiseDraw draw = NoiseDraw::at(task, i);
    float noise[4];
    kernels::normal_pair(draw.words[0], draw.words[1], noise[0], noise[1]);
    kernels::normal_pair(draw.words[2], draw.words[3], noise[2], noise[3]);
    with_type(task.dtype, [&]<class T>() {
      const T* in = static_cast<const T*>(task.in);
      T* out = static_cast<T*>(task.out);
      int64_t at = draw.first;
      TORCHDALI_UNROLL
      for (int k = 0; k < 4; ++k, at += NoiseDraw::kStep)
        if (at < task.count)
          out[at] = kernels::with_noise(in[at], noise[k], task.mean, task.stddev);
    });
  }
};
TORCHDALI_GPU_KERNEL(GaussianNoiseKernel)

// Pixels are [count / inner, channels, inner] elements.
struct SaltAndPepperTask : NoiseTask {
  int64_t channels = 1, inner = 1;
  float salt_below = 0, either_below = 0;  // of a draw
  uint64_t salt = 0, pepper = 0;           // the bytes of an element
};
struct SaltAndPepperKernel : Kernel<SaltAndPepperTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const NoiseDraw draw = NoiseDraw::at(task, i);
    const int64_t size = size_of(task.dtype);
    int64_t pixel = draw.first;
    TORCHDALI_UNROLL
    for (int k = 0; k < 4; ++k, pixel += NoiseDraw::kStep) {
      if (pixel >= task.count) return;
      const int kind = kernels::choice_of(draw.words[k], task.salt_below, task.either_below);
      Unravel index(pixel);
      const int64_t inner = index.axis(task.inner);
      int64_t at = index.rest() * task.channels * task.inner + inner;
      for (int64_t c = 0; c < task.channels; ++c, at += task.inner) {
        const uint64_t replaced = kind == 1 ? task.salt : task.pepper;
        store_bytes(task.out, size, at, kind == 0 ? load_bytes(task.in, size, at) : replaced);
      }
    }
  }
};
TORCHDALI_GPU_KERNEL(SaltAndPepperKernel)

struct ShotNoiseTask : NoiseTask {
  float factor = 1;
  bool by_tables = false;  // kernels::ByteDraws in the blob
  BlobOffset rows = 0, ends = 0, results = 0;
};
struct ShotNoiseKernel : Kernel<ShotNoiseTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    if (task.by_tables) return draw_bytes(i);
    const NoiseDraw draw = NoiseDraw::at(task, i);
    with_type(task.dtype, [&]<class T>() {
      int64_t at = draw.first;
      for (int k = 0; k < 4; ++k, at += NoiseDraw::kStep) {
        if (at >= task.count) return;
        PoissonDraws draws(task.seed, task.sample, static_cast<uint64_t>(at));
        const double lambda = static_cast<double>(static_cast<const T*>(task.in)[at]) / task.factor;
        static_cast<T*>(task.out)[at] = kernels::convert<T>(poisson(lambda, draws) * task.factor);
      }
    });
  }

 private:
  TORCHDALI_HOST_DEVICE void draw_bytes(int64_t i) const {
    const kernels::ByteDraws draws{.rows = list<kernels::ByteDraws::Row>(task.rows),
                                   .ends = list<uint32_t>(task.ends),
                                   .results = list<uint8_t>(task.results)};
    const NoiseDraw draw = NoiseDraw::at(task, i);
    int64_t at = draw.first;
    TORCHDALI_UNROLL
    for (int k = 0; k < 4; ++k, at += NoiseDraw::kStep)
      if (at < task.count)
        static_cast<uint8_t*>(task.out)[at] =
            draws(static_cast<const uint8_t*>(task.in)[at], draw.words[k]);
  }
};
TORCHDALI_GPU_KERNEL(ShotNoiseKernel)

}  // namespace torchdali::gpu
