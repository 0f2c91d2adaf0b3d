// SPDX-License-Identifier: Apache-2.0
// fn.audio_resample: changes the sampling rate of a signal.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/argument.h"
#include "core/audio/audio_part.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/audio/resample_signal.h"
#include "kernels/audio/resample_signal_gpu.h"
#include "kernels/convert.h"
#include "ops/audio/resampling_reader.h"

namespace torchdali {
namespace {

constexpr DType kTypes[] = {DType::kInt8,  DType::kUInt8,  DType::kInt16, DType::kUInt16,
                            DType::kInt32, DType::kUInt32, DType::kFloat};

void check_type(DType dtype, const char* what) {
  if (std::find(std::begin(kTypes), std::end(kTypes), dtype) != std::end(kTypes)) return;
  std::string expected;
  for (DType t : kTypes) expected += str_cat(expected.empty() ? "" : ", ", dtype_name(t));
  raise(ErrorKind::kType, what, " is ", dtype_name(dtype), ", expected one of ", expected,
        to_fix("use fn.cast"));
}

// Of integers: the value that stands for 1.
float full_scale(DType dtype) {
  float scale = 1;
  if (dtype != DType::kFloat)
    dispatch_dtype(dtype,
                   [&]<class T>() { scale = static_cast<float>(std::numeric_limits<T>::max()); });
  return scale;
}
bool is_unsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32;
}

// Signed types have the range [-1, 1], unsigned ones [0, 1] where both are unsigned. The range is
// shifted before samples are resampled, so that what is outside of the signal, 0, is so in the
// range of the output, as in DALI.
kernels::SignalScale scale_between(DType in, DType out) {
  const double from = full_scale(in), to = full_scale(out);
  if (is_unsigned(in) == is_unsigned(out)) {
    return {.out = static_cast<float>(to / from)};
  }
  if (is_unsigned(out))
    return {.in = static_cast<float>(0.5 / from), .shift = 0.5f, .out = static_cast<float>(to)};
  return {.in = static_cast<float>(2 / from), .shift = -1.0f, .out = static_cast<float>(to)};
}

using Resampler = std::shared_ptr<const kernels::SignalResampler>;

class AudioResampleArgs {
 public:
  explicit AudioResampleArgs(const OpSpec& spec)
      : in_rate_(spec, "in_rate"),
        out_rate_(spec, "out_rate"),
        scale_(spec, "scale"),
        out_length_(spec, "out_length"),
        quality_(spec.get<float>("quality")),
        antialias_(spec.get<bool>("antialias")) {
    TORCHDALI_CHECK(in_rate_.given() == out_rate_.given(),
                    in_rate_.given() ? "`in_rate` was given without `out_rate`"
                                     : "`out_rate` was given without `in_rate`");
    const int ways =
        (in_rate_.given() ? 1 : 0) + (scale_.given() ? 1 : 0) + (out_length_.given() ? 1 : 0);
    TORCHDALI_CHECK(ways > 0, "no argument says how to change the sampling rate",
                    to_fix("give `in_rate` and `out_rate`, or `scale`, or `out_length`"));
    TORCHDALI_CHECK(ways == 1,
                    "`in_rate` with `out_rate`, `scale` and `out_length` exclude each other",
                    to_fix("leave all but one of them out"));
    check_resampling_quality(quality_);
    if (spec.has("dtype")) {
      dtype_ = spec.get<DType>("dtype");
      check_type(dtype_, "`dtype`");
    }
  }

  DType output_type(DType in) const { return dtype_ == DType::kNone ? in : dtype_; }

  struct Rates {
    double in, out;
    int64_t length;  // of the output
  };
  Rates rates(const SampleContext& ctx, int64_t length) const {
    if (out_length_.given()) {
      const int64_t wanted = out_length_(ctx);
      TORCHDALI_CHECK(wanted >= 0, "`out_length` must not be negative, got ", wanted);
      TORCHDALI_CHECK(wanted == 0 || length > 0, "cannot make ", wanted,
                      " samples (`out_length`) from an empty signal",
                      to_fix("leave out empty signals, or use `scale`"));
      return {static_cast<double>(length), static_cast<double>(wanted), wanted};
    }
    const double in = scale_.given() ? 1.0 : static_cast<double>(in_rate_(ctx));
    const double out = scale_.given() ? scale_(ctx) : out_rate_(ctx);
    if (scale_.given())
      TORCHDALI_CHECK(out >= 0 && std::isfinite(out),
                      "`scale` must not be negative or infinite, got ", out);
    return {in, out, resampled_length(length, in, out)};
  }

  // Checks the input and makes the output.
  Resampler operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kLayout, in.shape.ndim() == 1 || in.shape.ndim() == 2, "input `data` has ",
                         in.shape.ndim(), " dimensions, ", in.shape,
                         ", expected time, or time and channels",
                         to_fix("use fn.reshape or fn.squeeze"));
    check_type(in.dtype, "input `data`");
    const Rates rates = this->rates(ctx, in.shape[0]);
    Shape shape = in.shape;
    shape[0] = rates.length;
    ctx.output(0, output_type(in.dtype), shape, in.layout);
    return find_resampler(rates.in, rates.out, rates.length, quality_, antialias_);
  }

  float quality() const { return quality_; }
  bool antialias() const { return antialias_; }

 private:
  Arg<float> in_rate_, out_rate_, scale_;
  Arg<int64_t> out_length_;
  float quality_;
  bool antialias_;
  DType dtype_ = DType::kNone;
};

class AudioResample final : public Operator, public FiltersSignal {
 public:
  explicit AudioResample(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const Resampler resampler = args_(ctx);
    const SampleView& in = ctx.input(0);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() == 0) return;
    const int64_t channels = in.shape.ndim() == 2 ? in.shape[1] : 1;
    const kernels::SignalScale scale = scale_between(in.dtype, out.dtype);
    const float* from = load(ctx, in, scale);
    const bool direct = out.dtype == DType::kFloat;
    float* to =
        direct ? out.as<float>() : ctx.scratch<float>(static_cast<size_t>(out.volume())).data();
    resampler->resample(from, 0, in.shape[0], channels, 0, out.shape[0], to);
    if (scale.out != 1)
      for (int64_t i = 0; i < out.volume(); ++i) to[i] *= scale.out;
    if (!direct) kernels::converter(out.dtype, DType::kFloat)(out.data, to, out.volume());
  }

  std::unique_ptr<SignalReader> filter_signal(SampleContext& ctx, SignalReader& in) const override {
    if (args_.output_type(DType::kFloat) != DType::kFloat) return nullptr;
    const AudioResampleArgs::Rates rates = args_.rates(ctx, in.length());
    return resample_signal(in, rates.in, rates.out, rates.length, args_.quality(),
                           args_.antialias());
  }

 private:
  // The elements as float, in the range of the output.
  static const float* load(SampleContext& ctx, const SampleView& in,
                           const kernels::SignalScale& scale) {
    if (in.dtype == DType::kFloat && scale.shift == 0) return in.as<const float>();
    const std::span<float> samples = ctx.scratch<float>(static_cast<size_t>(in.volume()));
    kernels::converter(DType::kFloat, in.dtype)(samples.data(), in.data, in.volume());
    if (scale.shift != 0)
      for (float& x : samples) x = kernels::scaled_sample(scale, x);
    return samples.data();
  }

  AudioResampleArgs args_;
};

struct ResampleSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::ResampleSignalKernel> resample{*this};
  // Keeps addresses from being used again, for Blob::keep_once().
  std::vector<Resampler> used;
};

class AudioResampleGpu final : public gpu::StepsOperator<ResampleSteps> {
 public:
  explicit AudioResampleGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const Resampler resampler = args_(ctx);
    const SampleView& in = ctx.input(0);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() == 0) return;
    ResampleSteps& steps = this->steps(ctx);
    steps.used.push_back(resampler);
    gpu::ResampleSignalTask task;
    task.in = in.data;
    task.out = out.data;
    task.size = out.volume();
    task.in_dtype = in.dtype;
    task.out_dtype = out.dtype;
    task.length = in.shape[0];
    task.channels = in.shape.ndim() == 2 ? in.shape[1] : 1;
    task.steps = resampler->steps();
    task.weights = steps.blob.keep_once(resampler->weights());
    task.before = resampler->before();
    task.taps = resampler->taps();
    task.scale = scale_between(in.dtype, out.dtype);
    steps.resample.add(ctx, task);
  }

 private:
  AudioResampleArgs args_;
};

TORCHDALI_OPERATOR("audio_resample")
    .doc(
        "Changes the sampling rate of a signal, by a sinc function under a Hann window. The rate "
        "is "
        "given as `in_rate` and `out_rate`, as `scale`, or by `out_length`. Signals are silent "
        "before their start and after their end. The length is rounded up.")
    .input("data",
           "Signals: time, or time and channels; 8, 16 or 32-bit integers or float32. Any layout.")
    .output("resampled", "Layout and channels of the input.")
    .optional_arg(
        "dtype", ArgType::kDType,
        "Element type of the output; by default that of the input. The range of one type becomes "
        "the range of the other: -1 to 1 of float, the whole range of unsigned integers, and "
        "minus to plus the largest value of signed integers.")
    .optional_arg("in_rate", ArgType::kFloat,
                  "Sampling rate of the input, in any unit; with `out_rate`.", Arity::kPerSample)
    .optional_arg("out_rate", ArgType::kFloat, "Sampling rate of the output, in the same unit.",
                  Arity::kPerSample)
    .optional_arg("scale", ArgType::kFloat,
                  "Sampling rate of the output, as a multiple of that of the input.",
                  Arity::kPerSample)
    .optional_arg("out_length", ArgType::kInt,
                  "Length of the output in samples. The rate is changed by its ratio to the length "
                  "of the input.",
                  Arity::kPerSample)
    .arg("quality", 50.0f,
         "From 0 to 100: 0 is a filter of 3 lobes, 50 of 16, 100 of 64 lobes on each side.")
    .with(antialias_arg)
    .audio_role(AudioRole::kSignal)
    .cpu<AudioResample>()
    .gpu<AudioResampleGpu>();

}  // namespace
}  // namespace torchdali
