// SPDX-License-Identifier: Apache-2.0
// fn.one_hot: class numbers as vectors that are "on" at the class.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "core/operator.h"
#include "kernels/convert.h"

namespace torchdali {
namespace {

// Whether each sample of the batch has one element: they are taken as scalars.
struct OneHotBatch final : BatchState {
  bool scalars = true;
};

class OneHot final : public Operator {
 public:
  explicit OneHot(const OpSpec& spec)
      : axis_(spec.get<int>("axis")),
        classes_(spec.get<int64_t>("num_classes")),
        dtype_(spec.get<DType>("dtype")),
        on_(spec.get<float>("on_value")),
        off_(spec.get<float>("off_value")) {
    TORCHDALI_CHECK(classes_ >= 0, "`num_classes` is ", classes_, ", expected 0 or more");
    TORCHDALI_CHECK(axis_ >= -1, "`axis` is ", axis_, ", expected -1 (the end) or more");
    if (spec.has("axis_name")) {
      const auto name = spec.get<std::string>("axis_name");
      TORCHDALI_CHECK(name.size() == 1, "`axis_name` is \"", name, "\", expected one letter");
      letter_ = name[0];
    }
  }

  std::optional<BatchTraits> batch_traits() const override {
    return axis_ < 0 ? std::optional(BatchTraits{}) : std::nullopt;
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    auto batch = std::make_unique<OneHotBatch>();
    for (int k = 0; k < ctx.size(); ++k) batch->scalars &= ctx.input(0, k).volume() == 1;
    return batch;
  }

  void run(SampleContext& ctx) const override {
    SampleView in = ctx.input(0);
    if (axis_ < 0 && ctx.batch_state<OneHotBatch>().scalars) {
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
    int64_t outer = 1, inner = 1;
    for (int i = 0; i <= ndim; ++i) {
      const int from = i - (i > axis);
      shape.push_back(i == axis ? classes_ : in.shape[from]);
      if (letter_ != 0) letters += i == axis ? letter_ : in.layout[from];
      if (i != axis) (i < axis ? outer : inner) *= in.shape[from];
    }
    SampleView out{.data = nullptr, .dtype = dtype_, .shape = shape, .layout = {}};
    checked_size_bytes(out);
    out = ctx.output(0, dtype_, shape, Layout(std::string_view(letters)));
    dispatch_dtype(dtype_, [&]<class To>() {
      const auto value = [](float x) {
        return kernels::convert<To>(is_floating_type<To> ? x : std::trunc(x));
      };
      std::fill_n(out.as<To>(), out.volume(), value(off_));
      const To on = value(on_);
      dispatch_dtype(in.dtype, [&]<class From>() {
        const From* from = in.as<const From>();
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t i = 0; i < inner; ++i) {
            const int64_t c = class_of(from[o * inner + i]);
            if (c >= 0) out.as<To>()[(o * classes_ + c) * inner + i] = on;
          }
      });
    });
  }

 private:
  // The class that a number means, fractions cut off; -1 where there is none.
  template <class T>
  int64_t class_of(T number) const {
    if constexpr (is_floating_type<T>) {
      const double c = std::trunc(static_cast<double>(number));
      return c >= 0 && c < static_cast<double>(classes_) ? static_cast<int64_t>(c) : -1;
    } else {
      const auto c = static_cast<int64_t>(number);  // past the limit it is negative
      return c >= 0 && c < classes_ ? c : -1;
    }
  }

  int axis_;
  int64_t classes_;
  DType dtype_;
  float on_, off_;
  char letter_ = 0;
};

TORCHDALI_OPERATOR("one_hot")
    .doc(
        "Makes of each class number a vector of `num_classes` values: `on_value` at the class, "
        "`off_value` elsewhere. Numbers that are no class are \"off\" everywhere, fractions are "
        "cut "
        "off. Where every sample of the batch has one element and `axis` is -1, samples are taken "
        "as scalars.")
    .input("classes", "Class numbers, any layout, any element type.")
    .output("one_hot", "The input's axes and the one of the classes.")
    .arg("axis", -1, "Where the axis of the classes is in the output; -1: behind all others.")
    .optional_arg("axis_name", ArgType::kString,
                  "Letter of that axis in the layout; an input that is no scalar needs one then. "
                  "Without it the output has no layout.")
    .arg("dtype", DType::kFloat, "Element type of the output.")
    .arg("num_classes", 0, "Number of classes: the length of the axis.")
    .arg("on_value", 1.0f, "Value at the class. Integers cut off fractions and saturate.")
    .arg("off_value", 0.0f, "Value elsewhere.")
    .cpu<OneHot>();

}  // namespace
}  // namespace torchdali
