// SPDX-License-Identifier: Apache-2.0
// fn.crop_mirror_normalize: window, mirror, (x - mean) / std * scale + shift, conversion and change
// of layout in one pass over the box. The arithmetic is in kernels/window/normalize_box.h.
#include <bit>
#include <cstddef>

#include "core/argument.h"
#include "core/operator.h"
#include "gpu/chain.h"
#include "kernels/window/fill.h"
#include "kernels/window/normalize_box.h"
#include "kernels/window/window.h"
#include "kernels/window/window_gpu.h"
#include "ops/input_layout.h"
#include "ops/window/crop_window.h"
#include "ops/window/out_of_bounds.h"
#include "ops/window/window_task.h"

namespace torchdali {
namespace {

// The arguments, as a window of the input and its processing.
class NormalizeArgs {
 public:
  explicit NormalizeArgs(const OpSpec& spec)
      : layout_(spec, 0),
        crop_(spec),
        out_of_bounds_(spec),
        mirror_(spec, "mirror"),
        mean_(spec, "mean"),
        std_(spec, "std"),
        dtype_(spec.get<DType>("dtype")),
        output_layout_(spec.get<Layout>("output_layout")),
        image_layout_(output_layout_),
        pad_output_(spec.get<bool>("pad_output")),
        scale_(spec.get<float>("scale")),
        shift_(spec.get<float>("shift")) {
    TORCHDALI_CHECK_KIND(kType,
                         dtype_ == DType::kFloat || dtype_ == DType::kFloat16 ||
                             dtype_ == DType::kInt8 || dtype_ == DType::kUInt8,
                         "`dtype` is ", dtype_name(dtype_),
                         ", expected float32, float16, int8 or uint8");
  }

  struct Plan {
    Layout layout, out_layout;
    Window window;  // of the output, with its channels
    kernels::Overlap overlap;
    int64_t channels;  // of the input
    Shape out_shape;
    bool mirror;
    bool whole() const { return overlap.shape == window.shape; }
  };
  // The plan for a sample like `in`, in place of input 0.
  Plan operator()(const SampleContext& ctx, const SampleView& in) const {
    return plan(ctx, in, output_layout_);
  }
  // In a chain: the plan for the whole of `image`, and the part of an image.
  Plan whole(const SampleView& image, bool mirror) const {
    return plan(image, layout_(image), image_layout_, Window::whole(image.shape), mirror);
  }
  std::optional<ImagePart> part(const SampleContext& ctx, const SampleView& image) const {
    const Plan plan = this->plan(ctx, image, image_layout_);
    std::optional<ImagePart> part = image_part(plan.window, image.shape);
    if (part) part->columns.mirror = plan.mirror;
    return part;
  }
  // TakesImagePart::take_frames()
  bool take_frames() {
    if (output_layout_.empty()) return true;
    if (output_layout_[0] != 'F') return false;
    image_layout_ = Layout(output_layout_.str().substr(1));
    return true;
  }
  DType dtype() const { return dtype_; }
  float shift() const { return shift_; }
  // The value outside the sample. DALI pads with `fill_values` under the policy "pad", with zeros
  // (extra channels) otherwise.
  float fill(int64_t channel, int64_t channels) const {
    return out_of_bounds_.pads() ? out_of_bounds_.fill(channel, channels) : 0.0f;
  }
  // mean, followed by scale / std, of each channel of the input, or one value for all. Those of
  // added channels are ignored, as in DALI.
  void set_channels(const SampleContext& ctx, const Plan& plan, std::span<float> values) const {
    static thread_local std::vector<float> mean_buffer, std_buffer;
    const auto mean = mean_(ctx, mean_buffer), stddev = std_(ctx, std_buffer);
    const int64_t channels = plan.channels;
    const int64_t out_channels = plan.window.shape[plan.layout.find('C')];
    const auto check = [&](const char* name, size_t size) {
      const auto count = static_cast<int64_t>(size);
      TORCHDALI_CHECK(count == 1 || count == channels || count == out_channels, "`", name, "` has ",
                      size, " values, but the input has ", channels,
                      channels == 1 ? " channel" : " channels");
    };
    check("mean", mean.size());
    check("std", stddev.size());
    for (int64_t c = 0; c < channels; ++c) {
      values[c] = mean[mean.size() == 1 ? 0 : c];
      // A single factor, scale / std, as in DALI, so that results are bit-identical.
      values[channels + c] = scale_ / stddev[stddev.size() == 1 ? 0 : c];
    }
  }

 private:
  Plan plan(const SampleContext& ctx, const SampleView& in, const Layout& output_layout) const {
    const Layout layout = layout_(in);
    Window window = crop_(ctx, in.shape, layout);
    out_of_bounds_.apply(window, in.shape);
    return plan(in, layout, output_layout, window, mirror_(ctx) != 0);
  }
  Plan plan(const SampleView& in, const Layout& layout, const Layout& output_layout, Window window,
            bool mirror) const {
    const Layout out_layout = output_layout.empty() ? layout : output_layout;
    const kernels::Overlap overlap(in.shape, window.anchor, window.shape);
    const int channel_axis = layout.find('C');
    const int64_t channels = in.shape[channel_axis];
    if (pad_output_ && channels > 0)
      window.shape[channel_axis] = std::bit_ceil(static_cast<uint64_t>(channels));
    Shape out_shape;
    for (int i = 0; i < out_layout.size(); ++i)
      out_shape.push_back(window.shape[find_axis(layout, out_layout, i)]);
    check_permutation(layout, out_layout);
    return {layout, out_layout, window, overlap, channels, out_shape, mirror};
  }
  // Axis of the input that is axis `i` of the output.
  static int find_axis(const Layout& layout, const Layout& out_layout, int i) {
    const int axis = layout.find(out_layout[i]);
    if (axis < 0) check_permutation(layout, out_layout);
    return axis;
  }
  static void check_permutation(const Layout& layout, const Layout& out_layout) {
    bool same = layout.size() == out_layout.size();
    for (int i = 0; same && i < layout.size(); ++i) same = out_layout.find(layout[i]) >= 0;
    TORCHDALI_CHECK_KIND(kLayout, same, "`output_layout` ", out_layout,
                         " is not an order of the axes of the input's layout ", layout,
                         to_fix("pass e.g. output_layout=", layout));
  }

  InputLayout layout_;
  CropArgs crop_;
  OutOfBounds out_of_bounds_;
  Arg<int> mirror_;
  ListArg<float> mean_, std_;
  DType dtype_;
  Layout output_layout_, image_layout_;
  bool pad_output_;
  float scale_, shift_;
};

// The box of a plan; the first elements of input and output are at the beginning.
kernels::NormalizeBox make_box(SampleContext& ctx, const NormalizeArgs& args,
                               const NormalizeArgs::Plan& plan, const SampleView& in,
                               const SampleView& out) {
  const auto& [layout, out_layout, window, overlap, channels, out_shape, mirror] = plan;
  kernels::NormalizeBox box;
  box.in_dtype = in.dtype;
  box.out_dtype = args.dtype();
  box.mirror = mirror;
  box.shift = args.shift();
  box.bypass_cache = ctx.is_read_later(0);
  const std::span<float> values = ctx.scratch<float>(2 * channels);
  args.set_channels(ctx, plan, values);
  box.mean = values.first(channels);
  box.scale = values.last(channels);
  const int ndim = in.shape.ndim(), width_axis = layout.find('W');
  int64_t in_offset = 0, out_offset = 0, in_stride = 1;
  int64_t out_strides[kMaxDims];
  for (int64_t i = ndim - 1, stride = 1; i >= 0; stride *= out_shape[i--]) out_strides[i] = stride;
  for (int i = ndim - 1; i >= 0; in_stride *= in.shape[i--]) {
    const kernels::Axis axis{.extent = overlap.shape[i],
                             .in_stride = in_stride,
                             .out_stride = out_strides[out_layout.find(layout[i])]};
    int64_t to = overlap.to[i];
    if (i == width_axis && box.mirror) to = window.shape[i] - to - axis.extent;
    in_offset += overlap.from[i] * axis.in_stride;
    out_offset += to * axis.out_stride;
    switch (layout[i]) {
      case 'W': box.w = axis; break;
      case 'C': box.c = axis; break;
      case 'H': box.h = axis; break;
      default: box.outer[box.num_outer++] = axis;
    }
  }
  box.in = in.as<const char>() + in_offset * itemsize(in.dtype);
  box.out = out.as<char>() + out_offset * itemsize(args.dtype());
  return box;
}

// An image that is normalized some rows at a time.
class NormalizedRows final : public ImageRowSink {
 public:
  NormalizedRows(SampleContext& ctx, const kernels::NormalizeBox& box)
      : box_(box), scratch_(ctx.scratch<std::byte>(kernels::scratch_bytes(box)).data()) {}
  void take_rows(int64_t begin, int64_t end, const void* rows, int64_t row_stride) override {
    kernels::NormalizeBox some = box_;
    some.h.extent = end - begin;
    some.h.in_stride = row_stride;
    some.in = static_cast<const char*>(rows);
    some.out += begin * some.h.out_stride * itemsize(some.out_dtype);
    kernels::normalize(some, scratch_);
  }

 private:
  kernels::NormalizeBox box_;
  std::byte* scratch_;
};

class CropMirrorNormalize final : public Operator, public NormalizesRows {
 public:
  explicit CropMirrorNormalize(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const NormalizeArgs::Plan plan = args_(ctx, in);
    SampleView& out = ctx.output(0, args_.dtype(), plan.out_shape, plan.out_layout);
    if (!plan.whole()) fill(out, plan.out_layout.find('C'));
    if (plan.overlap.empty) return;
    const kernels::NormalizeBox box = make_box(ctx, args_, plan, in, out);
    kernels::normalize(box, ctx.scratch<std::byte>(kernels::scratch_bytes(box)).data());
  }

  std::optional<ImagePart> part(SampleContext& ctx, const SampleView& in) const override {
    return args_.part(ctx, in);
  }
  bool take_frames() override { return args_.take_frames(); }
  std::unique_ptr<ImageRowSink> start(SampleContext& ctx, const SampleView& in,
                                      bool mirror) const override {
    const NormalizeArgs::Plan plan = args_.whole(in, mirror);
    const SampleView& out = ctx.output(0, args_.dtype(), plan.out_shape, plan.out_layout);
    return std::make_unique<NormalizedRows>(ctx, make_box(ctx, args_, plan, in, out));
  }

 private:
  void fill(const SampleView& out, int axis) const {
    int64_t outer = 1, inner = 1;
    const int64_t channels = out.shape[axis];
    for (int i = 0; i < out.shape.ndim(); ++i)
      if (i != axis) (i < axis ? outer : inner) *= out.shape[i];
    std::vector<uint64_t> elements(static_cast<size_t>(channels));
    for (int64_t c = 0; c < channels; ++c)
      elements[static_cast<size_t>(c)] = kernels::fill_element(out.dtype, args_.fill(c, channels));
    kernels::fill_channels(out.data, itemsize(out.dtype), outer, inner, elements);
  }

  NormalizeArgs args_;
};

class CropMirrorNormalizeGpu final : public gpu::KernelOperator<gpu::NormalizeKernel>,
                                     public gpu::NormalizesInChain {
 public:
  explicit CropMirrorNormalizeGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const NormalizeArgs::Plan plan = args_(ctx, in);
    const auto& [layout, out_layout, window, overlap, channels, out_shape, mirror] = plan;
    const SampleView& out = ctx.output(0, args_.dtype(), out_shape, out_layout);
    std::vector<int> order(static_cast<size_t>(layout.size()));
    for (int i = 0; i < layout.size(); ++i)
      order[static_cast<size_t>(i)] = out_layout.find(layout[i]);
    Task task;
    if (!gpu::set_window(blob(ctx), task, in, out, window.anchor, window.shape, order,
                         mirror ? layout.find('W') : -1, layout.find('C'),
                         [&](int64_t c, int64_t count) { return args_.fill(c, count); }))
      return;
    set_values(ctx, plan, blob(ctx), task);
    const int64_t step = task.in_stride[2];
    if (in.dtype == DType::kUInt8 && out.dtype == DType::kFloat && task.ndim == 3 &&
        task.channel_axis == 0 && channels == 3 && plan.whole() && (step == 3 || step == -3)) {
      task.planes = true;
      task.size = task.extent[1] * ((task.extent[2] + 3) / 4);
    }
    tasks(ctx).add(ctx, task);
  }
  std::optional<ImagePart> part(SampleContext& ctx, const SampleView& in) const override {
    return args_.part(ctx, in);
  }
  void finish(SampleContext& ctx, const SampleView& in, gpu::Blob& blob,
              gpu::ChainTask& task) const override {
    const NormalizeArgs::Plan plan = args_.whole(in, false);
    set_values(ctx, plan, blob, task);
    const SampleView& out = ctx.output(0, args_.dtype(), plan.out_shape, plan.out_layout);
    task.out = out.data;
    task.final_dtype = out.dtype;
    for (int64_t i = out.shape.ndim() - 1, stride = 1; i >= 0; stride *= out.shape[i--])
      (out.layout[i] == 'H'   ? task.row_stride
       : out.layout[i] == 'W' ? task.column_stride
                              : task.channel_stride) = stride;
  }

 private:
  // Of a NormalizeTask or a ChainTask.
  template <class SomeTask>
  void set_values(const SampleContext& ctx, const NormalizeArgs::Plan& plan, gpu::Blob& blob,
                  SomeTask& task) const {
    static thread_local std::vector<float> values;
    const auto channels = static_cast<size_t>(plan.channels);
    values.assign(2 * channels, 0.0f);
    args_.set_channels(ctx, plan, values);
    const std::span<const float> both = values;
    task.shift = args_.shift();
    task.mean = blob.keep(both.first(channels));
    task.scale = blob.keep(both.last(channels));
  }

  NormalizeArgs args_;
};

TORCHDALI_OPERATOR("crop_mirror_normalize")
    .doc(
        "Crops, mirrors left to right, normalizes, converts and changes the layout in one pass: "
        "scale * (x - mean) / std + shift, computed in float. Results for integers are rounded to "
        "the nearest, halves away from zero, and saturate. Without a size the window is the whole "
        "sample.")
    .input("data", "Images, volumes or sequences; any element type.",
           {"HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW"})
    .output("normalized", "The window, with `dtype` and `output_layout`.")
    .with(add_crop_args)
    .with(add_out_of_bounds_args)
    .arg("dtype", DType::kFloat, "Element type of the output: float32, float16, int8 or uint8.")
    .arg("mean", std::vector<float>{0.0f},
         "Mean to subtract: one for all channels or one for each (of the input or, with "
         "`pad_output`, of the output).",
         Arity::kPerSample)
    .arg("std", std::vector<float>{1.0f},
         "Standard deviation to divide by: one for all channels or one for each.",
         Arity::kPerSample)
    .arg("scale", 1.0f, "Factor of the result.")
    .arg("shift", 0.0f, "Added to the result.")
    .arg("mirror", 0, "If not 0, mirrors the W axis.", Arity::kPerSample)
    .arg("output_layout", Layout("CHW"),
         "Order of the axes of the output, a permutation of the layout of the input; empty: that "
         "of the input. Required for sequences and volumes, e.g. \"FCHW\".")
    .arg("pad_output", false,
         "Add channels up to a power of two, with `fill_values` for the policy \"pad\", else "
         "0.")
    .deprecated_arg("image_type", ArgType::kImageType, "Has no effect.")
    .deprecated_arg("output_dtype", ArgType::kDType, "Old name of `dtype`.", "dtype")
    .sequences()
    .volumes()
    .image_role(ImageRole::kNormalizer)
    .cpu<CropMirrorNormalize>()
    .gpu<CropMirrorNormalizeGpu>();

}  // namespace
}  // namespace torchdali
