// SPDX-License-Identifier: Apache-2.0
// kernels/audio/resample_signal against sums in double, on every instruction set; whatever blocks a
// signal is read and resampled in, the bits are the same; buffers of exact size, so that the
// address sanitizer sees a read or write too far.
// sources: csrc/kernels/audio/resample_signal*.cpp csrc/ops/audio/resampling_reader.cpp
// sources: csrc/core/cpu_features.cpp
// sanitizers: address thread
#include "kernels/audio/resample_signal.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "core/cpu_features.h"
#include "core/error.h"
#include "expect.h"
#include "ops/audio/resampling_reader.h"

namespace torchdali {
namespace {

using kernels::SignalRates;
using kernels::SignalResampler;

std::vector<float> noise(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float& x : values) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<int32_t>(state >> 8)) / 8388608.0f - 1;
  }
  return values;
}

bool equal(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> resample(const SignalRates& rates, const std::vector<float>& in, int64_t count,
                            int64_t channels = 1) {
  std::vector<float> out(static_cast<size_t>(count * channels));
  SignalResampler::find(rates)->resample(in.data(), 0, static_cast<int64_t>(in.size()) / channels,
                                         channels, 0, count, out.data());
  return out;
}

const std::vector<SignalRates>& all_rates() {
  static const std::vector<SignalRates> rates = [] {
    std::vector<SignalRates> made;
    for (bool antialias : {false, true})
      for (double quality : {0.0, 50.0, 100.0})
        for (const auto& [in, out] : {std::pair{44100.0, 16000.0},
                                      {16000.0, 44100.0},
                                      {2.0, 1.0},
                                      {1.0, 3.0},
                                      {44100.0, 16000.7},
                                      {1.0, 1.0},
                                      {1.0, 0.0123f * 1.0},
                                      {1.0, 1000.3},
                                      {9973.0, 9967.0}})
          made.push_back({in, out, quality, antialias});
    return made;
  }();
  return rates;
}

int64_t natural_length(const SignalRates& rates, int64_t length) {
  return resampled_length(length, rates.in, rates.out);
}

// The weight of a sample `t` after an output, interpolated from a table.
double weight(const SignalRates& rates, double t) {
  const double q = rates.quality, lobes = std::max(3.0, std::floor(0.007 * q * q - 0.09 * q + 3.5));
  const double cutoff = rates.antialias ? std::min(1.0, rates.out / rates.in) : 1.0;
  const auto at = [&](double u) {
    const double x = std::abs(u * cutoff), pi = std::acos(-1.0);
    if (x > lobes) return 0.0;
    const double hann = 0.5 + 0.5 * std::cos(pi * x / (lobes + 1.0 / 64));
    return cutoff * hann * (x == 0 ? 1.0 : std::sin(pi * x) / (pi * x));
  };
  const double node = std::floor(t * 32), part = t * 32 - node;
  return (1 - part) * at(node / 32) + part * at((node + 1) / 32);
}

void matches_sums_in_double() {
  for (const SignalRates& rates : all_rates()) {
    for (int64_t length : {1, 7, 333}) {
      const std::vector<float> in = noise(length);
      const int64_t count = std::min<int64_t>(natural_length(rates, length) + 3, 500);
      std::vector<float> first;
      for (int isa = 0; isa < kNumIsas; ++isa) {
        if (set_active_isa(static_cast<Isa>(isa)) != static_cast<Isa>(isa)) continue;
        const std::vector<float> out = resample(rates, in, count);
        if (first.empty()) first = out;
        EXPECT(equal(out, first));
      }
      set_active_isa(machine_isa());
      for (int64_t i = 0; i < count; ++i) {
        double sum = 0;
        const double position = static_cast<double>(i) * rates.in / rates.out;
        for (int64_t k = 0; k < length; ++k)
          sum += weight(rates, static_cast<double>(k) - position) * in[static_cast<size_t>(k)];
        EXPECT(std::abs(sum - first[static_cast<size_t>(i)]) < 4e-6);
      }
    }
  }
}

// Enough periods for run_phases() of resample_signal_cpu.cpp.
void instruction_sets_agree_on_long_signals() {
  const std::vector<float> in = noise(20000);
  for (const SignalRates& rates : all_rates()) {
    const int64_t count = std::min<int64_t>(natural_length(rates, 20000), 30000);
    set_active_isa(Isa::kBaseline);
    const std::vector<float> expected = resample(rates, in, count);
    set_active_isa(machine_isa());
    EXPECT(equal(resample(rates, in, count), expected));
  }
}

void any_part_equals_the_whole() {
  constexpr int64_t kLength = 5000;
  const std::vector<float> in = noise(kLength);
  for (const SignalRates& rates : all_rates()) {
    const auto resampler = SignalResampler::find(rates);
    const int64_t count = std::min<int64_t>(natural_length(rates, kLength) + 50, 20000);
    const std::vector<float> whole = resample(rates, in, count);
    for (int64_t begin = 0, n = 1; begin < count; begin += n, n = std::min(n * 3, count - begin)) {
      if (n <= 0) break;
      // The samples that these outputs depend on, and no others.
      const int64_t low = std::clamp<int64_t>(resampler->first_input(begin), 0, kLength);
      const int64_t high = std::clamp<int64_t>(
          resampler->first_input(begin + n - 1) + resampler->taps(), low, kLength);
      const std::vector<float> part(in.begin() + low, in.begin() + high);
      std::vector<float> out(static_cast<size_t>(n));
      resampler->resample(part.data(), low, high - low, 1, begin, n, out.data());
      EXPECT(std::equal(out.begin(), out.end(), whole.begin() + begin,
                        [](float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }));
    }
  }
}

void channels_are_independent() {
  for (const SignalRates& rates : all_rates()) {
    for (int64_t channels : {2, 5}) {
      const std::vector<float> in = noise(3000 * channels);
      const int64_t count = std::min<int64_t>(natural_length(rates, 3000), 9000);
      const std::vector<float> out = resample(rates, in, count, channels);
      for (int64_t c = 0; c < channels; ++c) {
        std::vector<float> one, expected;
        for (size_t i = static_cast<size_t>(c); i < in.size(); i += static_cast<size_t>(channels))
          one.push_back(in[i]);
        for (size_t i = static_cast<size_t>(c); i < out.size(); i += static_cast<size_t>(channels))
          expected.push_back(out[i]);
        EXPECT(equal(resample(rates, one, count), expected));
      }
    }
  }
}

class SignalInMemory final : public SignalReader {
 public:
  explicit SignalInMemory(const std::vector<float>& values)
      : SignalReader(static_cast<int64_t>(values.size())), values_(values) {}
  void read(float* out, int64_t count) override {
    EXPECT(count <= length() - next_);
    std::copy_n(values_.begin() + next_, count, out);
    next_ += count;
  }

 private:
  const std::vector<float>& values_;
  int64_t next_ = 0;
};

void streaming_equals_the_whole() {
  for (int64_t length : {0, 1, 100, 30000}) {
    const std::vector<float> in = noise(length);
    for (const SignalRates& rates : all_rates()) {
      const int64_t count = std::min<int64_t>(natural_length(rates, length) + 5, 40000);
      const std::vector<float> whole = resample(rates, in, count);
      for (int64_t block : {1, 7, 1600, 100000}) {
        SignalInMemory source(in);
        const auto reader =
            resample_signal(source, rates.in, rates.out, count, rates.quality, rates.antialias);
        EXPECT(reader->length() == count);
        std::vector<float> out;
        for (int64_t done = 0; done < count; done += block) {
          std::vector<float> part(static_cast<size_t>(std::min(block, count - done)));
          reader->read(part.data(), static_cast<int64_t>(part.size()));
          out.insert(out.end(), part.begin(), part.end());
        }
        EXPECT(equal(out, whole));
      }
    }
  }
}

void threads_share_tables() {
  const std::vector<float> in = noise(2000);
  const std::vector<float> expected = resample({44100, 16000}, in, 700);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        // More ratios than are kept.
        (void)SignalResampler::find({static_cast<double>(i + 2), static_cast<double>(t + 1)});
        (void)SignalResampler::find({1 + 0.1 * i, 1.0, 30.0, true});
        EXPECT(equal(resample({44100, 16000}, in, 700), expected));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void extreme_rates() {
  const std::vector<float> in = noise(10);
  // Positions that no sample is near to.
  const std::vector<float> far = resample({0x1p52, 1}, in, 100);
  EXPECT(far[0] != 0 && std::all_of(far.begin() + 1, far.end(), [](float x) { return x == 0; }));
  EXPECT(equal(resample({1e15, 1 + 1e-9}, in, 100), resample({1e15, 1 - 1e-9}, in, 100)));
  // All outputs at the first sample.
  for (float x : resample({1, 1e30}, in, 100)) EXPECT(std::abs(x - in[0]) < 1e-6f);
  const auto refused = [](const std::function<void()>& call, const std::string& part) {
    try {
      call();
    } catch (const Error& e) {
      return e.message().find(part) != std::string::npos;
    }
    return false;
  };
  EXPECT(refused([] { SignalResampler r({1e30, 1}); }, "cannot reduce the rate"));
  EXPECT(refused([] { SignalResampler r({257, 1, 50, true}); }, "at most 256 times"));
  EXPECT(refused([] { resampled_length(1, 1, 0x1p53); }, "would have"));
  EXPECT(refused([] { resampled_length(1, 0, 1); }, "must be positive"));
  EXPECT(refused([] { check_resampling_quality(std::nan("")); }, "between 0 and 100"));
  EXPECT(resampled_length(441, 44100, 16000) == 160 && resampled_length(442, 44100, 16000) == 161);
  EXPECT(resampled_length(0, 1, 2) == 0 && resampled_length(5, 1, 0) == 0);
  SignalInMemory source(in);
  EXPECT(resample_signal(source, 1, 0, 0, 50)->length() == 0);
  EXPECT(refused([&] { resample_signal(source, 0x1p53, 1, int64_t{1} << 50, 50); }, "at most 512"));
  const SignalResampler last({0x1p53, 1});
  float x = 1;
  last.resample(in.data(), 0, 10, 1, last.most_outputs() - 1, 1, &x);
  EXPECT(x == 0);
  EXPECT(refused([&] { last.resample(in.data(), 0, 10, 1, last.most_outputs(), 1, &x); },
                 "not among the first"));
}

}  // namespace
}  // namespace torchdali

int main() {
  using namespace torchdali;
  matches_sums_in_double();
  instruction_sets_agree_on_long_signals();
  any_part_equals_the_whole();
  channels_are_independent();
  streaming_equals_the_whole();
  threads_share_tables();
  extreme_rates();
  std::puts("resample_signal_test: ok");
}
