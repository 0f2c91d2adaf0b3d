// SPDX-License-Identifier: Apache-2.0
// fn.transpose: another order of the axes. A view where no element moves.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "core/operator.h"
#include "kernels/transpose.h"

namespace torchdali {
namespace {

class Transpose final : public Operator {
 public:
  explicit Transpose(const OpSpec& spec) : transpose_layout_(spec.get<bool>("transpose_layout")) {
    if (spec.has("perm")) perm_ = spec.get<std::vector<int64_t>>("perm");
    std::vector<int64_t> sorted = perm_;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      TORCHDALI_CHECK(sorted[i] == static_cast<int64_t>(i),
                      "`perm` is no order of the numbers 0 to ", perm_.size() - 1);
    TORCHDALI_CHECK(perm_.size() <= kMaxDims, "`perm` has ", perm_.size(), " axes, at most ",
                    kMaxDims, " are possible");
    if (spec.has("output_layout")) {
      output_layout_ = spec.get<Layout>("output_layout");
      TORCHDALI_CHECK_KIND(kLayout, !output_layout_.empty(),
                           "`output_layout` is empty. To fix it: leave it out, or pass "
                           "transpose_layout=False");
    }
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const int ndim = in.shape.ndim();
    TORCHDALI_CHECK(perm_.empty() || static_cast<int>(perm_.size()) == ndim, "`perm` has ",
                    perm_.size(), " axes, and the input ", ndim, ": ", in.shape);
    TORCHDALI_CHECK_KIND(kLayout, output_layout_.empty() || output_layout_.size() == ndim,
                         "`output_layout` ", output_layout_, " does not fit an input of ", ndim,
                         " dimensions, ", in.shape);
    std::array<int, kMaxDims> perm{};
    std::string letters;
    Shape shape;
    for (int i = 0; i < ndim; ++i) {
      const int axis =
          perm_.empty() ? ndim - 1 - i : static_cast<int>(perm_[static_cast<size_t>(i)]);
      perm[static_cast<size_t>(i)] = axis;
      shape.push_back(in.shape[axis]);
      if (!in.layout.empty()) letters += in.layout[transpose_layout_ ? axis : i];
    }
    const Layout layout =
        output_layout_.empty() ? Layout(std::string_view(letters)) : output_layout_;
    if (stays(in.shape, perm)) {
      SampleView view = in;
      view.shape = shape;
      view.layout = layout;
      ctx.share_input(0, 0, view);
      return;
    }
    const SampleView& out = ctx.output(0, in.dtype, shape, layout);
    kernels::transpose_axes(out.data, in.data, in.shape,
                            std::span(perm).first(static_cast<size_t>(ndim)), itemsize(in.dtype));
  }

 private:
  // Whether the axes that are longer than one element keep their order, or there is no element.
  static bool stays(const Shape& shape, const std::array<int, kMaxDims>& perm) {
    int last = -1;
    bool ordered = true;
    for (int i = 0; i < shape.ndim(); ++i) {
      const int axis = perm[static_cast<size_t>(i)];
      if (shape[axis] == 0) return true;
      if (shape[axis] == 1) continue;
      ordered &= axis > last;
      last = axis;
    }
    return ordered;
  }

  std::vector<int64_t> perm_;
  bool transpose_layout_;
  Layout output_layout_;
};

TORCHDALI_OPERATOR("transpose")
    .doc("Changes the order of the axes. A view where no element moves.")
    .input("data", "Any layout, any element type.")
    .output("transposed", "Axis i is axis perm[i] of the input.")
    .optional_arg("perm", ArgType::kIntVec,
                  "Order of the axes, e.g. [2, 0, 1] from \"HWC\" to \"CHW\". By default, or where "
                  "the list is empty, they are reversed.")
    .arg("transpose_layout", true,
         "The letters of the layout move with their axes; otherwise the output has the input's "
         "layout.")
    .optional_arg("output_layout", ArgType::kLayout,
                  "Layout of the output, whatever `transpose_layout` says. It does not choose the "
                  "order of the axes.")
    .sequences()
    .volumes()
    .cpu<Transpose>();

}  // namespace
}  // namespace torchdali
