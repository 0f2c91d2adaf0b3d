// SPDX-License-Identifier: Apache-2.0
// fn.one_hot: vectors that are "on" at the index of a class.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/math/one_hot.h"
#include "kernels/math/one_hot_gpu.h"
#include "kernels/window/fill.h"

namespace torchdali {
namespace {

// Whether each sample of the batch has one element. Samples are then used as scalars.
struct OneHotBatch final : BatchState {
  bool scalars = true;
};

// The position of the axis of the classes, and the values along it.
class OneHotArgs {
 public:
  struct Plan {
    SampleView out;
    int64_t outer = 1, inner = 1;
  };
  explicit OneHotArgs(const OpSpec& spec)
      : axis_(spec.get<int>("axis")),
        classes_(spec.get<int64_t>("num_classes")),
        dtype_(spec.get<DType>("dtype")),
        on_(spec.get<float>("on_value")),
        off_(spec.get<float>("off_value")),
        takes_scalars_(!spec.has("axis")) {
    TORCHDALI_CHECK(classes_ >= 0, "`num_classes` is ", classes_, ", expected 0 or more");
    TORCHDALI_CHECK(axis_ >= -1, "`axis` is ", axis_, ", expected -1 (the end) or more");
    if (spec.has("axis_name")) {
      const auto name = spec.get<std::string>("axis_name");
      TORCHDALI_CHECK(name.size() == 1, "`axis_name` is \"", name, "\", expected one letter");
      letter_ = name[0];
    }
  }

  // Whether samples depend on other samples of the batch.
  bool batch_wide() const { return takes_scalars_; }
  static std::unique_ptr<OneHotBatch> batch(BatchContext& ctx) {
    auto batch = std::make_unique<OneHotBatch>();
    for (int k = 0; k < ctx.size(); ++k) batch->scalars &= ctx.input(0, k).volume() == 1;
    return batch;
  }

  // Makes the output. `batch`: if batch_wide().
  Plan make_output(SampleContext& ctx, const OneHotBatch* batch) const {
    SampleView in = ctx.input(0);
    if (takes_scalars_ && batch->scalars) {
      in.shape = {};
      in.layout = {};
    }
    const int ndim = in.shape.ndim(), axis = axis_ < 0 ? ndim : axis_;
    TORCHDALI_CHECK_KIND(kIndex, axis <= ndim, "`axis` is ", axis_, ", and the input has ", ndim,
                         " dimensions");
    TORCHDALI_CHECK_KIND(kLayout, letter_ == 0 || ndim == 0 || !in.layout.empty(),
                         "`axis_name` needs an input with a layout, got ", in.shape);
    Shape shape;
    std::string letters;
    Plan plan;
    for (int i = 0; i <= ndim; ++i) {
      const int from = i - (i > axis);
      shape.push_back(i == axis ? classes_ : in.shape[from]);
      if (letter_ != 0) letters += i == axis ? letter_ : in.layout[from];
      if (i != axis) (i < axis ? plan.outer : plan.inner) *= in.shape[from];
    }
    SampleView out{.data = nullptr, .dtype = dtype_, .shape = shape, .layout = {}};
    checked_size_bytes(out);
    plan.out = ctx.output(0, dtype_, shape, Layout(std::string_view(letters)));
    return plan;
  }
  int64_t classes() const { return classes_; }
  // The bytes of an element of the output.
  uint64_t on() const { return kernels::fill_element(dtype_, on_); }
  uint64_t off() const { return kernels::fill_element(dtype_, off_); }

 private:
  int axis_;
  int64_t classes_;
  DType dtype_;
  float on_, off_;
  bool takes_scalars_;
  char letter_ = 0;
};

class OneHot final : public Operator {
 public:
  explicit OneHot(const OpSpec& spec) : args_(spec) {}

  std::optional<BatchTraits> batch_traits() const override {
    return args_.batch_wide() ? std::optional(BatchTraits{}) : std::nullopt;
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    return OneHotArgs::batch(ctx);
  }
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto [out, outer, inner] =
        args_.make_output(ctx, args_.batch_wide() ? &ctx.batch_state<OneHotBatch>() : nullptr);
    kernels::fill(out.data, itemsize(out.dtype), out.volume(), args_.off());
    switch (itemsize(out.dtype)) {
      case 1: return set<uint8_t>(in, out, outer, inner);
      case 2: return set<uint16_t>(in, out, outer, inner);
      case 4: return set<uint32_t>(in, out, outer, inner);
      default: return set<uint64_t>(in, out, outer, inner);
    }
  }

 private:
  // To: an unsigned type of the size of the output's elements.
  template <class To>
  void set(const SampleView& in, const SampleView& out, int64_t outer, int64_t inner) const {
    const To on = static_cast<To>(args_.on());
    const int64_t classes = args_.classes();
    dispatch_dtype(in.dtype, [&]<class From>() {
      const From* from = in.as<const From>();
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i) {
          const int64_t c = kernels::class_of(from[o * inner + i], classes);
          if (c >= 0) out.as<To>()[(o * classes + c) * inner + i] = on;
        }
    });
  }
  OneHotArgs args_;
};

class OneHotGpu final : public gpu::KernelOperator<gpu::OneHotKernel> {
 public:
  explicit OneHotGpu(const OpSpec& spec) : args_(spec) {}

  std::unique_ptr<BatchState> inspect_batch(BatchContext& ctx) const override {
    return args_.batch_wide() ? OneHotArgs::batch(ctx) : nullptr;
  }
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto plan =
        args_.make_output(ctx, args_.batch_wide() ? &inspection<OneHotBatch>(ctx) : nullptr);
    Task task;
    task.in = in.data;
    task.out = plan.out.data;
    task.size = plan.out.volume();
    task.in_dtype = in.dtype;
    task.out_dtype = plan.out.dtype;
    task.classes = args_.classes();
    task.inner = plan.inner;
    task.on = args_.on();
    task.off = args_.off();
    tasks(ctx).add(ctx, task);
  }

 private:
  OneHotArgs args_;
};

TORCHDALI_OPERATOR("one_hot")
    .doc(
        "Makes of each class number a vector of `num_classes` values: `on_value` at the class, "
        "`off_value` elsewhere. Numbers that are no class are \"off\" everywhere, fractions are "
        "cut off. Where every sample of the batch has one element and `axis` is not given, samples "
        "are taken as scalars.")
    .input("classes", "Class numbers, any layout, any element type.")
    .output("one_hot", "The axes of the input and that of the classes.")
    .arg("axis", -1, "Position of the axis of the classes in the output; -1: after all others.")
    .optional_arg("axis_name", ArgType::kString,
                  "Letter of that axis in the layout; an input with dimensions then needs a "
                  "layout. Without it, the output has no layout.")
    .arg("dtype", DType::kFloat, "Element type of the output.")
    .arg("num_classes", 0, "Number of classes: the length of the axis.")
    .arg("on_value", 1.0f, "Value at the class. Integers are truncated and saturate.")
    .arg("off_value", 0.0f, "Value elsewhere.")
    .cpu<OneHot>()
    .gpu<OneHotGpu>();

}  // namespace
}  // namespace torchdali
