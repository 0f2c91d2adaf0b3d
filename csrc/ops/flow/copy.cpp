// SPDX-License-Identifier: Apache-2.0
// fn.copy. Values are immutable, so the output is a view; the executor copies outputs of the
// pipeline.
#include "core/operator.h"
#include "gpu/operator.h"

namespace torchdali {
namespace {

class Copy final : public Operator {
 public:
  explicit Copy(const OpSpec&) {}
  void run(SampleContext& ctx) const override { ctx.share_input(0, 0, ctx.input(0)); }
};

TORCHDALI_OPERATOR("copy")
    .doc("Copies the input. Free if the copy cannot be distinguished from the original.")
    .input("data", "Any layout, any element type.")
    .output("copy", "Shape, element type and layout of the input.")
    .sequences()
    .volumes()
    .cpu<Copy>()
    .gpu<gpu::ViewOperator<Copy>>();

}  // namespace
}  // namespace torchdali
