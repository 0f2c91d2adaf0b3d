// SPDX-License-Identifier: Apache-2.0
// Median filter with a large window, for elements of any type. The elements of a tile are sorted,
// so that each has a rank of its own. The window is a set of ranks, from which some are removed and
// to which some are added as it moves by one element; the median is the middle one.
#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/morphology/median_rows.h"
#include "kernels/morphology/median_scalar.h"

namespace torchdali::kernels {
namespace {

class RankSet {
 public:
  explicit RankSet(size_t ranks) : words_(ranks / kBlock * 8 + 8), counts_(ranks / kBlock + 1) {}
  void clear() {
    std::fill(words_.begin(), words_.end(), 0);
    std::fill(counts_.begin(), counts_.end(), 0);
    block_ = 0;
    before_ = 0;
  }
  void add(uint32_t rank) {
    words_[rank / 64] |= uint64_t{1} << rank % 64;
    ++counts_[rank / kBlock];
    before_ += rank / kBlock < block_ ? 1 : 0;
  }
  void remove(uint32_t rank) {
    words_[rank / 64] &= ~(uint64_t{1} << rank % 64);
    --counts_[rank / kBlock];
    before_ -= rank / kBlock < block_ ? 1 : 0;
  }
  // The member with `smaller` smaller ones. It is near that of the last call.
  size_t find(uint32_t smaller) {
    while (before_ > smaller) before_ -= counts_[--block_];
    while (before_ + counts_[block_] <= smaller) before_ += counts_[block_++];
    auto left = static_cast<int>(smaller - before_);
    size_t word = block_ * 8;
    for (int n = 0; (n = std::popcount(words_[word])) <= left; ++word) left -= n;
    uint64_t bits = words_[word];
    for (; left > 0; --left) bits &= bits - 1;
    return word * 64 + static_cast<size_t>(std::countr_zero(bits));
  }

 private:
  static constexpr size_t kBlock = 512;
  std::vector<uint64_t> words_;   // a bit for each rank
  std::vector<uint32_t> counts_;  // of each block of words
  size_t block_ = 0;              // the last one found
  uint32_t before_ = 0;           // members in the blocks before it
};

struct Axis {
  int64_t extent = 0, window = 0;  // of the tile
  int64_t stride = 0, out = 0;     // in the padded tile and in the output
};

// `ranks` are those of the padded tile, `sorted` its elements. The window moves along `inner`, back
// and forth.
template <class T>
void move_window(const Axis& inner, const Axis& outer, const std::vector<uint32_t>& ranks,
                 const std::vector<uint64_t>& sorted, RankSet& set, T* out) {
  const auto middle = static_cast<uint32_t>(inner.window * outer.window / 2);
  const auto replace = [&](int64_t leaving, int64_t entering, const Axis& side) {
    for (int64_t i = 0; i < side.window; ++i, leaving += side.stride, entering += side.stride) {
      set.remove(ranks[static_cast<size_t>(leaving)]);
      set.add(ranks[static_cast<size_t>(entering)]);
    }
  };
  set.clear();
  for (int64_t i = 0; i < outer.window; ++i)
    for (int64_t k = 0; k < inner.window; ++k)
      set.add(ranks[static_cast<size_t>(i * outer.stride + k * inner.stride)]);
  int64_t at = 0;  // of the window along `inner`
  for (int64_t i = 0; i < outer.extent; ++i) {
    const bool forth = i % 2 == 0;
    const int64_t row = i * outer.stride;
    for (int64_t step = 0; step < inner.extent; ++step) {
      if (step > 0) {
        const int64_t low = row + (forth ? at : at - 1) * inner.stride;
        const int64_t high = low + inner.window * inner.stride;
        if (forth) replace(low, high, outer);
        else replace(high, low, outer);
        at += forth ? 1 : -1;
      }
      out[i * outer.out + at * inner.out] =
          median_of_key<T>(static_cast<uint32_t>(sorted[set.find(middle)] >> 32));
    }
    if (i + 1 == outer.extent) break;
    const int64_t leaving = row + at * inner.stride;
    replace(leaving, leaving + outer.window * outer.stride, inner);
  }
}

template <class T>
void median_of(const MedianJob& job, const T* in, T* out) {
  // Few sets of ranks are larger than the second cache.
  constexpr int64_t kTile = 512;
  const int64_t h = job.height, w = job.width, c = job.channels;
  const int64_t most_y = std::min(kTile, h) + job.window_y - 1;
  const int64_t most_x = std::min(kTile, w) + job.window_x - 1;
  const auto most = static_cast<size_t>(most_y * most_x);
  std::vector<uint64_t> sorted(most);
  std::vector<uint32_t> ranks(most);
  RankSet set(most);
  for (int64_t top = 0; top < h; top += kTile)
    for (int64_t left = 0; left < w; left += kTile)
      for (int64_t channel = 0; channel < c; ++channel) {
        const int64_t height = std::min(kTile, h - top), width = std::min(kTile, w - left);
        const int64_t pitch = width + job.window_x - 1, rows = height + job.window_y - 1;
        sorted.resize(static_cast<size_t>(rows * pitch));
        for (int64_t y = 0, i = 0; y < rows; ++y) {
          const int64_t from = std::clamp<int64_t>(top + y - job.window_y / 2, 0, h - 1) * w;
          for (int64_t x = 0; x < pitch; ++x, ++i) {
            const int64_t column = std::clamp<int64_t>(left + x - job.window_x / 2, 0, w - 1);
            const uint64_t key = median_key(in[(from + column) * c + channel]);
            sorted[static_cast<size_t>(i)] = key << 32 | static_cast<uint64_t>(i);
          }
        }
        std::sort(sorted.begin(), sorted.end());
        for (size_t rank = 0; rank < sorted.size(); ++rank)
          ranks[static_cast<uint32_t>(sorted[rank])] = static_cast<uint32_t>(rank);
        Axis x{width, job.window_x, 1, c}, y{height, job.window_y, pitch, w * c};
        if (job.window_y > job.window_x) std::swap(x, y);  // fewer elements change
        move_window(x, y, ranks, sorted, set, out + (top * w + left) * c + channel);
      }
}

}  // namespace

void median_by_ranks(const MedianJob& job, const void* in, void* out) {
  dispatch_dtype(job.type, [&]<class T>() {
    if constexpr (is_median_type(dtype_of<T>()))
      median_of(job, static_cast<const T*>(in), static_cast<T*>(out));
  });
}

}  // namespace torchdali::kernels
