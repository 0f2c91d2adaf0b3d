// SPDX-License-Identifier: Apache-2.0
// Kernels whose result depends on neighbors: debayer and median filter of small images, in buffers
// of the exact size; the instruction sets of this machine agree.
// sources: csrc/kernels/debayer/*.cpp csrc/kernels/morphology/median.cpp
// sources: csrc/kernels/morphology/median3_cpu.cpp csrc/kernels/morphology/median_rows_cpu.cpp
// sources: csrc/kernels/morphology/median_histograms_cpu.cpp
// sources: csrc/kernels/morphology/median_program.cpp csrc/kernels/morphology/median_ranks.cpp
// sources: csrc/core/cpu_features.cpp
// sanitizers: address
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/cpu_features.h"
#include "expect.h"
#include "kernels/debayer/debayer.h"
#include "kernels/morphology/median.h"
#include "kernels/morphology/median_rows.h"

namespace torchdali::kernels {
namespace {

// Blocks of exactly this size, so that a byte past their end is found.
std::unique_ptr<uint8_t[]> values(int64_t count) {
  std::unique_ptr<uint8_t[]> block(new uint8_t[static_cast<size_t>(count)]);
  uint32_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    block[i] = static_cast<uint8_t>(state >> 24);
  }
  return block;
}
class Scratch {
 public:
  explicit Scratch(size_t bytes) : data_(::operator new(bytes, kAlignment)) {
    std::memset(data_, 0xA5, bytes);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::operator delete(data_, kAlignment); }
  void* data() const { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  void* data_;
};

// Calls run(out) with each instruction set; all must write the same.
template <class Run>
std::unique_ptr<uint8_t[]> same_with_all(int64_t bytes, const Run& run) {
  std::unique_ptr<uint8_t[]> first;
  for (int level = 0; level <= static_cast<int>(machine_isa()); ++level) {
    set_active_isa(static_cast<Isa>(level));
    std::unique_ptr<uint8_t[]> out(new uint8_t[static_cast<size_t>(bytes)]);
    run(out.get());
    if (first == nullptr) first = std::move(out);
    else EXPECT(std::memcmp(first.get(), out.get(), static_cast<size_t>(bytes)) == 0);
  }
  return first;
}

void test_debayer(int64_t width) {
  constexpr int64_t kHeight = 5;
  for (const DType type : {DType::kUInt8, DType::kUInt16})
    for (const DebayerAlgorithm algorithm :
         {DebayerAlgorithm::kBilinear, DebayerAlgorithm::kEdgeAware, DebayerAlgorithm::kGray})
      for (const int64_t blue_x : {0, 1}) {
        const DebayerJob job{.type = type,
                             .algorithm = algorithm,
                             .height = kHeight,
                             .width = width,
                             .blue_y = 1,
                             .blue_x = blue_x};
        const int64_t in_bytes = kHeight * width * itemsize(type);
        const auto in = values(in_bytes);
        const int64_t channels = algorithm == DebayerAlgorithm::kGray ? 1 : 3;
        same_with_all(in_bytes * channels, [&](uint8_t* out) {
          const Scratch scratch(debayer_scratch(job));
          debayer(job, in.get(), out, scratch.data());
        });
      }
}

void test_median(int64_t height, int64_t width, int64_t channels, int64_t window_y,
                 int64_t window_x) {
  const MedianJob job{.height = height,
                      .width = width,
                      .channels = channels,
                      .window_y = window_y,
                      .window_x = window_x};
  const auto in = values(height * width * channels);
  const auto out = same_with_all(height * width * channels, [&](uint8_t* to) {
    const Scratch scratch(median_scratch(job));
    median(job, in.get(), to, scratch.data());
  });
  const auto by_ranks = same_with_all(height * width * channels,
                                      [&](uint8_t* to) { median_by_ranks(job, in.get(), to); });
  EXPECT(std::equal(by_ranks.get(), by_ranks.get() + height * width * channels, out.get()));
  std::vector<uint8_t> window;
  for (const auto& [y, x] : {std::pair<int64_t, int64_t>{0, 0}, {height - 1, width / 2}}) {
    window.clear();
    for (int64_t dy = -(window_y / 2); dy <= window_y / 2; ++dy)
      for (int64_t dx = -(window_x / 2); dx <= window_x / 2; ++dx)
        window.push_back(in[(std::clamp<int64_t>(y + dy, 0, height - 1) * width +
                             std::clamp<int64_t>(x + dx, 0, width - 1)) *
                            channels]);
    std::nth_element(window.begin(), window.begin() + window_y * window_x / 2, window.end());
    EXPECT(out[(y * width + x) * channels] == window[window.size() / 2]);
  }
}

}  // namespace
}  // namespace torchdali::kernels

int main() {
  using namespace torchdali::kernels;
  for (int64_t width = 3; width < 140; ++width) test_debayer(width);
  for (const int64_t channels : {1, 3})
    for (const int64_t width : {1, 2, 17, 33}) {
      test_median(4, width, channels, 3, 3);
      test_median(4, width, channels, 7, 5);
      test_median(4, width, channels, 13, 13);
      test_median(2, width, channels, 255, 3);
      test_median(2, width, channels, 3, 257);
    }
  test_median(1, 5000, 1, 3, 41);  // several stripes
  return 0;
}
