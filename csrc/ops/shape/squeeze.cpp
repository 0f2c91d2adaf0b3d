// SPDX-License-Identifier: Apache-2.0
// fn.squeeze: removes axes of extent 1. Always a view.
#include <string>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "ops/axes.h"

namespace torchdali {
namespace {

class Squeeze final : public Operator {
 public:
  explicit Squeeze(const OpSpec& spec) : axes_(spec, "axes") {
    TORCHDALI_CHECK(spec.has("axes") + spec.has("axis_names") == 1,
                    "takes either `axes` or `axis_names`");
    if (spec.has("axis_names")) names_ = spec.get<Layout>("axis_names");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    AxisList removed;
    for (const char letter : names_.str())
      removed.add(checked_axis(letter, in.layout, "axis_names"));
    if (axes_.given()) {
      static thread_local std::vector<int64_t> buffer;
      for (const int64_t axis : axes_(ctx, buffer))
        removed.add(checked_axis(axis, in.shape.ndim(), "axes"));
    }
    SampleView out = in;
    out.shape = {};
    std::string letters;
    for (int axis = 0; axis < in.shape.ndim(); ++axis) {
      if (removed.contains(axis)) continue;
      out.shape.push_back(in.shape[axis]);
      if (!in.layout.empty()) letters += in.layout[axis];
    }
    out.layout = Layout(std::string_view(letters));
    // Without elements, an axis of any extent may go as long as another extent is 0.
    if (in.volume() != 0 || out.volume() != 0)
      for (int axis = 0; axis < in.shape.ndim(); ++axis)
        TORCHDALI_CHECK(!removed.contains(axis) || in.shape[axis] == 1, "axis ", axis, " of ",
                        in.shape, " cannot be removed: its extent is ", in.shape[axis],
                        ", expected 1");
    ctx.share_input(0, 0, out);
  }

 private:
  ListArg<int64_t> axes_;
  Layout names_;
};

TORCHDALI_OPERATOR("squeeze")
    .doc(
        "Removes axes of extent 1, or of any extent where another extent that remains is 0. A "
        "view: nothing is copied.")
    .input("data", "Any layout, any element type.")
    .output("squeezed", "The input without these axes and their letters.")
    .optional_arg("axes", ArgType::kIntVec,
                  "Axes to remove, as numbers; negative ones count from the end. Exactly one of "
                  "`axes` and `axis_names` must be given.",
                  Arity::kPerSample)
    .optional_arg("axis_names", ArgType::kLayout, "Axes to remove, as letters of the layout.")
    .sequences()
    .volumes()
    .cpu<Squeeze>()
    .gpu<gpu::ViewOperator<Squeeze>>();

}  // namespace
}  // namespace torchdali
