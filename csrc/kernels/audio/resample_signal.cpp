// SPDX-License-Identifier: Apache-2.0
#include "kernels/audio/resample_signal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.h"

namespace torchdali::kernels {
namespace {

constexpr double kPi = 3.14159265358979323846;
// Ratios with more phases are interpolated from nodes: making the table would take as long as
// resampling some seconds.
constexpr uint32_t kMostPhases = 1024;
constexpr int64_t kMostWeights = int64_t{1} << 20;
// A filter has 2 * 64 taps at most for each sample of the output.
constexpr double kLargestStep = 256;

// What DALI 1.35 does, found by resampling impulses: docs/design/audio.md.
int count_lobes(double quality) {
  return std::max(3, static_cast<int>(std::lround(0.007 * quality * quality - 0.09 * quality + 3)));
}

// The filter: a sinc function with `lobes` lobes on each side under a Hann window that is 1/64
// wider. `cutoff` is relative to half of the input's rate.
struct Filter {
  int lobes = 0;
  double cutoff = 1;
  bool operator==(const Filter&) const = default;

  // Samples on each side.
  int half() const { return static_cast<int>(std::ceil(lobes / cutoff)); }
  double operator()(double t) const {
    const double x = std::abs(t * cutoff);
    if (x > lobes) return 0;
    if (x == 0) return cutoff;
    if (x == std::floor(x)) return 0;
    const double window = 0.5 * (1 + std::cos(kPi * x / (lobes + 1.0 / 64)));
    return cutoff * window * std::sin(kPi * x) / (kPi * x);
  }
};

int padded_taps(const Filter& filter) {
  return (2 * filter.half() + kSignalLanes - 1) / kSignalLanes * kSignalLanes;
}

// The values of the filter that tap k multiplies at node n, n <= kSignalNodes: [n][k].
std::vector<double> sample_nodes(const Filter& filter) {
  const int taps = padded_taps(filter), half = filter.half();
  std::vector<double> value(static_cast<size_t>(kSignalNodes + 1) * static_cast<size_t>(taps));
  for (int n = 0; n <= kSignalNodes; ++n) {
    double* row = value.data() + static_cast<ptrdiff_t>(n) * taps;
    for (int k = 0; k < 2 * half; ++k)
      row[k] = filter(k - half + 1 - n / static_cast<double>(kSignalNodes));
  }
  return value;
}

using Weights = std::shared_ptr<const std::vector<float>>;

Weights make_nodes(const Filter& filter) {
  const std::vector<double> value = sample_nodes(filter);
  const int taps = padded_taps(filter);
  auto weights = std::make_shared<std::vector<float>>();
  weights->reserve(static_cast<size_t>(2 * kSignalNodes) * static_cast<size_t>(taps));
  for (int n = 0; n < kSignalNodes; ++n) {
    const double* row = value.data() + static_cast<ptrdiff_t>(n) * taps;
    for (int k = 0; k < taps; k += kSignalLanes) {
      for (int l = 0; l < kSignalLanes; ++l) weights->push_back(static_cast<float>(row[k + l]));
      for (int l = 0; l < kSignalLanes; ++l)
        weights->push_back(static_cast<float>(row[taps + k + l] - row[k + l]));
    }
  }
  return weights;
}

Weights make_phases(const Filter& filter, uint32_t phases) {
  const std::vector<double> value = sample_nodes(filter);
  const int taps = padded_taps(filter);
  auto weights = std::make_shared<std::vector<float>>();
  weights->reserve(static_cast<size_t>(phases) * static_cast<size_t>(taps));
  for (uint32_t p = 0; p < phases; ++p) {
    const uint64_t at = uint64_t{p} * kSignalNodes;
    const double part = static_cast<double>(at % phases) / phases;
    const double* row = value.data() + static_cast<ptrdiff_t>(at / phases) * taps;
    for (int k = 0; k < taps; ++k)
      weights->push_back(static_cast<float>(row[k] + part * (row[taps + k] - row[k])));
  }
  return weights;
}

// The values that were used last. Several threads may make the same value at once.
template <class Key, class Value>
class RecentlyUsed {
 public:
  template <class Make>
  Value get(const Key& key, Make&& make) {
    if (std::optional<Value> found = find(key)) return *std::move(found);
    Value made = make();
    const std::lock_guard lock(mutex_);
    values_.insert(values_.begin(), {key, made});
    if (values_.size() > kMost) values_.pop_back();
    return made;
  }

 private:
  static constexpr size_t kMost = 16;
  std::optional<Value> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    for (auto it = values_.begin(); it != values_.end(); ++it) {
      if (it->first != key) continue;
      std::rotate(values_.begin(), it, it + 1);
      return values_.front().second;
    }
    return std::nullopt;
  }
  std::mutex mutex_;
  std::vector<std::pair<Key, Value>> values_;
};

// The ratio in / out in lowest terms, if both rates are multiples of 2^-16 and not huge.
std::optional<std::pair<uint64_t, uint64_t>> reduce(double in, double out) {
  if (in == out) return std::pair{uint64_t{1}, uint64_t{1}};
  const double scaled[] = {in * 65536, out * 65536};
  for (double x : scaled)
    if (!(x < 0x1p53) || x != std::floor(x) || x < 1) return std::nullopt;
  const auto a = static_cast<uint64_t>(scaled[0]), b = static_cast<uint64_t>(scaled[1]);
  const uint64_t divisor = std::gcd(a, b);
  return std::pair{a / divisor, b / divisor};
}

// Outputs that resample_channels() makes at once, and samples that they may span.
constexpr int64_t kBlock = 2048;
constexpr int64_t kSpan = 8192;

}  // namespace

std::shared_ptr<const SignalResampler> SignalResampler::find(const SignalRates& rates) {
  static RecentlyUsed<SignalRates, std::shared_ptr<const SignalResampler>> recent;
  const auto make = [&] { return std::make_shared<const SignalResampler>(rates); };
  const auto ratio = reduce(rates.in, rates.out);
  if (ratio && ratio->second <= kMostPhases) return recent.get(rates, make);
  return make();  // its table is shared by other ratios
}

SignalResampler::SignalResampler(const SignalRates& rates) {
  const double step = rates.in / rates.out;
  Filter filter{.lobes = count_lobes(rates.quality)};
  if (rates.antialias && step > 1) {
    TORCHDALI_CHECK(step <= kLargestStep, "cannot reduce the rate of a signal ", step,
                    " times without aliasing, at most ", kLargestStep, " times",
                    to_fix("resample in two steps"));
    filter.cutoff = 1 / step;
  }
  taps_ = padded_taps(filter);
  before_ = filter.half() - 1;
  // No position is greater than 2^62.
  most_outputs_ = static_cast<int64_t>(std::min(0x1p62 / step, 0x1p62));
  const auto ratio = reduce(rates.in, rates.out);
  if (ratio && ratio->second <= kMostPhases &&
      static_cast<int64_t>(ratio->second) * taps_ <= kMostWeights) {
    steps_ = {.advance = ratio->first, .phases = static_cast<uint32_t>(ratio->second)};
    most_outputs_ =
        static_cast<int64_t>(0x1p62 / static_cast<double>(std::max(ratio->first, ratio->second)));
    weights_ = make_phases(filter, steps_.phases);
    return;
  }
  TORCHDALI_CHECK(step < 0x1p62, "cannot reduce the rate of a signal ", step, " times");
  const double whole = std::floor(step);
  steps_ = {.advance = static_cast<uint64_t>(whole),
            .fraction = static_cast<uint64_t>((step - whole) * 0x1p64),
            .phases = 0};
  static RecentlyUsed<std::pair<int, double>, Weights> recent;
  weights_ = recent.get({filter.lobes, filter.cutoff}, [&] { return make_nodes(filter); });
}

void SignalResampler::resample(const float* in, int64_t in_begin, int64_t in_count,
                               int64_t channels, int64_t begin, int64_t count, float* out) const {
  TORCHDALI_ASSERT(begin >= 0 && count >= 0 && begin <= most_outputs_ - count, "outputs ", begin,
                   " and ", count, " following ones are not among the first ", most_outputs_);
  if (is_copy(steps_)) {
    const int64_t end = begin + count, from = std::clamp(in_begin, begin, end),
                  to = std::clamp(in_begin + in_count, from, end);
    std::fill(out, out + (from - begin) * channels, 0.0f);
    if (to > from)
      std::copy_n(in + (from - in_begin) * channels, (to - from) * channels,
                  out + (from - begin) * channels);
    std::fill(out + (to - begin) * channels, out + count * channels, 0.0f);
    return;
  }
  SignalRun run{.in = in,
                .in_begin = in_begin,
                .in_end = in_begin + in_count,
                .steps = &steps_,
                .weights = weights_->data(),
                .before = before_,
                .taps = taps_,
                .begin = begin,
                .count = count,
                .out = out};
  if (channels == 1) return resample_run(run);
  resample_channels(run, channels);
}

int64_t SignalResampler::outputs_within(int64_t samples) const {
  const double step = steps_.phases > 0 ? static_cast<double>(steps_.advance) / steps_.phases
                                        : static_cast<double>(steps_.advance) +
                                              0x1p-64 * static_cast<double>(steps_.fraction);
  return std::max<int64_t>(1, static_cast<int64_t>(std::min(samples / step, 0x1p32)));
}

// Copies blocks of each channel to where they are contiguous.
void SignalResampler::resample_channels(const SignalRun& all, int64_t channels) const {
  const int64_t block = std::min(outputs_within(kSpan), kBlock);
  thread_local std::vector<float> samples;
  samples.resize(std::max(samples.size(), static_cast<size_t>(kSpan + 1 + taps_)));
  float results[kBlock];
  for (int64_t done = 0; done < all.count; done += block) {
    SignalRun run = all;
    run.begin = all.begin + done;
    run.count = std::min(block, all.count - done);
    const int64_t first = first_input(run.begin);
    const int64_t end = first_input(run.begin + run.count - 1) + taps_;
    run.in_begin = std::clamp(first, all.in_begin, all.in_end);
    run.in_end = std::clamp(end, run.in_begin, all.in_end);
    run.in = samples.data();
    run.out = results;
    for (int64_t c = 0; c < channels; ++c) {
      const float* from = all.in + (run.in_begin - all.in_begin) * channels + c;
      for (int64_t i = 0; i < run.in_end - run.in_begin; ++i)
        samples[static_cast<size_t>(i)] = from[i * channels];
      resample_run(run);
      float* to = all.out + done * channels + c;
      for (int64_t i = 0; i < run.count; ++i) to[i * channels] = results[i];
    }
  }
}

}  // namespace torchdali::kernels
