// SPDX-License-Identifier: Apache-2.0
// fn.time_stretch: changes the length of signals, but not their pitch.
#include <memory>
#include <span>

#include "core/argument.h"
#include "core/audio/audio_part.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/audio_augment/time_stretch_gpu.h"
#include "ops/audio/memory_signal.h"
#include "ops/audio_augment/stretched_signal.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

// What both halves do first.
class TimeStretchArgs {
 public:
  explicit TimeStretchArgs(const OpSpec& spec)
      : layout_(spec, 0),
        rate_(spec, "rate"),
        window_length_(spec, "window_length"),
        search_(spec, "search") {}

  Stretching operator()(const SampleContext& ctx, int64_t frames, int64_t channels) const {
    Stretching result{.rate = rate_(ctx), .frames = frames, .channels = channels};
    TORCHDALI_CHECK(result.rate >= 0.1 && result.rate <= 10, "`rate` is ", result.rate,
                    ", expected 0.1 to 10");
    constexpr int64_t kMost = 65536;
    const int64_t window = window_length_(ctx);
    TORCHDALI_CHECK(window >= 2 && window <= kMost, "`window_length` is ", window,
                    ", expected 2 to ", kMost);
    result.overlap = window / 2;
    result.search = search_.given() ? search_(ctx) : window / 4;
    TORCHDALI_CHECK(result.search >= 0 && result.search <= kMost, "`search` is ", result.search,
                    ", expected 0 to ", kMost);
    return result;
  }
  // Checks the input and makes the output.
  Stretching make_output(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `audio` is ",
                         dtype_name(in.dtype), ", expected float32",
                         to_fix("use fn.cast, or decode with dtype=types.FLOAT"));
    const int64_t channels = in.shape.ndim() == 2 ? in.shape[1] : 1;
    // All channels of some windows are in scratch memory.
    constexpr int64_t kMostChannels = 1024;
    TORCHDALI_CHECK(channels <= kMostChannels, "input `audio` has ", channels,
                    " channels, at most ", kMostChannels, " are possible",
                    to_fix("if these are its samples, use fn.transpose"));
    const Stretching result = (*this)(ctx, in.shape[0], channels);
    Shape shape = in.shape;
    shape[0] = result.output_frames();
    ctx.output(0, in.dtype, shape, layout);
    return result;
  }

 private:
  InputLayout layout_;
  Arg<double> rate_;
  Arg<int64_t> window_length_, search_;
};

class TimeStretch final : public Operator, public FiltersSignal {
 public:
  explicit TimeStretch(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const Stretching stretching = args_.make_output(ctx);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() == 0) return;
    const SampleView& in = ctx.input(0);
    MemorySignal signal(in.as<const float>(), in.volume());
    StretchedSignal(ctx, signal, stretching).read(out.as<float>(), out.volume());
  }

  std::unique_ptr<SignalReader> filter_signal(SampleContext& ctx, SignalReader& in) const override {
    return std::make_unique<StretchedSignal>(ctx, in, args_(ctx, in.length(), 1));
  }

 private:
  TimeStretchArgs args_;
};

class TimeStretchGpu final : public gpu::KernelOperator<gpu::TimeStretchKernel> {
 public:
  explicit TimeStretchGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const Stretching stretching = args_.make_output(ctx);
    const SampleView& out = ctx.output_view(0);
    if (out.volume() == 0) return;
    Task task;
    task.in = ctx.input(0).data;
    task.out = out.data;
    task.size = 1;
    task.rate = stretching.rate;
    task.frames = stretching.frames;
    task.channels = stretching.channels;
    task.overlap = stretching.overlap;
    task.search = stretching.search;
    task.output_frames = stretching.output_frames();
    constexpr int64_t kMostSegments = (int64_t{1} << 31) / 3 - 1;
    TORCHDALI_CHECK_KIND(kUnsupported, task.segments() <= kMostSegments, "the output has ",
                         task.segments(), " windows, on the GPU at most ", kMostSegments,
                         " are possible", to_fix("use a larger `window_length`, or the CPU"));
    const auto weights = ctx.scratch<float>(static_cast<size_t>(task.overlap));
    make_fade(weights);
    task.weights = blob(ctx).keep(std::span<const float>(weights));
    tasks(ctx).add(ctx, task);
  }

 private:
  TimeStretchArgs args_;
};

TORCHDALI_OPERATOR("time_stretch")
    .doc(
        "Changes the speed of signals without changing their pitch, by WSOLA (Verhelst and "
        "Roelands, 1993): overlapping windows of the input are added at a distance that differs "
        "from theirs in the input, each from where it is most similar to what it overlaps with. "
        "fn.audio_resample(scale=1 / rate) changes both speed and pitch.")
    .input("audio", "Signals; float32. Channels are moved together.", {"t", "tc"})
    .output("stretched",
            "round(length / rate) frames; otherwise the shape and layout of the input.")
    .required_arg("rate", ArgType::kFloat, "The speed, from 0.1 to 10: 2 halves the length.",
                  Arity::kPerSample)
    .arg("window_length", int64_t{512},
         "Length of the windows, of which each overlaps half of the next. The default is 32 ms at "
         "16 kHz, and should grow with the sample rate.",
         Arity::kPerSample)
    .optional_arg("search", ArgType::kInt,
                  "How far a window may be from its nominal position. At least half a period of "
                  "the lowest pitch; by default, a quarter of `window_length`.",
                  Arity::kPerSample)
    .audio_role(AudioRole::kSignal)
    .cpu<TimeStretch>()
    .gpu<TimeStretchGpu>();

}  // namespace
}  // namespace torchdali
