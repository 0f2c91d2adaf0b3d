// SPDX-License-Identifier: Apache-2.0
// fn.cat and fn.stack: joins inputs along an existing or a new axis.
#include <cstring>
#include <string>
#include <vector>

#include "core/operator.h"
#include "gpu/copy_axes.h"
#include "gpu/operator.h"
#include "kernels/window/copy_gpu.h"
#include "ops/axes.h"

namespace torchdali {
namespace {

// Copies `count` contiguous runs of kBytes (or `bytes`) to addresses `stride` apart.
template <int kBytes>
void scatter(char* out, const char* in, int64_t count, int64_t bytes, int64_t stride) {
  const int64_t size = kBytes > 0 ? kBytes : bytes;
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(out + i * stride, in + i * size, static_cast<size_t>(size));
}

auto scatter_function(int64_t bytes) {
  switch (bytes) {  // a pixel or an element: a move or two
    case 1: return scatter<1>;
    case 2: return scatter<2>;
    case 3: return scatter<3>;
    case 4: return scatter<4>;
    case 6: return scatter<6>;
    case 8: return scatter<8>;
    case 12: return scatter<12>;
    case 16: return scatter<16>;
    default: return scatter<0>;
  }
}

// The letter of an axis, or 0 if none is given.
char axis_letter(const OpSpec& spec) {
  if (!spec.has("axis_name")) return 0;
  const auto name = spec.get<std::string>("axis_name");
  TORCHDALI_CHECK(name.size() == 1, "`axis_name` is \"", name, "\", expected one letter");
  return name[0];
}

// Makes output 0, and calls part(to, input, count, bytes, stride) for each input: `count`
// contiguous runs of `bytes` are copied to addresses `stride` apart, which places the inputs next
// to each other along `axis`.
template <class Part>
void each_part(const SampleContext& ctx, const SampleView& out, int axis, Part&& part) {
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= out.shape[i];
  if (out.volume() == 0) return;
  const int64_t stride = out.size_bytes() / outer;
  char* to = out.as<char>();
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const SampleView& in = ctx.input(i);
    const int64_t bytes = in.size_bytes() / outer;
    if (bytes == 0) continue;
    part(to, in, outer, bytes, stride);
    to += bytes;
  }
}

// How inputs are joined on the CPU, and on the GPU with a task for each input.
class Join : public Operator {
 protected:
  static void join(SampleContext& ctx, const SampleView& out, int axis) {
    each_part(ctx, out, axis,
              [](char* to, const SampleView& in, int64_t count, int64_t bytes, int64_t stride) {
                scatter_function(bytes)(to, in.as<const char>(), count, bytes, stride);
              });
  }
};
class JoinGpu : public gpu::KernelOperator<gpu::CopyKernel> {
 protected:
  static void join(SampleContext& ctx, const SampleView& out, int axis) {
    each_part(ctx, out, axis,
              [&](char* to, const SampleView& in, int64_t count, int64_t bytes, int64_t stride) {
                const int64_t size = itemsize(in.dtype), run = bytes / size;
                const gpu::CopyAxis axes[] = {
                    {.extent = count, .in_stride = bytes, .out_stride = stride, .high = count},
                    {.extent = run, .in_stride = size, .out_stride = size, .high = run}};
                tasks(ctx).add(ctx, gpu::make_copy(in.data, to, out.size_bytes(), size, axes));
              });
  }
};

void check_like_first(const SampleContext& ctx, int i) {
  const SampleView &first = ctx.input(0), &in = ctx.input(i);
  TORCHDALI_CHECK_KIND(kType, in.dtype == first.dtype, "input ", i, " has elements of ",
                       dtype_name(in.dtype), ", and input 0 of ", dtype_name(first.dtype));
  TORCHDALI_CHECK(in.shape.ndim() == first.shape.ndim(), "input ", i, " has the shape ", in.shape,
                  ", and input 0 ", first.shape, ": another number of dimensions");
}

template <class Base>
class Cat final : public Base {
 public:
  explicit Cat(const OpSpec& spec) : axis_(spec.get<int>("axis")), letter_(axis_letter(spec)) {
    TORCHDALI_CHECK(!(spec.has("axis") && letter_ != 0),
                    "`axis` and `axis_name` exclude each other");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& first = ctx.input(0);
    if (first.shape.ndim() == 0)
      raise(ErrorKind::kValue, "scalars have no axis to put them together along",
            to_fix("use fn.stack"));
    const int axis = letter_ != 0 ? checked_axis(letter_, first.layout, "axis_name")
                                  : checked_axis(axis_, first.shape.ndim(), "axis");
    for (int i = 1; i < ctx.num_inputs(); ++i) check_like_first(ctx, i);
    if (ctx.num_inputs() == 1) ctx.share_input(0, 0, first);
    else Base::join(ctx, ctx.output(0, first.dtype, joined_shape(ctx, axis), first.layout), axis);
  }

 private:
  // An input without elements may have any shape, as in DALI: others are joined without it.
  static Shape joined_shape(const SampleContext& ctx, int axis) {
    int model = 0;  // the first input with elements
    while (model < ctx.num_inputs() && ctx.input(model).volume() == 0) ++model;
    if (model == ctx.num_inputs()) model = 0;
    Shape shape = ctx.input(model).shape;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (i == model) continue;
      const SampleView& in = ctx.input(i);
      const int differing = other_difference(in.shape, shape, axis);
      if (differing >= 0 && in.volume() == 0) continue;
      TORCHDALI_CHECK(differing < 0, "input ", i, " has the shape ", in.shape, ", and input ",
                      model, " ", ctx.input(model).shape, ": they differ along axis ", differing,
                      ", not ", axis);
      shape[axis] += in.shape[axis];
    }
    return shape;
  }
  // The first axis other than `axis` along which the extents differ, or -1.
  static int other_difference(const Shape& a, const Shape& b, int axis) {
    for (int i = 0; i < a.ndim(); ++i)
      if (i != axis && a[i] != b[i]) return i;
    return -1;
  }

  int axis_;
  char letter_;
};

template <class Base>
class Stack final : public Base {
 public:
  explicit Stack(const OpSpec& spec) : axis_(spec.get<int>("axis")), letter_(axis_letter(spec)) {}

  void run(SampleContext& ctx) const override {
    const SampleView& first = ctx.input(0);
    const int ndim = first.shape.ndim(), axis = checked_axis(axis_, ndim + 1, "axis");
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      check_like_first(ctx, i);
      TORCHDALI_CHECK(ctx.input(i).shape == first.shape, "input ", i, " has the shape ",
                      ctx.input(i).shape, ", and input 0 ", first.shape);
    }
    TORCHDALI_CHECK_KIND(kLayout, letter_ == 0 || ndim == 0 || !first.layout.empty(),
                         "`axis_name` needs an input with a layout, got ", first.shape);
    Shape shape;
    std::string letters;
    for (int i = 0; i <= ndim; ++i) {
      const int from = i - (i > axis);
      shape.push_back(i == axis ? ctx.num_inputs() : first.shape[from]);
      if (letter_ != 0) letters += i == axis ? letter_ : first.layout[from];
    }
    const Layout layout{std::string_view(letters)};
    if (ctx.num_inputs() == 1) {
      SampleView view = first;
      view.shape = shape;
      view.layout = layout;
      ctx.share_input(0, 0, view);
    } else {
      Base::join(ctx, ctx.output(0, first.dtype, shape, layout), axis);
    }
  }

 private:
  int axis_;
  char letter_;
};

constexpr int kMaxInputs = 999;  // DALI's

TORCHDALI_OPERATOR("cat")
    .doc(
        "Concatenates the inputs along an existing axis. Their shapes may differ along this axis "
        "only; an input without elements may have any shape, and is left out.")
    .input("input", "Any layout, any element type.")
    .variadic_input("inputs", "Further inputs of the same type.", kMaxInputs)
    .output("joined", "Layout and element type of the first input.")
    .arg("axis", 0, "The axis; negative numbers count from the end. Excludes `axis_name`.")
    .optional_arg("axis_name", ArgType::kString,
                  "The axis as a letter of the layout of the first input.")
    .cpu<Cat<Join>>()
    .gpu<Cat<JoinGpu>>();

TORCHDALI_OPERATOR("stack")
    .doc("Stacks inputs of the same shape along a new axis.")
    .input("input", "Any layout, any element type.")
    .variadic_input("inputs", "Further inputs of the same type and shape.", kMaxInputs)
    .output("stacked",
            "One dimension more than the inputs. It has a layout only if `axis_name` is "
            "given.")
    .arg("axis", 0, "Position of the new axis in the output; negative numbers count from the end.")
    .optional_arg(
        "axis_name", ArgType::kString,
        "Letter of the new axis in the layout; inputs with dimensions then need a layout.")
    .cpu<Stack<Join>>()
    .gpu<Stack<JoinGpu>>();

}  // namespace
}  // namespace torchdali
