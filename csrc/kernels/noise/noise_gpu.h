// SPDX-License-Identifier: Apache-2.0
// Noise by the words that the CPU draws, in its order: a thread makes four of them, which belong to
// elements that lie a quarter of a block apart, so that neighbours read and write neighbours.
#pragma once

#include "core/random.h"
#include "kernels/gpu/functor.h"
#include "kernels/noise/byte_draws.h"
#include "kernels/noise/poisson.h"
#include "kernels/noise/random_block.h"
#include "kernels/noise/random_scalar.h"

namespace torchdali::gpu {

struct NoiseDraw {
  static constexpr int64_t kStep = kernels::kRandomBlock / 4;
  std::array<uint32_t, 4> words;
  int64_t first;  // element of the first word; the others follow kStep apart

  static constexpr NoiseDraw at(const NoiseTask& task, int64_t i) {
    const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
    const auto number = static_cast<uint64_t>(i);
    return {.words = philox4x32(
                {low(task.sample), low(task.sample >> 32), low(number), low(number >> 32)},
                {low(task.seed), low(task.seed >> 32)}),
            .first = i / kStep * kernels::kRandomBlock + i % kStep};
  }
};

struct GaussianNoiseGrid {
  const GaussianNoiseTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const GaussianNoiseTask& task = tasks[t];
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

struct SaltAndPepperGrid {
  const SaltAndPepperTask* tasks;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const SaltAndPepperTask& task = tasks[t];
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

struct ShotNoiseGrid {
  const ShotNoiseTask* tasks;
  const void* blob;
  TORCHDALI_HOST_DEVICE void operator()(int t, int64_t i) const {
    const ShotNoiseTask& task = tasks[t];
    if (task.by_tables) return bytes(task, i);
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
  TORCHDALI_HOST_DEVICE void bytes(const ShotNoiseTask& task, int64_t i) const {
    const kernels::ByteDraws draws{.rows = list_of<kernels::ByteDraws::Row>(blob, task.rows),
                                   .ends = list_of<uint32_t>(blob, task.ends),
                                   .results = list_of<uint8_t>(blob, task.results)};
    const NoiseDraw draw = NoiseDraw::at(task, i);
    int64_t at = draw.first;
    TORCHDALI_UNROLL
    for (int k = 0; k < 4; ++k, at += NoiseDraw::kStep)
      if (at < task.count)
        static_cast<uint8_t*>(task.out)[at] =
            draws(static_cast<const uint8_t*>(task.in)[at], draw.words[k]);
  }
};

}  // namespace torchdali::gpu
