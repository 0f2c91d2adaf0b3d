// SPDX-License-Identifier: Apache-2.0
// fn.nonsilent_region: where a signal begins and ends to be louder than silence.
#include <cmath>
#include <limits>

#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/audio_features/nonsilence.h"
#include "kernels/audio_features/nonsilence_gpu.h"
#include "kernels/convert.h"

namespace torchdali {
namespace {

using kernels::MovingPower;
using kernels::SilenceLevel;

class SilenceArgs {
 public:
  explicit SilenceArgs(const OpSpec& spec) : window_(spec.get<int64_t>("window_length")) {
    const float cutoff = spec.get<float>("cutoff_db"),
                reference = spec.get<float>("reference_power");
    const auto reset = spec.get<int64_t>("reset_interval");
    TORCHDALI_CHECK(window_ > 0, "argument `window_length` is ", window_,
                    ", expected a positive number");
    TORCHDALI_CHECK(reset == -1 || reset > 0, "argument `reset_interval` is ", reset,
                    ", expected -1 or a positive number");
    TORCHDALI_CHECK(std::isfinite(cutoff), "argument `cutoff_db` is ", cutoff,
                    ", expected a finite number");
    TORCHDALI_CHECK(reference >= 0 && std::isfinite(reference), "argument `reference_power` is ",
                    reference, ", expected a positive number, or 0 for the maximum of the sample");
    level_ = {.ratio = std::pow(10.0, static_cast<double>(cutoff) / 10), .reference = reference};
  }
  MovingPower power(const SampleView& in) const {
    TORCHDALI_CHECK_KIND(
        kType, in.dtype == DType::kFloat || (!is_floating(in.dtype) && in.dtype != DType::kBool),
        "input `audio` is ", dtype_name(in.dtype), ", expected float32 or an integer type",
        to_fix("use fn.cast"));
    TORCHDALI_CHECK(in.shape.ndim() == 1, "input `audio` has shape ", in.shape,
                    ", expected one dimension (one channel)",
                    to_fix("decode with downmix=True, or use fn.squeeze"));
    TORCHDALI_CHECK(in.shape[0] <= std::numeric_limits<int32_t>::max(), "input `audio` has ",
                    in.shape[0], " samples; positions are int32");
    return {in.shape[0], window_};
  }
  const SilenceLevel& level() const { return level_; }
  static SampleView& make_output(SampleContext& ctx, int i) {
    return ctx.output(i, DType::kInt32, {});
  }

 private:
  int64_t window_;
  SilenceLevel level_;
};

class NonsilentRegion final : public Operator {
 public:
  explicit NonsilentRegion(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const MovingPower power = args_.power(in);
    const auto* signal = in.as<const float>();
    if (in.dtype != DType::kFloat) {
      float* const floats = ctx.scratch<float>(static_cast<size_t>(power.length)).data();
      kernels::converter(DType::kFloat, in.dtype)(floats, in.data, power.length);
      signal = floats;
    }
    double* const work =
        ctx.scratch<double>(static_cast<size_t>(kernels::nonsilence_work(power))).data();
    const auto region = kernels::find_nonsilent(signal, power, args_.level(), work);
    *SilenceArgs::make_output(ctx, 0).as<int32_t>() = static_cast<int32_t>(region.begin);
    *SilenceArgs::make_output(ctx, 1).as<int32_t>() = static_cast<int32_t>(region.length);
  }

 private:
  SilenceArgs args_;
};

struct NonsilenceSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::BlockSumsKernel> sums{*this};
  gpu::Tasks<gpu::GreatestWindowsKernel> of_blocks{*this};
  gpu::Tasks<gpu::GreatestWindowKernel> greatest{*this};
  gpu::Tasks<gpu::NonsilentEndsKernel> ends{*this};
  gpu::Tasks<gpu::NonsilentRegionKernel> regions{*this};
};

class NonsilentRegionGpu final : public gpu::StepsOperator<NonsilenceSteps> {
 public:
  explicit NonsilentRegionGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    NonsilenceSteps& steps = StepsOperator::steps(ctx);
    const SampleView& in = ctx.input(0);
    gpu::NonsilenceTask task;
    task.power = args_.power(in);
    task.level = args_.level();
    task.in = in.data;
    task.dtype = in.dtype;
    const int64_t blocks = task.power.blocks();
    const auto reserve = [&]<class T>(const T*& list, int64_t count) {
      list =
          static_cast<const T*>(steps.workspace.reserve(count * static_cast<int64_t>(sizeof(T))));
    };
    const auto into = [&](const void* list, int64_t size) -> const gpu::NonsilenceTask& {
      task.out = const_cast<void*>(list);
      task.size = size;
      return task;
    };
    reserve(task.sums, blocks + (task.power.is_short() ? 0 : task.power.length));
    reserve(task.greatest, blocks + 1);
    reserve(task.ends, 2 * blocks);
    steps.sums.add_intermediate(into(task.sums, blocks));
    if (task.level.reference == 0) {
      steps.of_blocks.add_intermediate(into(task.greatest, blocks));
      steps.greatest.add_intermediate(into(task.greatest + blocks, 1));
    }
    steps.ends.add_intermediate(into(task.ends, blocks));
    for (int i = 0; i < 2; ++i) {
      task.length = i == 1;
      steps.regions.add(ctx, into(SilenceArgs::make_output(ctx, i).data, 1), i);
    }
  }

 private:
  SilenceArgs args_;
};

TORCHDALI_OPERATOR("nonsilent_region")
    .doc(
        "Finds where a signal is not silent: from the first to the last window whose mean square "
        "is at least `cutoff_db` relative to a reference. Both windows belong to the region.")
    .input("audio", "One channel, one dimension: float32 or integers.")
    .output("begin", "int32, no dimensions: the first sample of the region.")
    .output("length", "int32, no dimensions: the number of its samples; 0 if all is silent.")
    .arg("cutoff_db", -60.0f, "The threshold, in dB: 10 * log10(mean square / reference).")
    .arg("window_length", 2048,
         "The number of samples of a window. Samples before the signal are 0. No more than the "
         "signal has.")
    .arg("reference_power", 0.0f,
         "The mean square that is 0 dB. 0: the greatest one of the windows of the sample.")
    .arg("reset_interval", 8192,
         "Without effect. In DALI, rounding errors of a running sum end after so many samples; "
         "here sums of windows have none that matter.")
    .cpu<NonsilentRegion>()
    .gpu<NonsilentRegionGpu>();

}  // namespace
}  // namespace torchdali
