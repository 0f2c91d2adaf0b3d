// SPDX-License-Identifier: Apache-2.0
// fn.pad: makes samples larger, to a shape, to a multiple, or to the largest of their batch.
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "core/argument.h"
#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/copy_axes.h"
#include "gpu/operator.h"
#include "kernels/convert.h"
#include "kernels/window/copy_gpu.h"
#include "kernels/window/fill.h"
#include "kernels/window/window.h"
#include "ops/axes.h"
#include "ops/empty_lists.h"

namespace torchdali {
namespace {

// The largest extents in the batch.
struct Largest final : BatchState {
  Shape shape;
};

// What PadArgs is made from: an empty list counts as not given.
OpSpec pad_spec(const OpSpec& spec) { return without_empty_lists(spec, {"shape", "align"}); }

// The shape that a sample is padded to, and the fill value.
class PadArgs {
 public:
  explicit PadArgs(const OpSpec& spec)
      : axes_(spec), shape_(spec, "shape"), align_(spec, "align"), fill_value_(spec, "fill_value") {
    batch_wide_ = !shape_.given() || shape_.is_tensor();
    if (!batch_wide_)
      for (const int64_t extent : spec.get<std::vector<int64_t>>("shape"))
        batch_wide_ |= extent <= 0;
  }

  // Whether samples depend on the largest one in the batch.
  bool batch_wide() const { return batch_wide_; }
  static std::unique_ptr<Largest> largest(BatchContext& ctx) {
    auto largest = std::make_unique<Largest>();
    for (int k = 0; k < ctx.size(); ++k) {
      const Shape& shape = ctx.input(0, k).shape;
      if (k == 0) largest->shape = shape;
      TORCHDALI_CHECK(shape.ndim() == largest->shape.ndim(), "sample ", ctx.index_in_batch(k),
                      " has ", shape.ndim(), " dimensions, and a sample before it ",
                      largest->shape.ndim());
      for (int i = 0; i < shape.ndim(); ++i)
        largest->shape[i] = std::max(largest->shape[i], shape[i]);
    }
    return largest;
  }

  // Makes the output, of the padded shape. Returns null if there is nothing to do: it is a view of
  // the input, or empty. `largest`: if batch_wide().
  const SampleView* make_output(SampleContext& ctx, const Largest* largest) const {
    const SampleView& in = ctx.input(0);
    const Shape shape = padded_shape(ctx, in, largest);
    if (shape == in.shape) {
      ctx.share_input(0, 0, in);
      return nullptr;
    }
    SampleView wanted{.data = nullptr, .dtype = in.dtype, .shape = shape, .layout = in.layout};
    checked_size_bytes(wanted);
    const SampleView& out = ctx.output(0, in.dtype, shape, in.layout);
    return out.volume() == 0 ? nullptr : &out;
  }
  // The bytes of an added element.
  uint64_t fill(const SampleContext& ctx, DType dtype) const {
    return kernels::fill_element(dtype, fill_value_(ctx));
  }

 private:
  Shape padded_shape(SampleContext& ctx, const SampleView& in, const Largest* largest) const {
    static thread_local std::vector<int64_t> extents, multiples;
    const AxisList axes = axes_(ctx, in.shape, in.layout);
    const auto wanted = values(ctx, shape_, "shape", axes.count, extents);
    const auto align = values(ctx, align_, "align", axes.count, multiples);
    Shape shape = in.shape;
    for (int i = 0; i < axes.count; ++i) {
      const int axis = axes.axes[i];
      int64_t extent = wanted.empty() ? -1 : wanted[wanted.size() == 1 ? 0 : i];
      if (extent <= 0) extent = largest->shape[axis];
      extent = std::max(extent, in.shape[axis]);
      if (!align.empty()) {
        const int64_t multiple = align[align.size() == 1 ? 0 : i];
        TORCHDALI_CHECK(multiple > 0, "`align` has ", multiple, ", expected numbers above 0");
        const int64_t over = extent % multiple;
        TORCHDALI_CHECK(over == 0 || !__builtin_add_overflow(extent, multiple - over, &extent),
                        "`align` has ", multiple, ", which is too large");
      }
      shape[axis] = extent;
    }
    return shape;
  }
  static std::span<const int64_t> values(SampleContext& ctx, const ListArg<int64_t>& arg,
                                         const char* name, int axes, std::vector<int64_t>& buffer) {
    if (!arg.given()) return {};
    const auto list = arg(ctx, buffer);
    TORCHDALI_CHECK(list.size() == 1 || static_cast<int>(list.size()) == axes, "`", name, "` has ",
                    list.size(), " values, expected one for each of the ", axes, " axes");
    return list;
  }

  AxisArgs axes_;
  ListArg<int64_t> shape_, align_;
  Arg<float> fill_value_;
  bool batch_wide_;
};

class Pad final : public Operator {
 public:
  explicit Pad(const OpSpec& spec) : args_(pad_spec(spec)) {}

  std::optional<BatchTraits> batch_traits() const override {
    return args_.batch_wide() ? std::optional(BatchTraits{}) : std::nullopt;
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    return PadArgs::largest(ctx);
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const SampleView* made =
        args_.make_output(ctx, args_.batch_wide() ? &ctx.batch_state<Largest>() : nullptr);
    if (made == nullptr) return;
    const SampleView& out = *made;
    const bool empty = in.volume() == 0;
    Shape origin = out.shape;
    for (int i = 0; i < origin.ndim(); ++i) origin[i] = 0;
    const int64_t size = itemsize(in.dtype);
    const uint64_t fill = args_.fill(ctx, in.dtype);
    if (empty) return kernels::fill(out.data, size, out.volume(), fill);
    kernels::fill_outside(out.data, size, out.shape, origin, in.shape, fill);
    kernels::for_each_run(in.shape, origin, out.shape, origin, in.shape,
                          [&](int64_t from, int64_t to, int64_t count) {
                            std::memcpy(out.as<char>() + to * size,
                                        in.as<const char>() + from * size,
                                        static_cast<size_t>(count * size));
                          });
  }

 private:
  PadArgs args_;
};

class PadGpu final : public gpu::KernelOperator<gpu::CopyKernel> {
 public:
  explicit PadGpu(const OpSpec& spec) : args_(pad_spec(spec)) {}

  std::unique_ptr<BatchState> inspect_batch(BatchContext& ctx) const override {
    return args_.batch_wide() ? PadArgs::largest(ctx) : nullptr;
  }
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const SampleView* out =
        args_.make_output(ctx, args_.batch_wide() ? &inspection<Largest>(ctx) : nullptr);
    if (out == nullptr) return;
    const int64_t size = itemsize(in.dtype);
    auto axes = gpu::dense_axes(in.shape, size);
    for (size_t i = 0; i < axes.size(); ++i) axes[i].extent = out->shape[static_cast<int>(i)];
    gpu::make_dense(axes, size);
    const uint64_t fill = args_.fill(ctx, in.dtype);
    tasks(ctx).add(ctx, gpu::make_copy(in.data, out->data, out->size_bytes(), size, axes, fill));
  }

 private:
  PadArgs args_;
};

TORCHDALI_OPERATOR("pad")
    .doc(
        "Pads samples at the end of their axes: to `shape`, to a multiple of `align`, or without "
        "`shape` to the largest sample of the batch. A view if there is nothing to pad.")
    .input("data", "Any layout, any element type.")
    .output("padded", "Layout and element type of the input.")
    .optional_arg("axes", ArgType::kIntVec,
                  "Axes to pad, as numbers; negative ones count from the end. By default, or for "
                  "an empty list, all. Excludes `axis_names`.",
                  Arity::kPerSample)
    .optional_arg("axis_names", ArgType::kLayout, "Axes to pad, as letters of the layout.")
    .optional_arg("shape", ArgType::kIntVec,
                  "Extents to pad to, one for each axis or one for all; larger samples do not "
                  "change. 0 or less: the largest extent in the batch.",
                  Arity::kPerSample)
    .optional_arg("align", ArgType::kIntVec,
                  "The extents become multiples of these numbers (above 0), one for each axis or "
                  "one for all.",
                  Arity::kPerSample)
    .arg("fill_value", 0.0f, "Value of added elements. Integers are truncated and saturate.",
         Arity::kPerSample)
    .volumes()
    .cpu<Pad>()
    .gpu<PadGpu>();

}  // namespace
}  // namespace torchdali
