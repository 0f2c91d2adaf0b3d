// SPDX-License-Identifier: Apache-2.0
// kernels/audio: transforms of all lengths up to 600, and of some long ones, against sums in double
// precision; frames and tiles against loops over single elements. Buffers have the exact size;
// every instruction set of this machine gives the same bits.
// sources: csrc/kernels/audio/fft.cpp csrc/kernels/audio/fft_passes_cpu.cpp
// sources: csrc/kernels/audio/frames_cpu.cpp csrc/kernels/audio/tiles_cpu.cpp
// sources: csrc/core/cpu_features.cpp
#include "kernels/audio/fft.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <numbers>
#include <random>
#include <thread>
#include <vector>

#include "core/cpu_features.h"
#include "expect.h"
#include "kernels/audio/frames.h"
#include "kernels/audio/tiles.h"

namespace torchdali::kernels {
namespace {

using Floats = std::unique_ptr<float[]>;

std::mt19937 generator(1);
int64_t draw(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(generator);
}
Floats zeros(int64_t count) { return std::make_unique<float[]>(static_cast<size_t>(count)); }
Floats random_floats(int64_t count) {
  Floats values = zeros(count);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t i = 0; i < count; ++i) values[i] = uniform(generator);
  return values;
}

// Calls `compute`, which returns an array of `count` floats, for every instruction set. Returns
// the one result.
template <class Compute>
Floats on_every_isa(int64_t count, Compute&& compute) {
  const Isa best = active_isa();
  Floats result = compute();
  for (int level = 0; level < static_cast<int>(best); ++level) {
    set_active_isa(static_cast<Isa>(level));
    const Floats other = compute();
    EXPECT(std::memcmp(other.get(), result.get(), static_cast<size_t>(count) * sizeof(float)) == 0);
  }
  set_active_isa(best);
  return result;
}

Floats transform(const RealFft& fft, const Floats& signals, SpectrumKind kind) {
  const int64_t count = fft.bins() * kFrameLanes * (kind == SpectrumKind::kComplex ? 2 : 1);
  return on_every_isa(count, [&] {
    Floats work = zeros(fft.work_rows() * kFrameLanes), out = zeros(count);
    std::copy_n(signals.get(), fft.size() * kFrameLanes, work.get());
    fft.run(out.get(), work.get(), kind);
    return out;
  });
}

// The error of float arithmetic: the root of the mean square over frequencies, relative to that of
// the spectrum. `checked`: the number of frequencies that are compared; 0: all.
void test_length(int64_t n, int64_t checked = 0) {
  const RealFft fft(n);
  EXPECT(fft.bins() == n / 2 + 1);
  const Floats signals = random_floats(n * kFrameLanes);
  const Floats result = transform(fft, signals, SpectrumKind::kComplex);
  const bool compares_kinds = n < 20 || n % 10 == 0;
  const Floats magnitudes =
      compares_kinds ? transform(fft, signals, SpectrumKind::kMagnitude) : nullptr;
  const Floats powers = compares_kinds ? transform(fft, signals, SpectrumKind::kPower) : nullptr;
  std::vector<std::complex<double>> roots(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    roots[static_cast<size_t>(i)] =
        std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n));
  double error = 0, energy = 0;
  for (const int64_t lane : {n % kFrameLanes, (n + 7) % kFrameLanes}) {
    for (int64_t i = 0; i < (checked > 0 ? checked : fft.bins()); ++i) {
      const int64_t k = checked > 0 ? draw(0, fft.bins() - 1) : i;
      std::complex<double> sum = 0;
      for (int64_t m = 0; m < n; ++m)
        sum += static_cast<double>(signals[m * kFrameLanes + lane]) *
               roots[static_cast<size_t>(k * m % n)];
      const std::complex<double> x = {result[2 * k * kFrameLanes + lane],
                                      result[(2 * k + 1) * kFrameLanes + lane]};
      error += std::norm(x - sum);
      energy += std::norm(sum);
      if (!compares_kinds) continue;
      EXPECT(std::abs(magnitudes[k * kFrameLanes + lane] - std::abs(x)) <= 3e-7 * std::abs(x));
      EXPECT(std::abs(powers[k * kFrameLanes + lane] - std::norm(x)) <= 3e-7 * std::norm(x));
    }
  }
  const double bound = 4e-8 * (1 + std::log2(static_cast<double>(n)));
  EXPECT(std::sqrt(error) <= bound * std::sqrt(energy));
}

void test_plans_are_shared() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) EXPECT(RealFft::find(1 + i % 40)->size() == 1 + i % 40);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT(RealFft::find(77) == RealFft::find(77));
}

void test_frames() {
  const int64_t length = draw(1, 70), step = draw(1, 90);
  const Floats signal = random_floats((kFrameLanes - 1) * step + length);
  const Floats window = random_floats(length);
  const Floats tile = on_every_isa(length * kFrameLanes, [&] {
    Floats out = zeros(length * kFrameLanes);
    load_frames(out.get(), signal.get(), step, window.get(), length);
    return out;
  });
  for (int64_t n = 0; n < length; ++n)
    for (int64_t i = 0; i < kFrameLanes; ++i)
      EXPECT(tile[n * kFrameLanes + i] == signal[i * step + n] * window[n]);
}

void test_tiles(bool time_first) {
  const FrameArray array = {draw(1, 40), draw(1, 50), time_first};
  const Floats in = random_floats(array.rows * array.frames);
  Floats out = zeros(array.rows * array.frames);
  for (int64_t first = 0; first < array.frames; first += kFrameLanes) {
    const Floats tile = on_every_isa(array.rows * kFrameLanes, [&] {
      Floats to = random_floats(array.rows * kFrameLanes);
      load_tile(to.get(), in.get(), array, first);
      return to;
    });
    for (int64_t r = 0; r < array.rows; ++r) {
      for (int64_t i = 0; i < kFrameLanes; ++i) {
        const int64_t frame = first + i;
        const int64_t at = time_first ? frame * array.rows + r : r * array.frames + frame;
        EXPECT(tile[r * kFrameLanes + i] == (frame < array.frames ? in[at] : 0.0f));
      }
    }
    store_tile(out.get(), array, first, tile.get());
  }
  EXPECT(std::memcmp(in.get(), out.get(),
                     static_cast<size_t>(array.rows * array.frames) * sizeof(float)) == 0);
}

void test_reflection() {
  for (const int64_t samples : {1, 2, 3, 7}) {
    for (int64_t i = -20; i < 20; ++i) {
      int64_t expected = i;
      while (samples > 1 && (expected < 0 || expected >= samples))
        expected = expected < 0 ? -expected : 2 * (samples - 1) - expected;
      EXPECT(reflect_index(i, samples) == (samples > 1 ? expected : 0));
    }
  }
}

}  // namespace
}  // namespace torchdali::kernels

int main() {
  using namespace torchdali::kernels;
  for (int64_t n = 1; n <= 600; ++n) test_length(n);
  for (const int64_t n : {1024, 2048, 2187, 4096, 4098, 6000, 8192, 10007, 16384, 20014})
    test_length(n, 20);
  test_plans_are_shared();
  test_reflection();
  for (int i = 0; i < 200; ++i) {
    test_frames();
    test_tiles(i % 2 != 0);
  }
}
