// SPDX-License-Identifier: Apache-2.0
// fn.mel_filter_bank: from the frequencies of frames to bands on the mel scale.
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "core/operator.h"
#include "gpu/audio_chain.h"
#include "gpu/operator.h"
#include "kernels/audio_features/mel.h"
#include "kernels/audio_features/mel_gpu.h"
#include "ops/audio/frame_arrays.h"

namespace torchdali {
namespace {

using kernels::MelBank;
using kernels::MelFormula;

MelFormula formula_of(const std::string& name) {
  TORCHDALI_CHECK(name == "slaney" || name == "htk", "argument `mel_formula` is \"", name,
                  "\", expected \"slaney\" or \"htk\"");
  return name == "htk" ? MelFormula::kHtk : MelFormula::kSlaney;
}

class MelArgs {
 public:
  explicit MelArgs(const OpSpec& spec) {
    const float rate = spec.get<float>("sample_rate"), low = spec.get<float>("freq_low");
    const float given = spec.get<float>("freq_high"), high = given <= 0 ? rate / 2 : given;
    const int filters = spec.get<int>("nfilter");
    constexpr int kMost = 1 << 20;
    TORCHDALI_CHECK(filters > 0 && filters <= kMost, "argument `nfilter` is ", filters,
                    ", expected a number from 1 to ", kMost);
    TORCHDALI_CHECK(rate > 0 && std::isfinite(rate), "argument `sample_rate` is ", rate,
                    ", expected a positive number of Hz");
    TORCHDALI_CHECK(low >= 0, "argument `freq_low` is ", low, ", expected at least 0 Hz");
    TORCHDALI_CHECK(high > low && high <= rate, "argument `freq_high` is ", given, " (", high,
                    " Hz), expected more than `freq_low` (", low,
                    " Hz) and at most `sample_rate` (", rate, " Hz)",
                    to_fix("0 stands for half of the sample rate"));
    filters_ = {.filters = filters,
                .sample_rate = rate,
                .low = low,
                .high = high,
                .formula = formula_of(spec.get<std::string>("mel_formula")),
                .normalize = spec.get<bool>("normalize")};
  }

  // The axis with the frequencies.
  int axis(const SampleView& in) const {
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `spectrogram` is ",
                         dtype_name(in.dtype), ", expected float32", to_fix("use fn.cast"));
    const int ndim = in.shape.ndim();
    if (!in.layout.empty()) {
      const int axis = in.layout.find('f');
      TORCHDALI_CHECK_KIND(kLayout, axis >= 0, "input `spectrogram` has layout ", in.layout,
                           ", expected one with the axis \"f\" (frequencies)",
                           to_fix("name the axes with fn.reshape(..., layout=\"ft\")"));
      return axis;
    }
    TORCHDALI_CHECK(ndim > 0, "input `spectrogram` is a scalar, expected at least one dimension");
    return std::max(ndim - 2, 0);
  }
  SampleView& make_output(SampleContext& ctx, int axis) const {
    const SampleView& in = ctx.input(0);
    Shape shape = in.shape;
    shape[axis] = filters_.filters;
    return ctx.output(0, DType::kFloat, shape, in.layout);
  }
  // The filters for a number of frequencies. Only those made last are kept, because samples could
  // have any number.
  std::shared_ptr<const MelBank> bank(int64_t bins) const {
    constexpr int64_t kMost = int64_t{1} << 30;
    TORCHDALI_CHECK(bins <= kMost, "input `spectrogram` has ", bins, " frequencies, at most ",
                    kMost, " are possible");
    const std::lock_guard lock(mutex_);
    if (!bank_ || bank_->bins != bins)
      bank_ = std::make_shared<const MelBank>(kernels::make_mel_bank(filters_, bins));
    return bank_;
  }
  int64_t filters() const { return filters_.filters; }

 private:
  kernels::MelFilters filters_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const MelBank> bank_;
};

class MelFilterBank final : public Operator, public FiltersFrames {
 public:
  explicit MelFilterBank(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const int axis = args_.axis(in);
    const auto bank = args_.bank(in.shape[axis]);
    SampleView& out = args_.make_output(ctx, axis);
    if (out.volume() == 0) return;
    filter_array(
        ctx, out.as<float>(), args_.filters(), in.as<const float>(), {in.shape, axis},
        [&](auto to, auto from, int64_t frames) { kernels::apply_mel(to, from, frames, *bank); });
  }
  void write_frames(SampleContext& ctx, FrameReader& in, bool time_first) const override {
    store_frames(ctx, in, time_first);
  }
  std::unique_ptr<FrameReader> filter_frames(SampleContext& ctx, FrameReader& in,
                                             bool /*time_first*/) const override {
    return filtered_frames(ctx, in, args_.filters(),
                           [bank = args_.bank(in.rows())](float* to, const float* from) {
                             kernels::apply_mel({to}, {from}, kFrameLanes, *bank);
                           });
  }

 private:
  MelArgs args_;
};

struct MelSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::MelKernel> tasks{*this};
  std::vector<std::shared_ptr<const MelBank>> banks;  // whose lists are in the blob
};

class MelFilterBankGpu final : public gpu::StepsOperator<MelSteps>,
                               public gpu::FiltersFramesInChain {
 public:
  explicit MelFilterBankGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    MelSteps& steps = StepsOperator::steps(ctx);
    const SampleView& in = ctx.input(0);
    const int axis = args_.axis(in);
    const auto bank = args_.bank(in.shape[axis]);
    const SampleView& out = args_.make_output(ctx, axis);
    gpu::MelTask task;
    task.in = in.data;
    task.out = out.data;
    task.size = out.volume();
    task.bins = bank->bins;
    task.filters = bank->filters;
    task.inner = FrameAxis(in.shape, axis).inner;
    task.start = steps.blob.keep_once(std::span(bank->start));
    task.rising = steps.blob.keep_once(std::span(bank->rising));
    task.falling = steps.blob.keep_once(std::span(bank->falling));
    if (steps.banks.empty() || steps.banks.back() != bank) steps.banks.push_back(bank);
    steps.tasks.add(ctx, task);
  }
  bool describe_filter(const SampleContext& ctx, gpu::Blob& blob,
                       gpu::SpectrogramTask& task) const override {
    if (task.filters || task.decibels) return false;
    const SampleView& in = ctx.input(0);
    // All spectrograms of a chain have the same number of frequencies, so the bank is kept.
    const auto bank = args_.bank(in.shape[args_.axis(in)]);
    task.filters = true;
    task.rows = bank->filters;
    task.start = blob.keep_once(std::span(bank->start));
    task.rising = blob.keep_once(std::span(bank->rising));
    task.falling = blob.keep_once(std::span(bank->falling));
    return true;
  }

 private:
  MelArgs args_;
};

TORCHDALI_OPERATOR("mel_filter_bank")
    .doc(
        "Converts spectrograms to the mel scale: sums of frequencies, weighted by triangular "
        "filters whose peaks have equal distances in mel.")
    .input("spectrogram",
           "Spectrograms, float32. The frequencies, from 0 to half of the sample rate, are along "
           "axis \"f\" of the layout. Without a layout they are along the last but one axis.")
    .output("mel", "The input's layout and shape, with `nfilter` bands instead of frequencies.")
    .arg("nfilter", 128, "The number of filters.")
    .arg("sample_rate", 44100.0f, "The sample rate of the signal, in Hz.")
    .arg("freq_low", 0.0f, "Where the first filter begins, in Hz.")
    .arg("freq_high", 0.0f, "Where the last filter ends, in Hz. 0: half of the sample rate.")
    .arg("normalize", true,
         "Divides each filter by half of its width in Hz, so that all have the "
         "same area.")
    .arg("mel_formula", "slaney",
         "The mel scale: \"slaney\" (Auditory Toolbox: linear up to 1000 Hz, then logarithmic) or "
         "\"htk\" (2595 * log10(1 + f / 700)).")
    .audio_role(AudioRole::kFrames)
    .cpu<MelFilterBank>()
    .gpu<MelFilterBankGpu>();

}  // namespace
}  // namespace torchdali
