// SPDX-License-Identifier: Apache-2.0
// The operators for `if`, `and`, `or` and `not` on data nodes (torchdali/_graph/conditionals): a
// truth value, and the merge of two values of which each sample has one.
#include "core/operator.h"
#include "gpu/operator.h"

namespace torchdali {
namespace {

// As in DALI: `if` and `not` take any number, `and` and `or` take bool.
class Predicate final : public Operator {
 public:
  explicit Predicate(const OpSpec& spec)
      : expression_(spec.get<std::string>("expression")),
        negate_(spec.get<bool>("negate")),
        numbers_(spec.get<bool>("numbers")) {}

  void run(SampleContext& ctx) const override {
    const SampleView& value = ctx.input(0);
    TORCHDALI_CHECK_KIND(kValue, value.shape.ndim() == 0, "`", expression_,
                         "` takes one value per sample (a scalar, 0 dimensions), got a tensor of "
                         "shape ",
                         value.shape, to_fix("reduce or index it to a scalar"));
    if (value.dtype == DType::kBool && !negate_) {
      ctx.share_input(0, 0, value);
      return;
    }
    TORCHDALI_CHECK_KIND(kType, numbers_ || value.dtype == DType::kBool, "`", expression_,
                         "` takes bool on both sides, got ", dtype_name(value.dtype),
                         to_fix("compare it (x != 0), or fn.cast it to types.BOOL"));
    const bool truth = dispatch_dtype(value.dtype, [&]<class T>() {
      if constexpr (std::is_same_v<T, Half>) return static_cast<float>(*value.as<const T>()) != 0;
      else return *value.as<const T>() != T{};
    });
    *ctx.output(0, DType::kBool, Shape{}).as<bool>() = truth != negate_;
  }

 private:
  std::string expression_;
  bool negate_, numbers_;
};

// Reads only the selected input. The other one is stale, because its operator was skipped.
class Merge final : public Operator {
 public:
  explicit Merge(const OpSpec&) {}
  void run(SampleContext& ctx) const override {
    const int taken = *ctx.input(2).as<const bool>() ? 0 : 1;
    ctx.share_input(0, taken, ctx.input(taken));
  }
};

TORCHDALI_OPERATOR("conditional.predicate")
    .doc("The truth value of a scalar.")
    .input("value", "A scalar.")
    .output("truth", "BOOL scalar.")
    .arg("expression", "if", "What the user wrote, for messages.")
    .arg("negate", false, "Gives the opposite.")
    .arg("numbers", true, "Takes any number; otherwise BOOL only.")
    .hidden()
    .cpu<Predicate>();

TORCHDALI_OPERATOR("conditional.merge")
    .doc("One of two values, each of which only some samples have.")
    .input("if_true", "The value where the predicate holds.")
    .input("if_false", "The value where it does not.")
    .input("predicate", "BOOL scalar.")
    .output("merged", "The value that the sample has.")
    .hidden()
    .graph_role(GraphRole::kMerge)
    .cpu<Merge>()
    .gpu<gpu::ViewOperator<Merge>>()
    .host_input(2);

}  // namespace
}  // namespace torchdali
