// SPDX-License-Identifier: Apache-2.0
// fn.per_frame: marks a tensor as a sequence, so that its values are used frame by frame
// (executor/frame_loop). Always a view.
#include <string>

#include "core/operator.h"
#include "gpu/operator.h"

namespace torchdali {
namespace {

class PerFrame final : public Operator {
 public:
  explicit PerFrame(const OpSpec& spec) : replace_(spec.get<bool>("replace")) {}

  void run(SampleContext& ctx) const override {
    SampleView view = ctx.input(0);
    const int ndim = view.shape.ndim();
    TORCHDALI_CHECK(ndim > 0, "a scalar has no axis that could be frames");
    if (view.layout.empty()) {
      view.layout = Layout("F" + std::string(static_cast<size_t>(ndim) - 1, '*'));
    } else if (view.layout[0] != 'F') {
      TORCHDALI_CHECK_KIND(kLayout, replace_, "the layout ", view.layout,
                           " does not begin with \"F\"",
                           to_fix("pass replace=True where the first axis is one of frames"));
      view.layout = Layout("F" + std::string(view.layout.str().substr(1)));
    }
    ctx.share_input(0, 0, view);
  }

 private:
  bool replace_;
};

TORCHDALI_OPERATOR("per_frame")
    .doc(
        "Marks a tensor as a sequence: given as an argument of an operator that takes sequences, "
        "it has one value for each frame. A view: nothing is copied.")
    .input("data", "One value per frame: at least one axis, the first of which is the frames.")
    .output("frames",
            "The input with a layout that begins with \"F\"; axes without a letter become \"*\".")
    .arg("replace", false,
         "Replace the first letter of the layout by \"F\" if it is a different letter; otherwise "
         "such an input is an error.")
    .cpu<PerFrame>()
    .gpu<gpu::ViewOperator<PerFrame>>();

}  // namespace
}  // namespace torchdali
