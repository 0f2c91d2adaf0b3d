// SPDX-License-Identifier: Apache-2.0
// fn.copy: the input as it is. Values never change once they are made, so a view will do; what the
// pipeline returns gets memory of its own from the executor.
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
    .doc("Copies the input. Costs nothing where nobody can tell the copy from the original.")
    .input("data", "Any layout, any element type.")
    .output("copy", "Shape, element type and layout of the input.")
    .sequences()
    .volumes()
    .cpu<Copy>()
    .gpu<gpu::ViewOperator<Copy>>();

}  // namespace
}  // namespace torchdali
