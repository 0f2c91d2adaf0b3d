// SPDX-License-Identifier: Apache-2.0
// Stretched signals, levels and mixtures of audio with random arguments: memory of the exact size,
// reads of any length, and the same bits with every instruction set.
// sources: csrc/ops/audio_augment/stretched_signal.cpp csrc/kernels/audio_augment/time_stretch_cpu.cpp
// sources: csrc/kernels/audio_augment/level_cpu.cpp csrc/core/cpu_features.cpp
// sanitizers: address
#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <vector>

#include "core/cpu_features.h"
#include "expect.h"
#include "kernels/audio_augment/level.h"
#include "ops/audio/memory_signal.h"
#include "ops/audio_augment/stretched_signal.h"

namespace torchdali {
namespace {

using Floats = std::vector<float>;

std::mt19937 generator(1);
int64_t draw(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(generator);
}
Floats random_floats(int64_t count) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats values(static_cast<size_t>(count));
  for (float& x : values) x = uniform(generator);
  return values;
}
bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// Blocks of the exact size, filled with NaN.
class ExactMemory final : public SampleMemory {
 public:
  ExactMemory() = default;
  ExactMemory(const ExactMemory&) = delete;
  ExactMemory& operator=(const ExactMemory&) = delete;
  ~ExactMemory() override {
    for (void* block : blocks_) ::operator delete(block, kAlignment);
  }
  void allocate_output(int /*output*/, SampleView& /*view*/) override { std::abort(); }
  void alias_output(int /*output*/, int /*input*/) override { std::abort(); }
  void* allocate_scratch(size_t bytes) override {
    blocks_.push_back(::operator new(bytes, kAlignment));
    std::memset(blocks_.back(), 0xFF, bytes);
    return blocks_.back();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  std::vector<void*> blocks_;
};

// `step`: values of a read.
Floats stretched(const Floats& in, const Stretching& stretching, int64_t step) {
  ExactMemory memory;
  SampleContext ctx;
  ctx.use(nullptr, {}, 0, 0, memory);
  MemorySignal signal(in.data(), static_cast<int64_t>(in.size()));
  StretchedSignal reader(ctx, signal, stretching);
  Floats out(static_cast<size_t>(reader.length()));
  for (int64_t at = 0; at < reader.length(); at += step)
    reader.read(out.data() + at, std::min(step, reader.length() - at));
  return out;
}

template <class Compute>
auto on_every_isa(Compute&& compute) {
  const Isa best = active_isa();
  auto result = compute();
  for (int level = 0; level < static_cast<int>(best); ++level) {
    set_active_isa(static_cast<Isa>(level));
    EXPECT(compute() == result);
  }
  set_active_isa(best);
  return result;
}

void signals_are_stretched() {
  for (int i = 0; i < 600; ++i) {
    Stretching s;
    s.rate = static_cast<double>(draw(1, 100)) / 10;
    s.frames = draw(1, draw(0, 1) == 0 ? 40 : 1500);
    s.channels = draw(0, 2) == 0 ? draw(2, 3) : 1;
    s.overlap = draw(1, draw(0, 1) == 0 ? 10 : 300);
    s.search = draw(0, draw(0, 1) == 0 ? 10 : 300);
    const Floats in = random_floats(s.frames * s.channels);
    const Floats out = on_every_isa([&] { return stretched(in, s, s.overlap); });
    EXPECT(same_bits(out, stretched(in, s, draw(1, 700))));
    // Every value is between two values of the input, or zeros after its end.
    for (const float x : out) EXPECT(x >= -1 && x <= 1);
    s.rate = 1;
    EXPECT(same_bits(stretched(in, s, draw(1, 700)), in));
  }
}

void levels_and_mixtures_repeat_signals() {
  using kernels::Level;
  for (int i = 0; i < 300; ++i) {
    const int64_t period = draw(1, draw(0, 1) == 0 ? 100 : 40'000), count = draw(1, 50'000);
    const Floats noise = random_floats(period), in = random_floats(count);
    const kernels::LoopedSignal looped{
        .data = noise.data(), .period = period, .start = draw(0, period - 1)};
    Floats repeated(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k)
      repeated[static_cast<size_t>(k)] = noise[static_cast<size_t>((looped.start + k) % period)];
    for (const Level kind : {Level::kSum, Level::kEnergy, Level::kPeak}) {
      const double level = on_every_isa([&] { return kernels::signal_level(kind, looped, count); });
      EXPECT(level ==
             kernels::signal_level(kind, {.data = repeated.data(), .period = count}, count));
      double expected = 0;
      for (const float x : repeated)
        expected = kind == Level::kSum      ? expected + x
                   : kind == Level::kEnergy ? expected + double{x} * x
                                            : std::max(expected, std::abs(double{x}));
      EXPECT(std::abs(level - expected) <= 1e-9 * static_cast<double>(count));
    }
    const Floats mixed = on_every_isa([&] {
      Floats out(in.size());
      kernels::mix(out.data(), in.data(), looped, count, 0.3f);
      return out;
    });
    for (size_t k = 0; k < in.size(); ++k) EXPECT(mixed[k] == in[k] + 0.3f * repeated[k]);
  }
}

}  // namespace
}  // namespace torchdali

int main() {
  torchdali::signals_are_stretched();
  torchdali::levels_and_mixtures_repeat_signals();
}
