// SPDX-License-Identifier: Apache-2.0
// fn.preemphasis_filter: raises high frequencies, y[i] = x[i] - coefficient * x[i - 1].
#include <algorithm>
#include <cstring>
#include <string>

#include "core/argument.h"
#include "core/audio/audio_part.h"
#include "gpu/operator.h"
#include "kernels/audio_features/preemphasis.h"
#include "kernels/audio_features/preemphasis_gpu.h"

namespace torchdali {
namespace {

using kernels::PreemphasisBorder;

PreemphasisBorder border_of(const std::string& name) {
  if (name == "zero") return PreemphasisBorder::kZero;
  if (name == "reflect") return PreemphasisBorder::kReflect;
  TORCHDALI_CHECK(name == "clamp", "argument `border` is \"", name,
                  "\", expected \"clamp\", \"zero\" or \"reflect\"");
  return PreemphasisBorder::kClamp;
}

bool is_supported(DType dtype) {
  return dtype != DType::kFloat16 && dtype != DType::kBool && dtype != DType::kNone;
}

class PreemphasisArgs {
 public:
  explicit PreemphasisArgs(const OpSpec& spec)
      : coefficient_(spec, "preemph_coeff"),
        dtype_(spec.get<DType>("dtype")),
        border_(border_of(spec.get<std::string>("border"))) {
    TORCHDALI_CHECK_KIND(kType, is_supported(dtype_), "argument `dtype` is ", dtype_name(dtype_),
                         ", expected an integer type, float32 or float64");
  }
  SampleView& make_output(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, is_supported(in.dtype), "input `data` is ", dtype_name(in.dtype),
                         ", expected an integer type, float32 or float64", to_fix("use fn.cast"));
    return ctx.output(0, dtype_, in.shape, in.layout);
  }
  float coefficient(const SampleContext& ctx) const { return coefficient_(ctx); }
  DType dtype() const { return dtype_; }
  PreemphasisBorder border() const { return border_; }

 private:
  Arg<float> coefficient_;
  DType dtype_;
  PreemphasisBorder border_;
};

// Filters a signal that is read in order.
class PreemphasisReader final : public SignalReader {
 public:
  PreemphasisReader(SignalReader& in, float coefficient, PreemphasisBorder border)
      : SignalReader(in.length()), in_(in), coefficient_(coefficient) {
    if (length() == 0) return;
    ahead_ = std::min<int64_t>(length(), 2);
    in_.read(first_, ahead_);
    block_[kBefore - 1] = kernels::sample_before(first_, length(), border);
  }
  void read(float* out, int64_t count) override {
    while (count > 0) {
      const int64_t n = std::min(count, kBlock);
      float* const x = block_ + kBefore;
      next(x, n);
      kernels::preemphasize(out, x, n, coefficient_);
      x[-1] = x[n - 1];
      out += n;
      count -= n;
    }
  }

 private:
  static constexpr int64_t kBlock = 1024, kBefore = 16;
  // The next samples of the input: those that were read ahead come first.
  void next(float* x, int64_t count) {
    for (; ahead_ > 0 && count > 0; --count, --ahead_) {
      *x++ = first_[0];
      first_[0] = first_[1];
    }
    if (count > 0) in_.read(x, count);
  }
  SignalReader& in_;
  float coefficient_;
  float first_[2] = {};
  int64_t ahead_ = 0;
  alignas(64) float block_[kBefore + kBlock];
};

class PreemphasisFilter final : public Operator, public FiltersSignal {
 public:
  explicit PreemphasisFilter(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    SampleView& out = args_.make_output(ctx);
    if (in.volume() == 0) return;
    const float coefficient = args_.coefficient(ctx);
    if (in.dtype == DType::kFloat64) return filter<double>(in, out, coefficient);
    if (in.dtype == DType::kFloat && out.dtype == DType::kFloat)
      return filter_floats(ctx, coefficient);
    filter<float>(in, out, coefficient);
  }
  std::unique_ptr<SignalReader> filter_signal(SampleContext& ctx, SignalReader& in) const override {
    if (args_.dtype() != DType::kFloat) return nullptr;
    return std::make_unique<PreemphasisReader>(in, args_.coefficient(ctx), args_.border());
  }

 private:
  void filter_floats(SampleContext& ctx, float coefficient) const {
    const int64_t count = ctx.input(0).volume();
    const auto* x = ctx.input(0).as<const float>();
    auto* y = ctx.output_view(0).as<float>();
    y[0] = x[0] - coefficient * kernels::sample_before(x, count, args_.border());
    kernels::preemphasize(y + 1, x + 1, count - 1, coefficient, ctx.is_read_later(0));
  }
  // T: the type of the arithmetic.
  template <class T>
  void filter(const SampleView& in, const SampleView& out, float coefficient) const {
    constexpr int64_t kBlock = 1024, kBefore = 8;
    alignas(64) T from[kBefore + kBlock], to[kBlock];
    T* const x = from + kBefore;
    const auto load = kernels::converter(dtype_of<T>(), in.dtype),
               store = kernels::converter(out.dtype, dtype_of<T>());
    const int64_t count = in.volume();
    load(x, in.data, std::min<int64_t>(count, 2));
    x[-1] = kernels::sample_before(x, count, args_.border());
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t n = std::min(kBlock, count - i);
      load(x, static_cast<const char*>(in.data) + i * itemsize(in.dtype), n);
      kernels::preemphasize(to, x, n, T(coefficient));
      store(static_cast<char*>(out.data) + i * itemsize(out.dtype), to, n);
      x[-1] = x[n - 1];
    }
  }

  PreemphasisArgs args_;
};

class PreemphasisFilterGpu final : public gpu::KernelOperator<gpu::PreemphasisKernel> {
 public:
  explicit PreemphasisFilterGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const SampleView& out = args_.make_output(ctx);
    Task task;
    task.in = in.data;
    task.out = out.data;
    task.size = in.volume();
    task.in_dtype = in.dtype;
    task.out_dtype = out.dtype;
    task.coefficient = args_.coefficient(ctx);
    task.border = args_.border();
    tasks(ctx).add(ctx, task);
  }

 private:
  PreemphasisArgs args_;
};

TORCHDALI_OPERATOR("preemphasis_filter")
    .doc(
        "Raises the high frequencies of a signal: y[i] = x[i] - preemph_coeff * x[i - 1]. "
        "Computed in float32 (float64 for float64).")
    .input("data",
           "Signals: integers, float32 or float64. Samples of several dimensions are filtered as "
           "one row of their elements.")
    .output("filtered", "Shape and layout of the input.")
    .arg("preemph_coeff", 0.97f, "The coefficient.", Arity::kPerSample)
    .arg("border", "clamp",
         "What comes before the first sample: \"clamp\" (the first sample), \"zero\" or "
         "\"reflect\" (the second sample; zero if there is only one).")
    .arg("dtype", DType::kFloat, "Element type of the output; integers are rounded and saturate.")
    .audio_role(AudioRole::kSignal)
    .cpu<PreemphasisFilter>()
    .gpu<PreemphasisFilterGpu>();

}  // namespace
}  // namespace torchdali
