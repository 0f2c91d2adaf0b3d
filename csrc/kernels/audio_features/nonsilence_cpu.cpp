// SPDX-License-Identifier: Apache-2.0
// nonsilence.h, once per instruction set. Only blocks that can matter are looked at closely: the
// sums of blocks bound those of windows.
#include "kernels/audio_features/nonsilence.h"

#define TORCHDALI_ISA_FILE "kernels/audio_features/nonsilence_cpu.cpp"
#include "kernels/foreach_isa.h"

namespace torchdali::kernels {
namespace TORCHDALI_ISA_NAMESPACE {

class Windows {
 public:
  Windows(const float* signal, const MovingPower& power, double* work)
      : signal_(signal), power_(power), sums_(work), suffixes_(work + power.blocks()) {
    for (int64_t b = 0; b < power.blocks(); ++b) {
      const float* x = signal + power.begin_of(b);
      sums_[b] =
          sum_of_squares(power.end_of(b) - power.begin_of(b), [x](int64_t i) { return x[i]; });
    }
  }
  // Whether a window that ends in block `b` may have this sum. True for NaN.
  bool may_reach(int64_t b, double sum) const {
    constexpr double kRounding = 1 + 1e-6;
    return !(power_.bound(b, sums_) * kRounding < sum);
  }
  template <class Visit>
  void visit(int64_t b, Visit&& visit) const {
    const auto load = [this](int64_t i) { return signal_[i]; };
    const int64_t first = power_.first_block_for(b), begin = power_.begin_of(first);
    if (!power_.is_short())
      for (int64_t k = first; k <= std::min(first + 1, b); ++k)
        visit_suffixes(power_, k, load, [&](int64_t i, double sum) { suffixes_[i - begin] = sum; });
    visit_windows(power_, b, sums_, load, [&](int64_t i) { return suffixes_[i - begin]; }, visit);
  }
  double greatest() const {
    int64_t best = 0;
    double bound = 0, most = 0;
    for (int64_t b = 0; b < power_.blocks(); ++b) {
      const double of_block = power_.bound(b, sums_);
      if (!(of_block > bound)) continue;
      bound = of_block;
      best = b;
    }
    const auto look_at = [&](int64_t b) {
      visit(b, [&](int64_t, double sum) { most = sum > most ? sum : most; });
    };
    if (power_.blocks() > 0) look_at(best);
    for (int64_t b = 0; b < power_.blocks(); ++b)
      if (b != best && may_reach(b, most)) look_at(b);
    return most;
  }

 private:
  const float* signal_;
  const MovingPower& power_;
  double* sums_;
  double* suffixes_;  // of two blocks
};

NonsilentRegion find_nonsilent(const float* signal, const MovingPower& power,
                               const SilenceLevel& level, double* work) {
  const Windows windows(signal, power, work);
  const double reference = level.reference > 0 ? level.reference * static_cast<double>(power.window)
                                               : windows.greatest();
  const double least = reference * level.ratio;
  int64_t first = -1, last = -1;
  for (int64_t b = 0; b < power.blocks() && first < 0; ++b) {
    if (!windows.may_reach(b, least)) continue;
    windows.visit(b, [&](int64_t i, double sum) {
      if (first < 0 && sum >= least) first = i;
    });
  }
  if (first < 0) return {};
  for (int64_t b = power.blocks(); b-- > 0 && last < 0;) {
    if (!windows.may_reach(b, least)) continue;
    windows.visit(b, [&](int64_t i, double sum) {
      if (sum >= least) last = i;
    });
  }
  return region_of(first, last, power.window);
}

}  // namespace TORCHDALI_ISA_NAMESPACE
#if TORCHDALI_ISA_LAST
int64_t nonsilence_work(const MovingPower& power) { return power.blocks() + 2 * power.block; }
NonsilentRegion find_nonsilent(const float* signal, const MovingPower& power,
                               const SilenceLevel& level, double* work) {
  return TORCHDALI_ISA_PICK(find_nonsilent)(signal, power, level, work);
}
#endif
}  // namespace torchdali::kernels
