// SPDX-License-Identifier: Apache-2.0
// Sums of squares of all windows of a signal, for fn.nonsilent_region. Nothing is subtracted, so a
// quiet window after a loud one is exact: a window is the end of one block, whole blocks, and the
// beginning of another block. Shared by CPU and GPU.
#pragma once

#include <algorithm>
#include <cstdint>

namespace torchdali::kernels {

struct MovingPower {
  int64_t length = 0;
  int64_t window = 0;  // <= length
  int64_t block = 0;   // samples of a block; the last block may have less

  MovingPower() = default;
  MovingPower(int64_t samples, int64_t window_length)
      : length(samples), window(std::min(samples, window_length)) {
    block = is_short() ? 64 : window / kBlocksOfWindow;
  }
  // Whether windows are added up one by one.
  constexpr bool is_short() const { return window < 2 * kBlocksOfWindow; }
  constexpr int64_t blocks() const { return block == 0 ? 0 : (length + block - 1) / block; }
  constexpr int64_t begin_of(int64_t b) const { return b * block; }
  constexpr int64_t end_of(int64_t b) const {
    return (b + 1) * block < length ? (b + 1) * block : length;
  }
  // The block with the first sample of the first window that ends in block `b`.
  constexpr int64_t first_block_for(int64_t b) const {
    const int64_t start = b * block - window + 1;
    return start > 0 ? start / block : 0;
  }
  // At least the sum of any window that ends in block `b`, up to rounding.
  constexpr double bound(int64_t b, const double* sums) const {
    double sum = 0;
    for (int64_t k = first_block_for(b); k <= b; ++k) sum += sums[k];
    return sum;
  }

 private:
  static constexpr int64_t kBlocksOfWindow = 16;
};

constexpr double square_of(float x) { return static_cast<double>(x) * static_cast<double>(x); }

// The sum of the squares of `count` samples, in an order that suits vectors. load(i) is sample i.
template <class Load>
constexpr double sum_of_squares(int64_t count, Load&& load) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int j = 0; j < kLanes; ++j) lanes[j] += square_of(load(i + j));
  for (; i < count; ++i) lanes[0] += square_of(load(i));
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  return lanes[0];
}

// suffix(i, sum) for the sum from sample i to the end of block `b`, from the last sample to the
// first.
template <class Load, class Suffix>
constexpr void visit_suffixes(const MovingPower& power, int64_t b, Load&& load, Suffix&& suffix) {
  double sum = 0;
  for (int64_t i = power.end_of(b); i-- > power.begin_of(b);) {
    sum += square_of(load(i));
    suffix(i, sum);
  }
}

// visit(i, sum) for each window that ends at a sample i of block `b`, in order. Windows that begin
// before the signal have its samples only. `sums`: of each block. suffix(i): as visit_suffixes()
// had it, not called if windows are short.
template <class Load, class Suffix, class Visit>
constexpr void visit_windows(const MovingPower& power, int64_t b, const double* sums, Load&& load,
                             Suffix&& suffix, Visit&& visit) {
  double prefix = 0, middle = 0;
  int64_t first = -1;  // the block with the beginning of the window
  for (int64_t i = power.begin_of(b); i < power.end_of(b); ++i) {
    const int64_t start = i - power.window + 1 > 0 ? i - power.window + 1 : 0;
    if (power.is_short()) {
      double sum = 0;
      for (int64_t k = start; k <= i; ++k) sum += square_of(load(k));
      visit(i, sum);
      continue;
    }
    prefix += square_of(load(i));
    if (b == 0) {  // else a window is longer than a block, or begins before the signal
      visit(i, prefix);
      continue;
    }
    if (first < 0 || start >= power.end_of(first)) {
      first = first < 0 ? start / power.block : first + 1;
      middle = 0;
      for (int64_t k = first + 1; k < b; ++k) middle += sums[k];
    }
    visit(i, suffix(start) + middle + prefix);
  }
}

}  // namespace torchdali::kernels
