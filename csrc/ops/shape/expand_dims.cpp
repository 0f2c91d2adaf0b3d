// SPDX-License-Identifier: Apache-2.0
// fn.expand_dims: inserts axes of extent 1. Always a view.
#include <algorithm>

#include "core/operator.h"
#include "gpu/operator.h"

namespace torchdali {
namespace {

class ExpandDims final : public Operator {
 public:
  explicit ExpandDims(const OpSpec& spec)
      : axes_(spec.get<std::vector<int64_t>>("axes")), names_(spec.get<Layout>("new_axis_names")) {
    named_ = spec.has("new_axis_names") && !names_.empty();
    TORCHDALI_CHECK(!named_ || names_.size() == static_cast<int>(axes_.size()),
                    "`new_axis_names` is ", names_, " for ", axes_.size(),
                    " new axes, expected one letter each");
    auto sorted = axes_;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    TORCHDALI_CHECK(twice == sorted.end(), "`axes` names axis ", *twice, " twice");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const int ndim = in.shape.ndim() + static_cast<int>(axes_.size());
    TORCHDALI_CHECK(ndim <= kMaxDims, "the output would have ", ndim, " dimensions, at most ",
                    kMaxDims, " are possible");
    int added[kMaxDims] = {};  // axis of the output -> 1 + index in axes_, or 0
    for (int i = 0; i < static_cast<int>(axes_.size()); ++i) {
      const int64_t axis = axes_[i] < 0 ? axes_[i] + ndim : axes_[i];
      TORCHDALI_CHECK_KIND(kIndex, axis >= 0 && axis < ndim, "`axes` has ", axes_[i],
                           ", which an output of ", ndim,
                           " dimensions does not have; the input is ", in.shape);
      TORCHDALI_CHECK(added[axis] == 0, "`axes` names axis ", axis, " twice");
      added[axis] = i + 1;
    }
    TORCHDALI_CHECK_KIND(kLayout, !named_ || !in.layout.empty() || in.shape.ndim() == 0,
                         "`new_axis_names` needs an input with a layout, got ", in.shape);
    const bool has_layout = named_ || axes_.empty();
    SampleView out = in;
    out.shape = {};
    std::string letters;
    for (int axis = 0, from = 0; axis < ndim; ++axis) {
      out.shape.push_back(added[axis] > 0 ? 1 : in.shape[from]);
      if (has_layout && added[axis] > 0) letters += names_[added[axis] - 1];
      else if (has_layout && !in.layout.empty()) letters += in.layout[from];
      from += added[axis] == 0;
    }
    out.layout = Layout(std::string_view(letters));
    ctx.share_input(0, 0, out);
  }

 private:
  std::vector<int64_t> axes_;
  Layout names_;
  bool named_ = false;
};

TORCHDALI_OPERATOR("expand_dims")
    .doc("Inserts axes of extent 1. A view: nothing is copied.")
    .input("data", "Any layout, any element type.")
    .output("expanded",
            "The input with the new axes. It has a layout only if `new_axis_names` is given.")
    .required_arg("axes", ArgType::kIntVec,
                  "Positions of the new axes in the output; negative numbers count from the end.")
    .arg("new_axis_names", Layout(),
         "Letters of the new axes in the layout, in the order of `axes`; the input needs a layout "
         "then.")
    .sequences()
    .volumes()
    .cpu<ExpandDims>()
    .gpu<gpu::ViewOperator<ExpandDims>>();

}  // namespace
}  // namespace torchdali
