// SPDX-License-Identifier: Apache-2.0
#include "ops/audio/resampling_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.h"

namespace torchdali {
namespace {

// Samples of the input between the positions of outputs that are made at once.
constexpr int64_t kSpan = 8192;

class ResamplingReader final : public SignalReader {
 public:
  ResamplingReader(SignalReader& in, std::shared_ptr<const kernels::SignalResampler> resampler,
                   int64_t length)
      : SignalReader(length),
        in_(in),
        resampler_(std::move(resampler)),
        block_(resampler_->outputs_within(kSpan)),
        capacity_(kSpan + 1 + resampler_->taps()),
        held_(std::make_unique_for_overwrite<float[]>(static_cast<size_t>(capacity_))) {}

  void read(float* out, int64_t count) override {
    while (count > 0) {
      const int64_t n = std::min(count, block_);
      hold(resampler_->first_input(next_),
           resampler_->first_input(next_ + n - 1) + resampler_->taps());
      resampler_->resample(held_.get(), begin_, end_ - begin_, 1, next_, n, out);
      next_ += n, out += n, count -= n;
    }
  }

 private:
  // Reads until the samples [begin, end) of the input are held, as far as there are any.
  void hold(int64_t begin, int64_t end) {
    begin = std::clamp(begin, begin_, in_.length());
    end = std::clamp(end, end_, in_.length());
    if (begin < end_) {
      std::memmove(held_.get(), held_.get() + (begin - begin_),
                   static_cast<size_t>(end_ - begin) * sizeof(float));
      begin_ = begin;
    } else {
      while (end_ < begin) {  // samples that no output depends on
        const int64_t skipped = std::min(begin - end_, capacity_);
        in_.read(held_.get(), skipped);
        end_ += skipped;
      }
      begin_ = end_;
    }
    if (end > end_) in_.read(held_.get() + (end_ - begin_), end - end_);
    end_ = std::max(end, end_);
  }

  SignalReader& in_;
  const std::shared_ptr<const kernels::SignalResampler> resampler_;
  const int64_t block_;  // outputs
  const int64_t capacity_;
  const std::unique_ptr<float[]> held_;
  int64_t begin_ = 0, end_ = 0;  // the samples in held_
  int64_t next_ = 0;             // output
};

}  // namespace

int64_t resampled_length(int64_t length, double in_rate, double out_rate) {
  TORCHDALI_CHECK(in_rate > 0 && std::isfinite(in_rate),
                  "the sampling rate of the input must be positive and finite, got ", in_rate);
  TORCHDALI_CHECK(out_rate >= 0 && std::isfinite(out_rate),
                  "the sampling rate of the output must not be negative or infinite, got ",
                  out_rate);
  const double result = std::ceil(static_cast<double>(length) * out_rate / in_rate);
  TORCHDALI_CHECK(result < 0x1p53, "a signal of ", length, " samples would have ", result,
                  " samples at ", out_rate / in_rate, " times its sampling rate");
  return static_cast<int64_t>(result);
}

void check_resampling_quality(double quality) {
  TORCHDALI_CHECK(quality >= 0 && quality <= 100, "`quality` must be between 0 and 100, got ",
                  quality);
}

std::shared_ptr<const kernels::SignalResampler> find_resampler(double in_rate, double out_rate,
                                                               int64_t out_length, double quality,
                                                               bool antialias) {
  if (out_length == 0) in_rate = out_rate = 1;  // any will do; the rate may be 0
  auto resampler = kernels::SignalResampler::find(
      {.in = in_rate, .out = out_rate, .quality = quality, .antialias = antialias});
  TORCHDALI_CHECK(out_length <= resampler->most_outputs(), "cannot compute ", out_length,
                  " samples at a rate of ", out_rate, " from a rate of ", in_rate, ", at most ",
                  resampler->most_outputs());
  return resampler;
}

std::unique_ptr<SignalReader> resample_signal(SignalReader& in, double in_rate, double out_rate,
                                              int64_t out_length, double quality, bool antialias) {
  return std::make_unique<ResamplingReader>(
      in, find_resampler(in_rate, out_rate, out_length, quality, antialias), out_length);
}

}  // namespace torchdali
