// SPDX-License-Identifier: Apache-2.0
// fn.pad_crop: pads images by pixels, and cuts a window out of what that gives; in one copy.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/argument.h"
#include "gpu/operator.h"
#include "kernels/augment/pad_crop_gpu.h"
#include "kernels/augment/padding.h"
#include "kernels/convert.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

using kernels::padded_source;
using kernels::PadMode;

PadMode pad_mode(const std::string& name) {
  constexpr const char* kNames[] = {"constant", "edge", "reflect", "symmetric"};
  for (int i = 0; i < 4; ++i)
    if (name == kNames[i]) return static_cast<PadMode>(i);
  raise(ErrorKind::kValue, "`mode` is \"", name,
        "\", expected \"constant\", \"edge\", \"reflect\" or \"symmetric\"");
}

// A copy of a window of the padded image.
struct PadCropPlan {
  int64_t planes = 1, channels = 1;  // one of these is 1
  int64_t in_height = 0, in_width = 0, height = 0, width = 0;
  int64_t first_y = 0, first_x = 0;  // of the window, in the input
  PadMode mode = PadMode::kConstant;
  std::vector<char> fill;  // an element for each plane or channel
};

// What both halves do first.
class PadCropArgs {
 public:
  explicit PadCropArgs(const OpSpec& spec)
      : layout_(spec, 0),
        padding_(spec, "padding"),
        size_(spec, "size"),
        position_(spec, "position"),
        fill_(spec, "fill_value"),
        pad_if_needed_(spec.get<bool>("pad_if_needed")),
        mode_(pad_mode(spec.get<std::string>("mode"))) {}

  // Makes the output. False if it has no elements.
  bool operator()(SampleContext& ctx, PadCropPlan& plan) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    std::array<int64_t, 4> pads;
    read_padding(ctx, pads);
    const int axis_of[2] = {layout.find('H'), layout.find('W')};
    Shape shape = in.shape;
    std::array<int64_t, 2> first;  // of the window, in the input
    thread_local std::vector<int64_t> sizes;
    thread_local std::vector<float> positions;
    const auto size = size_.given() ? size_(ctx, sizes) : std::span<const int64_t>{};
    const auto position = position_(ctx, positions);
    TORCHDALI_CHECK(!size_.given() || size.size() == 2, "`size` has ", size.size(),
                    " values, expected height and width");
    TORCHDALI_CHECK(position.size() == 2, "`position` has ", position.size(),
                    " values, expected two, along y and x");
    for (size_t i = 0; i < 2; ++i) {
      const int64_t extent = in.shape[axis_of[i]];
      int64_t before = pads[1 - i], padded = extent + before + pads[3 - i];
      const int64_t wanted = size_.given() ? size[i] : padded;
      TORCHDALI_CHECK(wanted >= 0, "`size` has ", wanted, ", expected at least 0");
      if (pad_if_needed_ && padded < wanted) {
        before += wanted - padded;
        padded += 2 * (wanted - padded);
      }
      TORCHDALI_CHECK(wanted <= padded, "`size` has ", wanted, ", and the padded image has ",
                      padded, i == 0 ? " rows" : " columns",
                      to_fix("use a smaller size, more padding, or pad_if_needed=True"));
      TORCHDALI_CHECK(mode_ == PadMode::kConstant || extent > 0 || wanted == 0,
                      "input `data` has no pixels to repeat");
      TORCHDALI_CHECK(position[i] >= 0 && position[i] < 1, "`position` has ", position[i],
                      ", expected at least 0 and less than 1");
      const auto places = static_cast<double>(padded - wanted + 1);
      first[i] = static_cast<int64_t>(static_cast<double>(position[i]) * places) - before;
      shape[axis_of[i]] = wanted;
    }
    const SampleView& out = ctx.output(0, in.dtype, shape, layout);
    if (out.volume() == 0) return false;
    const int h = axis_of[0], w = axis_of[1], c = layout.find('C');
    const int64_t channels = c < 0 ? 1 : in.shape[c];
    (c < h ? plan.planes : plan.channels) = channels;
    plan.in_height = in.shape[h];
    plan.in_width = in.shape[w];
    plan.height = shape[h];
    plan.width = shape[w];
    plan.first_y = first[0];
    plan.first_x = first[1];
    plan.mode = mode_;
    plan.fill.resize(static_cast<size_t>(channels * itemsize(in.dtype)));
    make_fill(ctx, in.dtype, channels, plan.fill.data());
    return true;
  }

 private:
  // Left, top, right, bottom.
  void read_padding(const SampleContext& ctx, std::array<int64_t, 4>& pads) const {
    thread_local std::vector<int64_t> buffer;
    const auto given = padding_(ctx, buffer);
    TORCHDALI_CHECK(given.size() == 1 || given.size() == 2 || given.size() == 4, "`padding` has ",
                    given.size(), " values, expected 1, 2 or 4");
    for (size_t i = 0; i < 4; ++i) {
      pads[i] = given[i % given.size()];
      constexpr int64_t kMost = 1 << 30;
      TORCHDALI_CHECK(pads[i] >= 0 && pads[i] <= kMost, "`padding` has ", pads[i],
                      ", expected 0 to ", kMost);
    }
  }

  void make_fill(const SampleContext& ctx, DType dtype, int64_t channels, char* to) const {
    thread_local std::vector<float> buffer;
    const auto given = fill_(ctx, buffer);
    TORCHDALI_CHECK(given.size() == 1 || static_cast<int64_t>(given.size()) == channels,
                    "`fill_value` has ", given.size(), " values, expected 1 or ", channels);
    dispatch_dtype(dtype, [&]<class T>() {
      for (int64_t c = 0; c < channels; ++c) {
        const T value = kernels::convert<T>(given[given.size() == 1 ? 0 : static_cast<size_t>(c)]);
        std::memcpy(to + c * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
      }
    });
  }

  InputLayout layout_;
  ListArg<int64_t> padding_, size_;
  ListArg<float> position_, fill_;
  bool pad_if_needed_;
  PadMode mode_;
};

class PadCrop final : public Operator {
 public:
  explicit PadCrop(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    PadCropPlan plan;
    if (args_(ctx, plan)) copy(ctx.output_view(0), ctx.input(0), plan);
  }

 private:
  static void copy(const SampleView& out, const SampleView& in, const PadCropPlan& plan) {
    const int64_t item = itemsize(in.dtype), pixel = item * plan.channels;
    const int64_t in_row = plan.in_width * pixel, out_row = plan.width * pixel;
    // Columns that are copied as they are.
    const int64_t left = std::clamp<int64_t>(-plan.first_x, 0, plan.width);
    const int64_t right = std::clamp<int64_t>(plan.in_width - plan.first_x, left, plan.width);
    const bool is_constant = plan.mode == PadMode::kConstant;
    thread_local std::vector<char> constants;  // a row of the constant
    constants.resize(is_constant ? static_cast<size_t>(out_row) : 0);
    for (int64_t plane = 0; plane < plan.planes; ++plane) {
      const char* from = in.as<const char>() + plane * plan.in_height * in_row;
      char* to = out.as<char>() + plane * plan.height * out_row;
      if (is_constant) repeat_pixel(constants, plan.fill.data() + plane * item, pixel);
      for (int64_t y = 0; y < plan.height; ++y, to += out_row) {
        const int64_t row = padded_source(y + plan.first_y, plan.in_height, plan.mode);
        const char* line = row < 0 ? nullptr : from + row * in_row;
        const int64_t begin = line == nullptr ? plan.width : left,
                      end = line == nullptr ? plan.width : right;
        const auto add_pixels = [&](int64_t x, int64_t last) {
          if (is_constant) {
            std::memcpy(to + x * pixel, constants.data(), static_cast<size_t>((last - x) * pixel));
            return;
          }
          for (; x < last; ++x) {
            const int64_t at = padded_source(x + plan.first_x, plan.in_width, plan.mode);
            std::memcpy(to + x * pixel, line + at * pixel, static_cast<size_t>(pixel));
          }
        };
        if (begin > 0) add_pixels(0, begin);
        if (begin < end)
          std::memcpy(to + begin * pixel, line + (begin + plan.first_x) * pixel,
                      static_cast<size_t>((end - begin) * pixel));
        if (end < plan.width) add_pixels(end, plan.width);
      }
    }
  }
  // Fills a row, which is not empty, with a pixel.
  static void repeat_pixel(std::vector<char>& row, const char* value, int64_t pixel) {
    auto done = static_cast<size_t>(pixel);
    std::memcpy(row.data(), value, done);
    for (; done < row.size(); done *= 2)
      std::memcpy(row.data() + done, row.data(), std::min(done, row.size() - done));
  }

  PadCropArgs args_;
};

class PadCropGpu final : public gpu::KernelOperator<gpu::PadCropKernel> {
 public:
  explicit PadCropGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    PadCropPlan plan;
    if (!args_(ctx, plan)) return;
    const SampleView& in = ctx.input(0);
    Task task;
    task.in = in.data;
    task.out = ctx.output_view(0).data;
    task.size = ctx.output_view(0).volume();
    task.itemsize = itemsize(in.dtype);
    task.in_height = plan.in_height;
    task.in_width = plan.in_width;
    task.height = plan.height;
    task.width = plan.width;
    task.channels = plan.channels;
    task.first_y = plan.first_y;
    task.first_x = plan.first_x;
    task.mode = plan.mode;
    task.fill = blob(ctx).keep<char>(plan.fill);
    tasks(ctx).add(ctx, task);
  }

 private:
  PadCropArgs args_;
};

TORCHDALI_OPERATOR("pad_crop")
    .doc(
        "Pads an image by numbers of pixels, and cuts a window out of the padded image, as "
        "torchvision's Pad and RandomCrop do. Beyond DALI, whose fn.pad pads to a shape with a "
        "constant.")
    .input("data", "Images of any element type.", {"HWC", "CHW", "HW"})
    .output("padded", "Element type and layout of the input.")
    .arg("padding", std::vector<int64_t>{0},
         "Pixels that are added: left, top, right, bottom; two: left and right, top and bottom; or "
         "one for all.",
         Arity::kPerSample)
    .optional_arg("size", ArgType::kIntVec,
                  "Height and width of the window. Default: the padded image.", Arity::kPerSample)
    .arg("pad_if_needed", false,
         "Pads images that are too small, on both sides by what is missing.")
    .arg("position", std::vector<float>{0.0f, 0.0f},
         "Where the window is, along y and x: 0 to 1, exclusive; all its places are equally long "
         "parts of this range.",
         Arity::kPerSample)
    .arg("mode", "constant",
         "Values of added pixels: \"constant\", \"edge\" (the nearest pixel), \"reflect\" "
         "(mirrored at the last pixel) or \"symmetric\" (that repeats it).")
    .arg("fill_value", std::vector<float>{0.0f},
         "The constant: one, or one for each channel. Integers are rounded and saturate.",
         Arity::kPerSample)
    .cpu<PadCrop>()
    .gpu<PadCropGpu>();

}  // namespace
}  // namespace torchdali
