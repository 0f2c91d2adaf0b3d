// SPDX-License-Identifier: Apache-2.0
// Median of bytes by histograms, in time that does not depend on the window (Perreault and Hebert,
// "Median filtering in constant time", 2007). Each column has the histogram of its part of the
// window, which changes by two elements from row to row; the histogram of the window changes by two
// columns from pixel to pixel. Its 256 bins are in 16 groups: only the group that holds the median
// is brought up to date. All counts are cumulative, so that a comparison of 16 counts with a rank
// finds a group or a bin.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/morphology/median_rows.h"

#define TORCHDALI_ISA_FILE "kernels/morphology/median_histograms_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

inline constexpr int64_t kGroups = 16, kBins = 256;

// What an element in bin i of 16 adds to cumulative counts.
template <class Count>
struct MedianSteps {
  alignas(64) Count of[kGroups][kGroups];
  MedianSteps() {
    for (int64_t i = 0; i < kGroups; ++i)
      for (int64_t k = 0; k < kGroups; ++k) of[i][k] = k >= i ? 1 : 0;
  }
};

// 16 numbers. Vectors, because compilers make scalars of loops this short.
template <class T>
struct MedianVector {
  using Type [[gnu::vector_size(kGroups * sizeof(T)), gnu::may_alias]] = T;
};
template <class T>
typename MedianVector<T>::Type& vector(T* at) {
  return *reinterpret_cast<typename MedianVector<T>::Type*>(at);
}
template <class T>
const typename MedianVector<T>::Type& vector(const T* at) {
  return *reinterpret_cast<const typename MedianVector<T>::Type*>(at);
}
// Wider numbers.
template <class Sums, class Count>
void widen(const Count* counts, Sums& to) {
#if TORCHDALI_ISA_LEVEL > 0
  if constexpr (sizeof(Count) == 1) {
    const auto bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(counts));
    to = reinterpret_cast<Sums>(_mm256_cvtepu8_epi16(bytes));
    return;
  }
#endif
  to = __builtin_convertvector(vector(counts), Sums);
}

// A vertical stripe of the image, and where its columns have their histograms.
struct MedianStripes {
  int64_t width = 0, columns = 0;  // most pixels of a result; most columns, of all channels

  MedianStripes(const MedianJob& job, int64_t count_bytes) {
    constexpr int64_t kCache = 1 << 20;
    const int64_t reach = job.window_x - 1;
    width = std::max(kCache / (kBins * count_bytes * job.channels) - reach, reach);
    width = std::min(std::max<int64_t>(width, 16), job.width);
    columns = std::min(job.width, width + reach) * job.channels;
  }
};

// Count holds the elements of a column, Sum those of the window. A list of 16 counts has the number
// of elements in each group and those before it, or in each bin of a group and those before it.
template <class Count, class Sum>
class MedianHistograms {
 public:
  MedianHistograms(const MedianJob& job, const uint8_t* in, uint8_t* out, char* scratch)
      : job_(job),
        in_(in),
        out_(out),
        radius_x_(job.window_x / 2),
        radius_y_(job.window_y / 2),
        rank_(static_cast<Sum>(job.window_x * job.window_y / 2)),
        stripes_(job, sizeof(Count)),
        fine_(reinterpret_cast<Count*>(scratch)),
        coarse_(fine_ + stripes_.columns * kBins),
        columns_(reinterpret_cast<int64_t*>(coarse_ + stripes_.columns * kGroups)) {}
  static int64_t scratch(const MedianJob& job) {
    const MedianStripes stripes(job, sizeof(Count));
    return stripes.columns * (kBins + kGroups) * static_cast<int64_t>(sizeof(Count)) +
           (stripes.width + job.window_x) * static_cast<int64_t>(sizeof(int64_t));
  }

  void operator()() {
    for (int64_t begin = 0; begin < job_.width; begin += stripes_.width) {
      begin_ = begin;
      end_ = std::min(begin + stripes_.width, job_.width);
      first_ = std::max<int64_t>(begin_ - radius_x_, 0);
      last_ = std::min(end_ - 1 + radius_x_, job_.width - 1);
      for (int64_t x = begin_ - radius_x_ - 1; x < end_ + radius_x_; ++x)
        columns_[x - begin_ + radius_x_ + 1] =
            (std::clamp(x, first_, last_) - first_) * job_.channels;
      const int64_t columns = (last_ - first_ + 1) * job_.channels;
      std::fill(fine_, fine_ + columns * kBins, Count{0});
      std::fill(coarse_, coarse_ + columns * kGroups, Count{0});
      // The rows of the first row's window; those of the edge count several times.
      for (int64_t y = -radius_y_; y <= radius_y_; ++y) count(y);
      for (int64_t y = 0; y < job_.height; ++y) {
        if (y > 0) replace(y + radius_y_, y - 1 - radius_y_);
        for (int64_t c = 0; c < job_.channels; ++c) row(y, c);
      }
    }
  }

 private:
  // The columns of row y, which may be outside of the image.
  const uint8_t* elements(int64_t y) const {
    return in_ + (std::clamp<int64_t>(y, 0, job_.height - 1) * job_.width + first_) * job_.channels;
  }
  void count(int64_t y) {
    const uint8_t* from = elements(y);
    const int64_t columns = (last_ - first_ + 1) * job_.channels;
    for (int64_t i = 0; i < columns; ++i) {
      add(fine_ + i * kBins + (from[i] & 0xF0), steps_.of[from[i] & 15]);
      add(coarse_ + i * kGroups, steps_.of[from[i] >> 4]);
    }
  }
  void replace(int64_t added, int64_t removed) {
    const uint8_t *in = elements(added), *out = elements(removed);
    const int64_t columns = (last_ - first_ + 1) * job_.channels;
    for (int64_t i = 0; i < columns; ++i) {
      Count* fine = fine_ + i * kBins;
      add(fine + (in[i] & 0xF0), steps_.of[in[i] & 15]);
      subtract(fine + (out[i] & 0xF0), steps_.of[out[i] & 15]);
      move(coarse_ + i * kGroups, steps_.of[in[i] >> 4], steps_.of[out[i] >> 4]);
    }
  }
  static void add(Count* to, const Count* counts) { vector(to) += vector(counts); }
  static void subtract(Count* to, const Count* counts) { vector(to) -= vector(counts); }
  static void move(Count* to, const Count* in, const Count* out) {
    vector(to) += vector(in) - vector(out);
  }
  using Sums = typename MedianVector<Sum>::Type;
  static void add(Sum* to, const Count* counts) {
    Sums sums;
    widen(counts, sums);
    vector(to) += sums;
  }
  static void move(Sum* to, const Count* in, const Count* out) {
    Sums added, removed;
    widen(in, added);
    widen(out, removed);
    vector(to) += added - removed;
  }
  // How many of 16 cumulative counts are at most `rank`, which is the group or bin of that element.
  static int64_t find(const Sum* sums, Sum rank) {
#if TORCHDALI_ISA_LEVEL > 0
    if constexpr (sizeof(Sum) == 2) {
      const __m256i all = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums));
      const __m256i least = _mm256_min_epu16(all, _mm256_set1_epi16(static_cast<int16_t>(rank)));
      const int equal = _mm256_movemask_epi8(_mm256_cmpeq_epi16(all, least));
      return std::popcount(static_cast<uint32_t>(equal)) / 2;
    }
#endif
    int64_t k = 0;
    while (sums[k] <= rank) ++k;
    return k;
  }

  void row(int64_t y, int64_t c) {
    alignas(64) Sum groups[kGroups] = {}, bins[kBins];
    int64_t valid_at[kGroups];  // the pixel for which the bins of a group are valid
    std::fill(valid_at, valid_at + kGroups, std::numeric_limits<int64_t>::min() / 2);
    // From the first column of the window of pixel `begin_` on.
    const int64_t* columns = columns_ + 1;
    const Count *coarse = coarse_ + c * kGroups, *fine = fine_ + c * kBins;
    const int64_t window = job_.window_x, count = end_ - begin_;
    for (int64_t k = 0; k < window; ++k) add(groups, coarse + columns[k] * kGroups);
    uint8_t* to = out_ + (y * job_.width + begin_) * job_.channels + c;
    for (int64_t x = 0; x < count; ++x, to += job_.channels) {
      if (x > 0)
        move(groups, coarse + columns[x + window - 1] * kGroups, coarse + columns[x - 1] * kGroups);
      const int64_t group = find(groups, rank_);
      const Sum before = group > 0 ? groups[group - 1] : Sum{0};
      Sum* members = bins + group * kGroups;
      const Count* member_counts = fine + group * kGroups;
      if (x - valid_at[group] > radius_x_) {
        std::fill(members, members + kGroups, Sum{0});
        for (int64_t k = 0; k < window; ++k) add(members, member_counts + columns[x + k] * kBins);
      } else {
        for (int64_t k = valid_at[group] + 1; k <= x; ++k)
          move(members, member_counts + columns[k + window - 1] * kBins,
               member_counts + columns[k - 1] * kBins);
      }
      valid_at[group] = x;
      *to = static_cast<uint8_t>(group * kGroups + find(members, static_cast<Sum>(rank_ - before)));
    }
  }

  const MedianJob& job_;
  const uint8_t* in_;
  uint8_t* out_;
  int64_t radius_x_, radius_y_;
  Sum rank_;
  MedianStripes stripes_;
  Count *fine_, *coarse_;
  int64_t* columns_;  // numbers of the histograms of columns, also of those outside of the image
  MedianSteps<Count> steps_;
  int64_t begin_ = 0, end_ = 0, first_ = 0, last_ = 0;  // pixels; columns with histograms
};

using SmallMedianHistograms = MedianHistograms<uint8_t, uint16_t>;
using LargeMedianHistograms = MedianHistograms<uint16_t, uint32_t>;

inline bool is_small(const MedianJob& job) { return job.window_y <= 255 && job.window_x <= 255; }

void median_by_histograms(const MedianJob& job, const void* in, void* out, void* scratch) {
  const auto* from = static_cast<const uint8_t*>(in);
  auto* to = static_cast<uint8_t*>(out);
  if (is_small(job)) SmallMedianHistograms(job, from, to, static_cast<char*>(scratch))();
  else LargeMedianHistograms(job, from, to, static_cast<char*>(scratch))();
}

}  // namespace TORCHDALI_ISA_NAMESPACE

#if TORCHDALI_ISA_LAST
size_t median_by_histograms_scratch(const MedianJob& job) {
  return static_cast<size_t>(isa_baseline::is_small(job)
                                 ? isa_baseline::SmallMedianHistograms::scratch(job)
                                 : isa_baseline::LargeMedianHistograms::scratch(job));
}

void median_by_histograms(const MedianJob& job, const void* in, void* out, void* scratch) {
  TORCHDALI_ISA_PICK(median_by_histograms)(job, in, out, scratch);
}
#endif

}  // namespace torchdali::kernels
