// SPDX-License-Identifier: Apache-2.0
// Median of bytes by histograms, in time that does not depend on the window (Perreault and Hebert,
// "Median filtering in constant time", 2007). Each column has the histogram of its part of the
// window, which changes by two elements from row to row; the histogram of the window changes by two
// columns from pixel to pixel. Its 256 bins are in 16 groups: only the group that holds the median
// is brought up to date.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/morphology/median_rows.h"

#define TORCHDALI_ISA_FILE "kernels/morphology/median_histograms_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

inline constexpr int64_t kGroups = 16, kBins = 256;

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

// Count holds the elements of a column, Sum those of the window.
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
        coarse_(fine_ + stripes_.columns * kBins) {}
  static int64_t scratch(const MedianJob& job) {
    return MedianStripes(job, sizeof(Count)).columns * (kBins + kGroups) *
           static_cast<int64_t>(sizeof(Count));
  }

  void operator()() {
    for (int64_t begin = 0; begin < job_.width; begin += stripes_.width) {
      begin_ = begin;
      end_ = std::min(begin + stripes_.width, job_.width);
      first_ = std::max<int64_t>(begin_ - radius_x_, 0);
      last_ = std::min(end_ - 1 + radius_x_, job_.width - 1);
      const int64_t columns = (last_ - first_ + 1) * job_.channels;
      std::fill(fine_, fine_ + columns * kBins, Count{0});
      std::fill(coarse_, coarse_ + columns * kGroups, Count{0});
      // The rows from the first row's window on; those of the edge count several times.
      for (int64_t y = -radius_y_; y < radius_y_; ++y) count<1>(y);
      for (int64_t y = 0; y < job_.height; ++y) {
        count<1>(y + radius_y_);
        for (int64_t c = 0; c < job_.channels; ++c) row(y, c);
        count<-1>(y - radius_y_);
      }
    }
  }

 private:
  template <int kBy>
  void count(int64_t y) {
    const uint8_t* from =
        in_ + (std::clamp<int64_t>(y, 0, job_.height - 1) * job_.width + first_) * job_.channels;
    const int64_t columns = (last_ - first_ + 1) * job_.channels;
    for (int64_t i = 0; i < columns; ++i) {
      Count& fine = fine_[i * kBins + from[i]];
      Count& coarse = coarse_[i * kGroups + (from[i] >> 4)];
      fine = static_cast<Count>(fine + kBy);
      coarse = static_cast<Count>(coarse + kBy);
    }
  }
  // Number of the histogram of column x, which may be outside of the image.
  int64_t column(int64_t x, int64_t c) const {
    return (std::clamp(x, first_, last_) - first_) * job_.channels + c;
  }
  static void add(Sum* __restrict to, const Count* __restrict column) {
    for (int64_t k = 0; k < kGroups; ++k) to[k] = static_cast<Sum>(to[k] + column[k]);
  }
  static void move(Sum* __restrict to, const Count* __restrict in, const Count* __restrict out) {
    for (int64_t k = 0; k < kGroups; ++k) to[k] = static_cast<Sum>(to[k] + in[k] - out[k]);
  }
  // The group or bin with element `rank`; `rank` becomes its rank in there.
  static int64_t find(const Sum* sums, Sum& rank) {
    int64_t k = 0;
    for (; sums[k] <= rank; ++k) rank = static_cast<Sum>(rank - sums[k]);
    return k;
  }

  void row(int64_t y, int64_t c) {
    alignas(64) Sum groups[kGroups] = {}, bins[kBins];
    int64_t valid_at[kGroups];  // the pixel for which the bins of a group are valid
    std::fill(valid_at, valid_at + kGroups, std::numeric_limits<int64_t>::min() / 2);
    for (int64_t x = begin_ - radius_x_; x <= begin_ + radius_x_; ++x)
      add(groups, coarse_ + column(x, c) * kGroups);
    uint8_t* to = out_ + (y * job_.width + begin_) * job_.channels + c;
    for (int64_t x = begin_; x < end_; ++x, to += job_.channels) {
      if (x > begin_)
        move(groups, coarse_ + column(x + radius_x_, c) * kGroups,
             coarse_ + column(x - radius_x_ - 1, c) * kGroups);
      Sum rank = rank_;
      const int64_t group = find(groups, rank);
      Sum* members = bins + group * kGroups;
      const Count* fine = fine_ + group * kGroups;
      if (x - valid_at[group] > radius_x_) {
        std::fill(members, members + kGroups, Sum{0});
        for (int64_t k = x - radius_x_; k <= x + radius_x_; ++k)
          add(members, fine + column(k, c) * kBins);
      } else {
        for (int64_t k = valid_at[group] + 1; k <= x; ++k)
          move(members, fine + column(k + radius_x_, c) * kBins,
               fine + column(k - radius_x_ - 1, c) * kBins);
      }
      valid_at[group] = x;
      *to = static_cast<uint8_t>(group * kGroups + find(members, rank));
    }
  }

  const MedianJob& job_;
  const uint8_t* in_;
  uint8_t* out_;
  int64_t radius_x_, radius_y_;
  Sum rank_;
  MedianStripes stripes_;
  Count *fine_, *coarse_;
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
