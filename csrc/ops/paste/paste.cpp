// SPDX-License-Identifier: Apache-2.0
// fn.paste: images on a larger canvas of one color. Sizes follow the documentation of DALI's Paste,
// which has no CPU implementation.
#include <cmath>
#include <cstring>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"
#include "kernels/convert.h"
#include "kernels/window/fill.h"
#include "kernels/window/window_gpu.h"
#include "ops/input_layout.h"
#include "ops/window/window_task.h"

namespace torchdali {
namespace {

float checked_position(const Arg<float>& arg, const SampleContext& ctx, const char* name) {
  const float position = arg(ctx);
  TORCHDALI_CHECK(position >= 0 && position <= 1, "`", name, "` is ", position,
                  ", expected 0 to 1");
  return position;
}

// The position of an image on its canvas.
class PasteArgs {
 public:
  explicit PasteArgs(const OpSpec& spec)
      : layout_(spec, 0),
        fill_value_(spec.get<std::vector<int64_t>>("fill_value")),
        channels_(spec.get<int64_t>("n_channels")),
        ratio_(spec, "ratio"),
        min_canvas_size_(spec, "min_canvas_size"),
        x_(spec, "paste_x"),
        y_(spec, "paste_y") {
    TORCHDALI_CHECK(channels_ >= 0, "`n_channels` is ", channels_, ", expected 0 or more");
    if (fill_value_.size() == 1) fill_value_.resize(static_cast<size_t>(channels_), fill_value_[0]);
    TORCHDALI_CHECK(static_cast<int64_t>(fill_value_.size()) == channels_, "`fill_value` has ",
                    fill_value_.size(), " values, expected 1, or one for each of `n_channels`, ",
                    channels_);
  }

  // Makes the output; returns the position of the image in it.
  Shape operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK(in.shape[2] == channels_, "the input has ", in.shape[2],
                    " channels, and `n_channels` is ", channels_);
    const Shape shape{canvas(ctx, in.shape[0]), canvas(ctx, in.shape[1]), in.shape[2]};
    Shape at = shape;
    at[0] = place(checked_position(y_, ctx, "paste_y"), shape[0] - in.shape[0]);
    at[1] = place(checked_position(x_, ctx, "paste_x"), shape[1] - in.shape[1]);
    at[2] = 0;
    checked_size_bytes({.data = nullptr, .dtype = in.dtype, .shape = shape, .layout = {}});
    ctx.output(0, in.dtype, shape, layout);
    return at;
  }
  // The color of the canvas, as an element of a type for each channel.
  std::vector<uint64_t> color(DType dtype) const {
    std::vector<uint64_t> color;
    dispatch_dtype(dtype, [&]<class T>() {
      for (const int64_t value : fill_value_)
        color.push_back(kernels::element_bytes(kernels::convert<T>(value)));
    });
    return color;
  }

 private:
  int64_t canvas(const SampleContext& ctx, int64_t extent) const {
    const float ratio = ratio_(ctx), least = min_canvas_size_(ctx);
    constexpr float kMostPixels = 1e9f;  // along an axis
    TORCHDALI_CHECK(ratio >= 1 && ratio <= kMostPixels, "`ratio` is ", ratio,
                    ", expected 1 or more");
    TORCHDALI_CHECK(least <= kMostPixels, "`min_canvas_size` is ", least);
    const float wanted = std::max(ratio * static_cast<float>(extent), least);
    TORCHDALI_CHECK(wanted <= kMostPixels, "a canvas of ", wanted, " pixels is too large");
    return std::max(extent, static_cast<int64_t>(wanted));
  }
  static int64_t place(float position, int64_t room) {
    return std::min(room, static_cast<int64_t>(position * static_cast<float>(room)));
  }

  InputLayout layout_;
  std::vector<int64_t> fill_value_;
  int64_t channels_;
  Arg<float> ratio_, min_canvas_size_, x_, y_;
};

class Paste final : public Operator {
 public:
  explicit Paste(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const Shape at = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (out.volume() == 0) return;
    const int64_t width = out.shape[1], channels = out.shape[2];
    const int64_t pixel = channels * itemsize(in.dtype);
    char* const to = out.as<char>();
    const int64_t row = width * pixel, in_row = in.shape[1] * pixel;
    // One empty row of the canvas, which is copied to all others.
    char* const pattern = ctx.scratch<char>(static_cast<size_t>(row)).data();
    kernels::fill_channels(pattern, itemsize(in.dtype), width, 1, args_.color(in.dtype));
    const int64_t left = at[1] * pixel;
    for (int64_t y = 0; y < out.shape[0]; ++y) {
      char* const line = to + y * row;
      const int64_t source = y - at[0];
      if (source < 0 || source >= in.shape[0]) {
        std::memcpy(line, pattern, static_cast<size_t>(row));
        continue;
      }
      std::memcpy(line, pattern, static_cast<size_t>(left));
      if (in_row > 0)
        std::memcpy(line + left, in.as<const char>() + source * in_row,
                    static_cast<size_t>(in_row));
      std::memcpy(line + left + in_row, pattern, static_cast<size_t>(row - left - in_row));
    }
  }

 private:
  PasteArgs args_;
};

// The canvas is a window that extends beyond the image.
class PasteGpu final : public gpu::KernelOperator<gpu::WindowKernel> {
 public:
  explicit PasteGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    Shape anchor = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    for (int i = 0; i < anchor.ndim(); ++i) anchor[i] = -anchor[i];
    Task task;
    if (!gpu::set_window_place(task, in, out, anchor, out.shape, {0, 1, 2}, -1, 2)) return;
    const std::vector<uint64_t> color = args_.color(in.dtype);
    task.fill = blob(ctx).keep(std::span<const uint64_t>(color));
    tasks(ctx).add(ctx, task);
  }

 private:
  PasteArgs args_;
};

TORCHDALI_OPERATOR("paste")
    .doc("Puts each image on a larger canvas of one color.")
    .input("image", "Images; any element type.", {"HWC"})
    .output("canvas", "Element type and layout of the input.")
    .required_arg("fill_value", ArgType::kIntVec,
                  "Color of the canvas: one value for all channels, or one for each. Saturates.")
    .required_arg("ratio", ArgType::kFloat,
                  "Size of the canvas over that of the image, 1 or more, along both axes; the "
                  "product is truncated to whole pixels.",
                  Arity::kPerSample)
    .arg("min_canvas_size", 0.0f, "Least height and width of the canvas, in pixels.",
         Arity::kPerSample)
    .arg("n_channels", 3, "Number of channels of the images.")
    .arg("paste_x", 0.5f, "Horizontal position of the image, 0 (left) to 1 (right).",
         Arity::kPerSample)
    .arg("paste_y", 0.5f, "Vertical position of the image, 0 (top) to 1 (bottom).",
         Arity::kPerSample)
    .cpu<Paste>()
    .gpu<PasteGpu>();

}  // namespace
}  // namespace torchdali
