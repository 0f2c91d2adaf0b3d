// SPDX-License-Identifier: Apache-2.0
// fn.tensor_subscript: the subscript `x[...]`; fn.subscript_dim_check: the same if all subscripts
// are full ranges. Source: Python's rules for sequences (data model, "slice.indices"), DALI 1.35
// for layouts and errors.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/operator.h"
#include "gpu/copy_axes.h"
#include "gpu/operator.h"
#include "kernels/window/copy_gpu.h"
#include "kernels/window/strided_copy.h"

namespace torchdali {
namespace {

// One number of a subscript: a constant, an integer scalar per sample, or not given.
class Bound {
 public:
  Bound() = default;
  Bound(const OpSpec& spec, const char* prefix, int number)
      : name_(prefix + std::to_string(number)) {
    if (spec.has_tensor(name_)) slot_ = spec.tensors.at(name_);
    else if (spec.has(name_)) constant_ = spec.get<int64_t>(name_);
  }
  bool given() const { return slot_ >= 0 || constant_.has_value(); }
  const std::optional<int64_t>& constant() const { return constant_; }
  std::optional<int64_t> operator()(const SampleContext& ctx) const {
    return slot_ < 0 ? constant_ : read(ctx.argument_input(slot_));
  }

 private:
  int64_t read(const SampleView& value) const {
    TORCHDALI_CHECK(value.shape.ndim() == 0, "`", name_,
                    "` takes one integer a sample (a scalar), got a tensor of shape ", value.shape);
    return dispatch_dtype(value.dtype, [&]<class T>() -> int64_t {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
        const T number = *value.as<const T>();
        if constexpr (std::is_unsigned_v<T>)
          return static_cast<int64_t>(std::min<uint64_t>(number, kMost));
        else return number;
      } else {
        raise(ErrorKind::kType, "`", name_, "` takes integers, got ", dtype_name(value.dtype));
      }
    });
  }

  std::string name_;
  std::optional<int64_t> constant_;
  int slot_ = -1;
};

// The selected positions of an axis.
struct Range {
  int64_t start = 0, step = 1, count = 0;
  bool keeps_axis = true;
};

int64_t from_the_end(int64_t position, int64_t extent) {
  return position < 0 ? position + extent : position;
}

class Subscript {
 public:
  Subscript() = default;
  Subscript(const OpSpec& spec, int number)
      : at_(spec, "at_", number),
        lo_(spec, "lo_", number),
        hi_(spec, "hi_", number),
        step_(spec, "step_", number) {
    TORCHDALI_CHECK(!at_.given() || !(lo_.given() || hi_.given() || step_.given()), "subscript ",
                    number, " is both a position (`at_", number, "`) and a range");
    check_step(step_.constant(), number);
  }
  bool given() const { return at_.given() || lo_.given() || hi_.given() || step_.given(); }

  Range operator()(const SampleContext& ctx, int axis, int64_t extent) const {
    if (const auto at = at_(ctx)) {
      const int64_t position = from_the_end(*at, extent);
      TORCHDALI_CHECK_KIND(kIndex, position >= 0 && position < extent, "index ", *at,
                           " is out of range for axis ", axis, " of extent ", extent);
      return {.start = position, .step = 1, .count = 1, .keeps_axis = false};
    }
    const int64_t step = step_(ctx).value_or(1);
    check_step(step, axis);
    // For a negative step, "before the first" is -1 and the last position is selected first.
    const int64_t first = step > 0 ? 0 : -1, last = step > 0 ? extent : extent - 1;
    const auto clamped = [&](std::optional<int64_t> bound, int64_t otherwise) {
      return bound ? std::clamp(from_the_end(*bound, extent), first, last) : otherwise;
    };
    const int64_t lo = clamped(lo_(ctx), step > 0 ? first : last);
    const int64_t hi = clamped(hi_(ctx), step > 0 ? last : first);
    const int64_t distance = step > 0 ? hi - lo : lo - hi;
    if (distance <= 0) return {.start = 0, .step = 1, .count = 0};
    // A step beyond the extent takes one element, and its negative would overflow at the limit.
    const int64_t stride = std::clamp(step, -extent, extent);
    return {.start = lo, .step = stride, .count = 1 + (distance - 1) / std::abs(stride)};
  }

 private:
  static void check_step(std::optional<int64_t> step, int axis) {
    TORCHDALI_CHECK(step != 0, "the step of the subscript of axis ", axis, " is 0");
  }
  Bound at_, lo_, hi_, step_;
};

// Checks the number of axes; axes after an ellipsis are counted from the end.
void check_ndim(int subscripts, const SampleView& in) {
  TORCHDALI_CHECK_KIND(kIndex, subscripts <= in.shape.ndim(), "there are ", subscripts,
                       " subscripts for a tensor of ", in.shape.ndim(), " dimensions, ", in.shape);
}

// The subscripts of all axes, and the part of the input that they select.
class Subscripts {
 public:
  explicit Subscripts(const OpSpec& spec) {
    for (int i = 0; i < kMaxDims; ++i) {
      subscripts_[i] = Subscript(spec, i);
      if (subscripts_[i].given()) count_ = i + 1;
    }
    if (spec.has("num_subscripts")) {
      const int count = spec.get<int>("num_subscripts");
      TORCHDALI_CHECK(count >= count_ && count <= kMaxDims, "`num_subscripts` is ", count,
                      ", expected ", count_, " to ", kMaxDims);
      count_ = count;
    }
    ellipsis_ = spec.has("ellipsis") ? spec.get<int>("ellipsis") : count_;
    TORCHDALI_CHECK(ellipsis_ >= 0 && ellipsis_ <= count_, "`ellipsis` is ", ellipsis_,
                    ", expected 0 to ", count_);
  }

  struct Part {
    int64_t offset = 0;  // elements, as the strides
    Shape shape, strides;
    Layout layout;
  };
  Part operator()(const SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const int ndim = in.shape.ndim();
    check_ndim(count_, in);
    int64_t stride = 1, offset = 0;
    Shape reversed_shape, reversed_strides;  // innermost first
    std::array<char, kMaxDims> letters{};
    int kept = kMaxDims;  // letters are filled in from the end
    for (int axis = ndim - 1; axis >= 0; --axis) {
      const int skipped = ndim - count_;
      const Subscript* subscript = axis < ellipsis_              ? &subscripts_[axis]
                                   : axis >= ellipsis_ + skipped ? &subscripts_[axis - skipped]
                                                                 : nullptr;
      const int64_t extent = in.shape[axis];
      const Range range = subscript != nullptr ? (*subscript)(ctx, axis, extent)
                                               : Range{.start = 0, .step = 1, .count = extent};
      offset += range.start * stride;
      if (range.keeps_axis) {
        reversed_shape.push_back(range.count);
        reversed_strides.push_back(range.step * stride);
        if (!in.layout.empty()) letters[--kept] = in.layout[axis];
      }
      stride *= extent;
    }
    Part part{.offset = offset,
              .shape = {},
              .strides = {},
              .layout = std::string_view(letters.data() + kept, kMaxDims - kept)};
    for (int i = reversed_shape.ndim() - 1; i >= 0; --i) {
      part.shape.push_back(reversed_shape[i]);
      part.strides.push_back(reversed_strides[i]);
    }
    return part;
  }

 private:
  std::array<Subscript, kMaxDims> subscripts_;
  int count_ = 0;
  int ellipsis_ = 0;  // subscripts from here on belong to the last axes
};

// Makes the output if nothing has to be copied.
bool share_part(SampleContext& ctx, const Subscripts::Part& part) {
  const SampleView& in = ctx.input(0);
  if (part.shape.volume() == 0) {
    ctx.output(0, in.dtype, part.shape, part.layout);
    return true;
  }
  if (!kernels::is_packed(part.shape, part.strides)) return false;
  ctx.share_input(0, 0,
                  {.data = in.as<char>() + part.offset * itemsize(in.dtype),
                   .dtype = in.dtype,
                   .shape = part.shape,
                   .layout = part.layout});
  return true;
}

class TensorSubscript final : public Operator {
 public:
  explicit TensorSubscript(const OpSpec& spec) : subscripts_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto part = subscripts_(ctx);
    if (share_part(ctx, part)) return;
    const SampleView& in = ctx.input(0);
    const SampleView& out = ctx.output(0, in.dtype, part.shape, part.layout);
    const auto copy = [&]<class T>() {
      kernels::copy_strided(out.as<T>(), in.as<const T>() + part.offset, part.shape, part.strides);
    };
    switch (itemsize(in.dtype)) {
      case 1: return copy.operator()<uint8_t>();
      case 2: return copy.operator()<uint16_t>();
      case 4: return copy.operator()<uint32_t>();
      default: return copy.operator()<uint64_t>();
    }
  }

 private:
  Subscripts subscripts_;
};

class TensorSubscriptGpu final : public gpu::KernelOperator<gpu::CopyKernel> {
 public:
  explicit TensorSubscriptGpu(const OpSpec& spec) : subscripts_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto part = subscripts_(ctx);
    if (share_part(ctx, part)) return;
    const SampleView& in = ctx.input(0);
    const int64_t size = itemsize(in.dtype);
    auto axes = gpu::dense_axes(part.shape, size);
    for (size_t i = 0; i < axes.size(); ++i)
      axes[i].in_stride = part.strides[static_cast<int>(i)] * size;
    const SampleView& out = ctx.output(0, in.dtype, part.shape, part.layout);
    tasks(ctx).add(ctx, gpu::make_copy(in.as<const char>() + part.offset * size, out.data,
                                       out.size_bytes(), size, axes));
  }

 private:
  Subscripts subscripts_;
};

class SubscriptDimCheck final : public Operator {
 public:
  explicit SubscriptDimCheck(const OpSpec& spec) : count_(spec.get<int>("num_subscripts")) {}
  void run(SampleContext& ctx) const override {
    check_ndim(count_, ctx.input(0));
    ctx.share_input(0, 0, ctx.input(0));
  }

 private:
  int count_;
};

void add_subscripts(SchemaBuilder& builder) {
  for (int i = 0; i < kMaxDims; ++i) {
    const auto add = [&](const char* prefix, const char* doc) {
      builder.optional_arg(str_cat(prefix, i), ArgType::kInt, str_cat("Subscript ", i, doc),
                           Arity::kPerSample);
    };
    add("at_", ": the selected position; the axis is removed.");
    add("lo_", ": the start of its range.");
    add("hi_", ": the end of its range (exclusive).");
    add("step_", ": the step of its range, of either sign.");
  }
}

TORCHDALI_OPERATOR("tensor_subscript")
    .doc(
        "Selects positions and ranges of axes. `x[1, 2:5]` creates it from `x`. Negative numbers "
        "count from the end, and ranges are clipped, as in Python. A view if the elements are "
        "contiguous.")
    .input("data", "Any layout, any element type.")
    .output("part", "The selected elements, with the letters of the axes that are left.")
    .with(add_subscripts)
    .optional_arg("num_subscripts", ArgType::kInt,
                  "Number of subscripts, including full ranges at the end.")
    .optional_arg("ellipsis", ArgType::kInt,
                  "Subscripts from this number on belong to the last axes instead of the next.")
    .cpu<TensorSubscript>()
    .gpu<TensorSubscriptGpu>();

TORCHDALI_OPERATOR("subscript_dim_check")
    .doc("Returns the input if it has enough dimensions. `x[:, :]` creates it from `x`.")
    .input("data", "Any layout, any element type.")
    .output("same", "The input, unchanged.")
    .required_arg("num_subscripts", ArgType::kInt, "The least number of dimensions.")
    .cpu<SubscriptDimCheck>()
    .gpu<gpu::ViewOperator<SubscriptDimCheck>>();

}  // namespace
}  // namespace torchdali
