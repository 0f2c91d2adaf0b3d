// SPDX-License-Identifier: Apache-2.0
// fn.transpose: reorders the axes. A view if no element moves.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "core/operator.h"
#include "gpu/copy_axes.h"
#include "gpu/operator.h"
#include "kernels/window/copy_gpu.h"
#include "kernels/window/transpose.h"

namespace torchdali {
namespace {

// The arguments, as the order of the axes of a sample.
class TransposeArgs {
 public:
  struct Plan {
    std::array<int, kMaxDims> perm{};
    Shape shape;
    Layout layout;
  };
  explicit TransposeArgs(const OpSpec& spec)
      : transpose_layout_(spec.get<bool>("transpose_layout")) {
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
      TORCHDALI_CHECK_KIND(kLayout, !output_layout_.empty(), "`output_layout` is empty",
                           to_fix("leave it out, or pass transpose_layout=False"));
    }
  }

  Plan operator()(const SampleView& in) const {
    const int ndim = in.shape.ndim();
    TORCHDALI_CHECK(perm_.empty() || static_cast<int>(perm_.size()) == ndim, "`perm` has ",
                    perm_.size(), " axes, and the input ", ndim, ": ", in.shape);
    TORCHDALI_CHECK_KIND(kLayout, output_layout_.empty() || output_layout_.size() == ndim,
                         "`output_layout` ", output_layout_, " does not fit an input of ", ndim,
                         " dimensions, ", in.shape);
    auto [perm, shape, layout] = Plan{};
    std::string letters;
    for (int i = 0; i < ndim; ++i) {
      const int axis =
          perm_.empty() ? ndim - 1 - i : static_cast<int>(perm_[static_cast<size_t>(i)]);
      perm[static_cast<size_t>(i)] = axis;
      shape.push_back(in.shape[axis]);
      if (!in.layout.empty()) letters += in.layout[transpose_layout_ ? axis : i];
    }
    layout = output_layout_.empty() ? Layout(std::string_view(letters)) : output_layout_;
    return {perm, shape, layout};
  }
  // Returns the input if no element moves.
  static bool share(SampleContext& ctx, const Plan& plan) {
    SampleView view = ctx.input(0);
    if (!stays(view.shape, plan.perm)) return false;
    view.shape = plan.shape;
    view.layout = plan.layout;
    ctx.share_input(0, 0, view);
    return true;
  }

 private:
  // Whether the axes with more than one element keep their order, or there are no elements.
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

class Transpose final : public Operator {
 public:
  explicit Transpose(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto plan = args_(in);
    if (TransposeArgs::share(ctx, plan)) return;
    const SampleView& out = ctx.output(0, in.dtype, plan.shape, plan.layout);
    kernels::transpose_axes(out.data, in.data, in.shape,
                            std::span(plan.perm).first(static_cast<size_t>(in.shape.ndim())),
                            itemsize(in.dtype));
  }

 private:
  TransposeArgs args_;
};

class TransposeGpu final : public gpu::KernelOperator<gpu::CopyKernel> {
 public:
  explicit TransposeGpu(const OpSpec& spec) : args_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto plan = args_(in);
    if (TransposeArgs::share(ctx, plan)) return;
    const SampleView& out = ctx.output(0, in.dtype, plan.shape, plan.layout);
    const int64_t size = itemsize(in.dtype);
    const auto from = gpu::dense_axes(in.shape, size);
    std::vector<gpu::CopyAxis> axes(from.size());
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = from[static_cast<size_t>(plan.perm[i])];
    gpu::make_dense(axes, size);
    tasks(ctx).add(ctx, gpu::make_copy(in.data, out.data, out.size_bytes(), size, axes));
  }

 private:
  TransposeArgs args_;
};

TORCHDALI_OPERATOR("transpose")
    .doc("Reorders the axes. A view if no element moves.")
    .input("data", "Any layout, any element type.")
    .output("transposed", "Axis i is axis perm[i] of the input.")
    .optional_arg("perm", ArgType::kIntVec,
                  "Order of the axes, e.g. [2, 0, 1] from \"HWC\" to \"CHW\". By default, or for "
                  "an empty list, the axes are reversed.")
    .arg("transpose_layout", true,
         "The letters of the layout move with their axes; otherwise the output has the input's "
         "layout.")
    .optional_arg("output_layout", ArgType::kLayout,
                  "Layout of the output, for any `transpose_layout`. It does not affect the order "
                  "of the axes.")
    .sequences()
    .volumes()
    .cpu<Transpose>()
    .gpu<TransposeGpu>();

}  // namespace
}  // namespace torchdali
