// SPDX-License-Identifier: Apache-2.0
// fn.erase: fills regions of each sample.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/argument.h"
#include "core/known_layout.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/window/erase_gpu.h"
#include "kernels/window/fill.h"
#include "kernels/window/window.h"
#include "ops/axes.h"
#include "ops/window/crop_window.h"

namespace torchdali {
namespace {

// Regions of a sample and their fill values.
class EraseArgs {
 public:
  explicit EraseArgs(const OpSpec& spec)
      : layout_(spec),
        axes_(spec, /*names_win=*/true),
        anchor_(spec, "anchor"),
        shape_(spec, "shape"),
        fill_value_(spec, "fill_value"),
        named_axes_(spec.has("axes") || spec.has("axis_names")),
        centered_(spec.get<bool>("centered_anchor")) {
    TORCHDALI_CHECK(
        !spec.has("normalized") || !(spec.has("normalized_anchor") || spec.has("normalized_shape")),
        "`normalized` excludes `normalized_anchor` and `normalized_shape`");
    const bool both = spec.get<bool>("normalized");
    normalized_anchor_ = both || spec.get<bool>("normalized_anchor");
    normalized_shape_ = both || spec.get<bool>("normalized_shape");
  }

  struct Plan {
    std::span<const Window> regions;
    std::span<const float> values;  // one, or one per channel
    int channel_axis;

    // `values` as elements of a type.
    std::vector<uint64_t> elements(DType dtype) const {
      std::vector<uint64_t> elements;
      for (const float value : values) elements.push_back(kernels::fill_element(dtype, value));
      return elements;
    }
  };
  // Valid until the next call on this thread. If there are no regions, the output is a view of the
  // input.
  Plan operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    static thread_local std::vector<Window> regions;
    regions.clear();
    // Axes that the user numbers need no layout.
    const Layout layout = named_axes_ ? in.layout : layout_(in.shape, in.layout);
    find_regions(ctx, in, layout, regions);
    static thread_local std::vector<float> buffer;
    auto values = fill_value_(ctx, buffer);
    static constexpr float kBlack = 0.0f;
    if (values.empty()) values = {&kBlack, 1};
    const int channel_axis = layout.find('C');
    TORCHDALI_CHECK_KIND(kLayout, values.size() == 1 || channel_axis >= 0, "`fill_value` has ",
                         values.size(), " values, and the input no channels",
                         to_fix("give it a layout with \"C\", or one value"));
    if (regions.empty()) ctx.share_input(0, 0, in);
    else check_values(values.size(), channel_axis < 0 ? -1 : in.shape[channel_axis]);
    return {regions, values, channel_axis};
  }

 private:
  // The parts of the regions inside the sample.
  void find_regions(const SampleContext& ctx, const SampleView& in, const Layout& layout,
                    std::vector<Window>& regions) const {
    AxisList axes;
    if (named_axes_) axes = axes_(ctx, in.shape, layout);
    else
      for (int i = 0; i < in.shape.ndim(); ++i)
        if (layout.empty() || layout[i] != 'C') axes.add(i);
    static thread_local std::vector<float> anchor_buffer, shape_buffer;
    const auto shapes = shape_(ctx, shape_buffer);
    auto anchors = anchor_(ctx, anchor_buffer);
    if (anchors.empty()) {  // at the origin
      anchor_buffer.assign(shapes.size(), 0.0f);
      anchors = anchor_buffer;
    }
    TORCHDALI_CHECK(anchors.size() == shapes.size(), "`anchor` has ", anchors.size(),
                    " values and `shape` ", shapes.size(), ", expected as many");
    const auto count = static_cast<size_t>(axes.count);
    TORCHDALI_CHECK(count > 0 && shapes.size() % count == 0, "`shape` has ", shapes.size(),
                    " values, expected one for each of the ", axes.count,
                    " axes, a region after the other");
    for (size_t first = 0; first < shapes.size(); first += count) {
      Window region = Window::whole(in.shape);
      bool empty = false;
      for (size_t i = 0; i < count; ++i) {
        const int axis = axes.axes[i];
        const auto extent = static_cast<float>(in.shape[axis]);
        const float shape = shapes[first + i] * (normalized_shape_ ? extent : 1.0f);
        float begin = anchors[first + i] * (normalized_anchor_ ? extent : 1.0f);
        if (centered_) begin -= shape / 2;
        TORCHDALI_CHECK(!std::isnan(begin) && !std::isnan(shape),
                        "`anchor` or `shape` is not a number");
        region.anchor[axis] = position(begin, in.shape[axis]);
        region.shape[axis] = position(begin + shape, in.shape[axis]) - region.anchor[axis];
        empty |= region.shape[axis] <= 0;
      }
      if (!empty && in.volume() > 0) regions.push_back(region);
    }
  }
  // The element that contains a coordinate, clamped to the sample. Infinity minus infinity is NaN.
  static int64_t position(float x, int64_t extent) {
    if (!(x > 0)) return 0;
    return x < static_cast<float>(extent) ? std::min(static_cast<int64_t>(x), extent) : extent;
  }
  static void check_values(size_t count, int64_t channels) {
    TORCHDALI_CHECK(count == 1 || static_cast<int64_t>(count) == channels, "`fill_value` has ",
                    count, " values, and the input ", channels, " channels");
  }

  KnownLayout layout_;
  AxisArgs axes_;
  ListArg<float> anchor_, shape_, fill_value_;
  bool named_axes_, centered_, normalized_anchor_, normalized_shape_;
};

class Erase final : public Operator {
 public:
  explicit Erase(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto plan = args_(ctx);
    if (plan.regions.empty()) return;
    const SampleView& out = ctx.output(0, in.dtype, in.shape, in.layout);
    std::memcpy(out.data, in.data, static_cast<size_t>(in.size_bytes()));
    const std::vector<uint64_t> elements = plan.elements(in.dtype);
    for (const Window& region : plan.regions)
      fill(out.as<char>(), itemsize(in.dtype), in.shape, region, plan.channel_axis, elements);
  }

 private:
  static void fill(char* out, int64_t size, const Shape& shape, const Window& region,
                   int channel_axis, std::span<const uint64_t> elements) {
    // Runs of one value. If channels are innermost and differ, the pattern is a row of them.
    if (elements.size() == 1) {
      each_run(shape, region, [&](int64_t at, int64_t n) {
        kernels::fill(out + at * size, size, n, elements[0]);
      });
    } else if (channel_axis == shape.ndim() - 1) {
      const auto channels = elements.subspan(static_cast<size_t>(region.anchor[channel_axis]),
                                             static_cast<size_t>(region.shape[channel_axis]));
      const char* pattern = nullptr;
      int64_t length = 0;
      each_run(shape, region, [&](int64_t at, int64_t n) {
        char* run = out + at * size;
        if (n <= length) {
          std::memcpy(run, pattern, static_cast<size_t>(n * size));
          return;
        }
        kernels::fill_channels(run, size, n / std::ssize(channels), 1, channels);
        pattern = run;
        length = n;
      });
    } else {
      Window one = region;
      one.shape[channel_axis] = 1;
      for (int64_t c = 0; c < region.shape[channel_axis]; ++c) {
        one.anchor[channel_axis] = region.anchor[channel_axis] + c;
        const uint64_t element = elements[static_cast<size_t>(one.anchor[channel_axis])];
        each_run(shape, one,
                 [&](int64_t at, int64_t n) { kernels::fill(out + at * size, size, n, element); });
      }
    }
  }
  template <class Run>
  static void each_run(const Shape& shape, const Window& region, Run&& run) {
    kernels::for_each_run(shape, region.anchor, shape, region.anchor, region.shape,
                          [&](int64_t, int64_t at, int64_t count) { run(at, count); });
  }

  EraseArgs args_;
};

class EraseGpu final : public gpu::KernelOperator<gpu::EraseKernel> {
 public:
  explicit EraseGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const auto plan = args_(ctx);
    if (plan.regions.empty()) return;
    const int ndim = in.shape.ndim();
    TORCHDALI_CHECK_KIND(kUnsupported, ndim <= gpu::kMaxAxes, "a tensor of ", ndim,
                         " dimensions, on the GPU at most ", gpu::kMaxAxes, " are possible",
                         to_fix("use fn.reshape, or the CPU"));
    const SampleView& out = ctx.output(0, in.dtype, in.shape, in.layout);
    Task task;
    task.in = in.data;
    task.out = out.data;
    task.size = out.volume();
    task.ndim = ndim;
    task.itemsize = static_cast<int>(itemsize(in.dtype));
    task.channel_axis = plan.values.size() == 1 ? -1 : plan.channel_axis;
    std::copy(in.shape.begin(), in.shape.end(), task.extent);
    task.boxes = std::ssize(plan.regions);
    std::vector<int64_t> bounds;
    for (const Window& region : plan.regions)
      for (int i = 0; i < ndim; ++i) {
        bounds.push_back(region.anchor[i]);
        bounds.push_back(region.anchor[i] + region.shape[i]);
      }
    task.bounds = blob(ctx).keep(std::span<const int64_t>(bounds));
    const std::vector<uint64_t> fill = plan.elements(in.dtype);
    task.fill = blob(ctx).keep(std::span<const uint64_t>(fill));
    tasks(ctx).add(ctx, task);
  }

 private:
  EraseArgs args_;
};

TORCHDALI_OPERATOR("erase")
    .doc(
        "Fills regions of each sample. `anchor` and `shape` have a value for each axis of each "
        "region. Parts outside the sample are ignored. A region extends from the element that "
        "contains its anchor to the element before the one that contains its end. A view if there "
        "is nothing to erase.")
    .input("data", "Any layout, any element type.")
    .output("erased", "Shape, element type and layout of the input.")
    .arg("anchor", std::vector<float>{},
         "Start of the regions; empty: at the origin. Elements, or fractions of the extent with "
         "`normalized` or `normalized_anchor`.",
         Arity::kPerSample)
    .arg("shape", std::vector<float>{},
         "Extents of the regions; empty: nothing is erased. Elements, or fractions of the extent "
         "with `normalized` or `normalized_shape`.",
         Arity::kPerSample)
    .arg("axes", std::vector<int64_t>{1, 0},
         "Axes of `anchor` and `shape`, as numbers; negative ones count from the end. "
         "Without this and `axis_names`, all axes except the channels.")
    .arg("axis_names", "HW", "The axes as letters of the layout; if given, `axes` is ignored.")
    .arg("fill_value", std::vector<float>{0.0f},
         "Value to fill with, one for all or one per channel; empty: 0. Integers are truncated and "
         "saturate.",
         Arity::kPerSample)
    .arg("normalized", false,
         "Coordinates are fractions of the extents; excludes the two arguments below.")
    .arg("normalized_anchor", false, "`anchor` is in fractions of the extents.")
    .arg("normalized_shape", false, "`shape` is in fractions of the extents.")
    .arg("centered_anchor", false, "`anchor` is the center of a region.")
    .sequences()
    .volumes()
    .cpu<Erase>()
    .gpu<EraseGpu>();

}  // namespace
}  // namespace torchdali
