// SPDX-License-Identifier: Apache-2.0
// fn.spec_augment: masks random ranges of time and of frequency.
// Source of the policy: Park et al., "SpecAugment: A Simple Data Augmentation Method for Automatic
// Speech Recognition", 2019, section 2.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>

#include "core/argument.h"
#include "core/audio/audio_part.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/audio_augment/level.h"
#include "kernels/audio_augment/spec_augment_gpu.h"
#include "ops/audio/frame_arrays.h"
#include "ops/audio_augment/level_tasks.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

using gpu::MaskedRange;
using kernels::Level;

struct Masks {
  std::span<const MaskedRange> frequency, time;
  float value = 0;
  bool empty() const { return frequency.empty() && time.empty(); }
};

// What both halves do first.
class SpecAugmentArgs {
 public:
  explicit SpecAugmentArgs(const OpSpec& spec)
      : layout_(spec, 0),
        freq_masks_(spec, "freq_masks"),
        freq_width_(spec, "freq_width"),
        time_masks_(spec, "time_masks"),
        time_width_(spec, "time_width"),
        time_ratio_(spec, "time_ratio"),
        value_(spec, "value"),
        fill_mean_(spec.get<bool>("fill_mean")) {
    TORCHDALI_CHECK(!fill_mean_ || !spec.has("value"),
                    "`value` and `fill_mean` exclude each other");
  }
  // Whether masked elements are the mean of the sample.
  bool fill_mean() const { return fill_mean_; }

  // The masks of this sample; in its scratch memory.
  Masks draw(SampleContext& ctx, int64_t rows, int64_t frames) const {
    const int64_t freq_masks = number(ctx, freq_masks_, "freq_masks", kMostMasks),
                  time_masks = number(ctx, time_masks_, "time_masks", kMostMasks);
    const double ratio = time_ratio_(ctx);
    TORCHDALI_CHECK(ratio >= 0 && ratio <= 1, "`time_ratio` is ", ratio, ", expected 0 to 1");
    const auto most = static_cast<int64_t>(ratio * static_cast<double>(frames));
    const int64_t time_width = std::min(number(ctx, time_width_, "time_width", kMostWidth), most),
                  freq_width = number(ctx, freq_width_, "freq_width", kMostWidth);
    Masks masks;
    masks.value = value_(ctx);
    TORCHDALI_CHECK(std::isfinite(masks.value), "`value` is ", masks.value,
                    ", expected a finite number");
    auto ranges = ctx.scratch<MaskedRange>(static_cast<size_t>(freq_masks + time_masks));
    RandomStream random = ctx.random();
    masks.frequency = draw(random, ranges.first(static_cast<size_t>(freq_masks)), freq_width, rows);
    masks.time = draw(random, ranges.subspan(static_cast<size_t>(freq_masks)), time_width, frames);
    return masks;
  }
  // Checks the input. Returns its layout.
  Layout check(const SampleView& in) const {
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `spectrogram` is ",
                         dtype_name(in.dtype), ", expected float32", to_fix("use fn.cast"));
    return layout;
  }
  // Draws the masks and makes the output. False if the input is the result.
  bool operator()(SampleContext& ctx, Masks& masks) const {
    SampleView in = ctx.input(0);
    in.layout = check(in);
    masks = draw(ctx, in.shape[in.layout.find('f')], in.shape[in.layout.find('t')]);
    if (in.volume() == 0 || masks.empty()) {
      ctx.share_input(0, 0, in);
      return false;
    }
    ctx.output(0, in.dtype, in.shape, in.layout);
    return true;
  }

 private:
  static constexpr int64_t kMostMasks = 255, kMostWidth = int64_t{1} << 40;

  static int64_t number(const SampleContext& ctx, const Arg<int64_t>& arg, const char* name,
                        int64_t most) {
    const int64_t value = arg(ctx);
    TORCHDALI_CHECK(value >= 0 && value <= most, "`", name, "` is ", value, ", expected 0 to ",
                    most);
    return value;
  }
  // Returns those that are not empty.
  static std::span<const MaskedRange> draw(RandomStream& random, std::span<MaskedRange> ranges,
                                           int64_t width, int64_t extent) {
    size_t used = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      const int64_t masked = random.uniform_int(0, std::min(width, extent));
      const int64_t begin = random.uniform_int(0, extent - masked);
      if (masked > 0) ranges[used++] = {.begin = begin, .end = begin + masked};
    }
    return ranges.first(used);
  }

  InputLayout layout_;
  Arg<int64_t> freq_masks_, freq_width_, time_masks_, time_width_;
  Arg<double> time_ratio_;
  Arg<float> value_;
  bool fill_mean_;
};

class MaskedFrames final : public FrameReader {
 public:
  MaskedFrames(FrameReader& in, const Masks& masks)
      : FrameReader(in.rows(), in.frames()), in_(in), masks_(masks) {}
  void read(float* tile) override {
    in_.read(tile);
    for (const MaskedRange& m : masks_.frequency)
      std::fill(tile + m.begin * kFrameLanes, tile + m.end * kFrameLanes, masks_.value);
    for (const MaskedRange& m : masks_.time) {
      const int64_t begin = std::max<int64_t>(m.begin - frame_, 0),
                    end = std::min<int64_t>(m.end - frame_, kFrameLanes);
      if (begin >= end) continue;
      for (int64_t row = 0; row < rows(); ++row)
        std::fill(tile + row * kFrameLanes + begin, tile + row * kFrameLanes + end, masks_.value);
    }
    frame_ += kFrameLanes;
  }

 private:
  FrameReader& in_;
  Masks masks_;
  int64_t frame_ = 0;  // the next one
};

class SpecAugment final : public Operator, public FiltersFrames {
 public:
  explicit SpecAugment(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    Masks masks;
    if (!args_(ctx, masks)) return;
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    const auto* from = in.as<const float>();
    float value = masks.value;
    if (args_.fill_mean()) {
      const int64_t count = in.volume();
      const double sum = kernels::signal_level(Level::kSum, {.data = from, .period = count}, count);
      value = static_cast<float>(sum / static_cast<double>(count));
    }
    const bool time_first = out.layout.find('t') == 0;
    const auto rows = time_first ? masks.time : masks.frequency,
               columns = time_first ? masks.frequency : masks.time;
    auto* to = out.as<float>();
    const int64_t height = in.shape[0], width = in.shape[1];
    for (int64_t y = 0; y < height; ++y, from += width, to += width) {
      const auto has_row = [y](const MaskedRange& m) { return y >= m.begin && y < m.end; };
      if (std::any_of(rows.begin(), rows.end(), has_row)) {
        std::fill(to, to + width, value);
        continue;
      }
      std::memcpy(to, from, static_cast<size_t>(width) * sizeof(float));
      for (const MaskedRange& m : columns) std::fill(to + m.begin, to + m.end, value);
    }
  }

  void write_frames(SampleContext& ctx, FrameReader& in, bool time_first) const override {
    store_frames(ctx, in, time_first);
  }
  std::unique_ptr<FrameReader> filter_frames(SampleContext& ctx, FrameReader& in,
                                             bool /*time_first*/) const override {
    if (args_.fill_mean()) return nullptr;  // needs the whole spectrogram first
    return std::make_unique<MaskedFrames>(in, args_.draw(ctx, in.rows(), in.frames()));
  }

 private:
  SpecAugmentArgs args_;
};

struct SpecAugmentSteps final : gpu::TaskBatch {
  LevelTasks levels{*this};
  gpu::Tasks<gpu::SpecAugmentKernel> masks{*this};
};

class SpecAugmentGpu final : public gpu::StepsOperator<SpecAugmentSteps> {
 public:
  explicit SpecAugmentGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    Masks masks;
    if (!args_(ctx, masks)) return;
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    const bool time_first = out.layout.find('t') == 0;
    const auto rows = time_first ? masks.time : masks.frequency,
               columns = time_first ? masks.frequency : masks.time;
    auto all = ctx.scratch<MaskedRange>(rows.size() + columns.size());
    std::copy(columns.begin(), columns.end(), std::copy(rows.begin(), rows.end(), all.begin()));
    gpu::SpecAugmentTask task;
    task.in = in.data;
    task.out = out.data;
    task.size = in.volume();
    task.columns = in.shape[1];
    task.row_masks = static_cast<int>(rows.size());
    task.column_masks = static_cast<int>(columns.size());
    task.masks = steps(ctx).blob.keep(std::span<const MaskedRange>(all));
    task.value = masks.value;
    if (args_.fill_mean())
      task.sum = steps(ctx).levels.add(
          Level::kSum, {.data = in.as<const float>(), .period = task.size}, task.size);
    steps(ctx).masks.add(ctx, task);
  }

 private:
  SpecAugmentArgs args_;
};

TORCHDALI_OPERATOR("spec_augment")
    .doc(
        "Masks random ranges of frequencies and of frames, as SpecAugment does (Park et al., "
        "2019): each mask has a width that is uniform from 0 to its limit, both included, and a "
        "uniform position at which it fits. Masks may overlap. Defaults are those of the policy "
        "\"LD\". The paper's warping along time, which it found to have little effect, is left "
        "out.")
    .input("spectrogram", "Spectrograms, or features computed from them; float32.", {"ft", "tf"})
    .output("masked", "Shape and layout of the input. A view if nothing is masked.")
    .arg("freq_masks", int64_t{2}, "Number of frequency masks; at most 255.", Arity::kPerSample)
    .arg("freq_width", int64_t{27}, "Largest width of a frequency mask, in rows: F of the paper.",
         Arity::kPerSample)
    .arg("time_masks", int64_t{2}, "Number of time masks; at most 255.", Arity::kPerSample)
    .arg("time_width", int64_t{100}, "Largest width of a time mask, in frames: T of the paper.",
         Arity::kPerSample)
    .arg("time_ratio", 1.0,
         "Largest width of a time mask as a part of the frames, from 0 to 1: p of the paper. The "
         "smaller of both limits counts.",
         Arity::kPerSample)
    .arg("value", 0.0f, "Value of masked elements.", Arity::kPerSample)
    .arg("fill_mean", false, "Masked elements are the mean of the sample, before it is masked.")
    .random()
    .audio_role(AudioRole::kFrames)
    .cpu<SpecAugment>()
    .gpu<SpecAugmentGpu>();

}  // namespace
}  // namespace torchdali
