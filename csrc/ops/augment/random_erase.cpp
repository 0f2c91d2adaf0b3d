// SPDX-License-Identifier: Apache-2.0
// fn.random_erase: fills a random rectangle, as torchvision's RandomErasing does.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "core/argument.h"
#include "gpu/operator.h"
#include "kernels/augment/erase_gpu.h"
#include "kernels/augment/erase_noise.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

using kernels::Rectangle;

// What is filled, with what.
struct Erasure {
  Rectangle at;
  int64_t planes = 1, channels = 1;  // one of these is 1
  int64_t height = 0, width = 0;
  std::vector<float> values;  // for each plane or channel, or
  bool noise = false;         // draws of these blocks
  uint64_t seed = 0, sample = 0, block = 0;
};

// What both halves do first.
class RandomEraseArgs {
 public:
  explicit RandomEraseArgs(const OpSpec& spec)
      : layout_(spec, 0),
        p_(spec, "p"),
        value_(spec, "value"),
        noise_(spec.get<bool>("noise")),
        scale_(spec.get<std::vector<float>>("scale")),
        ratio_(spec.get<std::vector<float>>("ratio")) {
    check_pair(scale_, "scale");
    check_pair(ratio_, "ratio");
    TORCHDALI_CHECK(scale_[1] <= 1, "`scale` has ", scale_[1], ", expected at most 1");
    TORCHDALI_CHECK(ratio_[0] > 0, "`ratio` has ", ratio_[0], ", expected numbers above 0");
  }

  // Makes the output. False if the input is the result.
  bool operator()(SampleContext& ctx, Erasure& to) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8 || in.dtype == DType::kFloat,
                         "input `data` is ", dtype_name(in.dtype), ", expected uint8 or float32",
                         to_fix("use fn.cast"));
    const int64_t height = in.shape[layout.find('H')], width = in.shape[layout.find('W')];
    RandomStream random = ctx.random();
    const float p = p_(ctx);
    TORCHDALI_CHECK(p >= 0 && p <= 1, "`p` is ", p, ", expected 0 to 1");
    std::optional<Rectangle> erased;
    if (random.uniform_float() < p) erased = draw(height, width, random);
    if (!erased.has_value()) {
      SampleView same = in;
      same.layout = layout;
      ctx.share_input(0, 0, same);
      return false;
    }
    ctx.output(0, in.dtype, in.shape, layout);
    const int64_t channels = in.shape[layout.find('C')];
    (layout.find('C') == 0 ? to.planes : to.channels) = channels;
    to.height = height;
    to.width = width;
    to.at = *erased;
    to.noise = noise_;
    to.seed = random.seed();
    to.sample = random.sample();
    to.block = random.next_block();
    thread_local std::vector<float> buffer;
    const auto values = value_(ctx, buffer);
    TORCHDALI_CHECK(values.size() == 1 || static_cast<int64_t>(values.size()) == channels,
                    "`value` has ", values.size(), " numbers, expected 1 or ", channels);
    to.values.assign(values.begin(), values.end());
    if (values.size() == 1) to.values.assign(static_cast<size_t>(channels), values[0]);
    return true;
  }

 private:
  static void check_pair(const std::vector<float>& pair, const char* name) {
    TORCHDALI_CHECK(pair.size() == 2 && pair[0] <= pair[1] && pair[0] >= 0, "`", name,
                    "` is not a range of two numbers, the first at least 0");
  }
  std::optional<Rectangle> draw(int64_t height, int64_t width, RandomStream& random) const {
    constexpr int kAttempts = 10;
    const double area = static_cast<double>(height) * static_cast<double>(width);
    const float low = std::log(ratio_[0]), high = std::log(ratio_[1]);
    for (int i = 0; i < kAttempts; ++i) {
      const double erased = area * random.uniform(scale_[0], scale_[1]);
      const double aspect = std::exp(random.uniform(low, high));
      const double h = std::nearbyint(std::sqrt(erased * aspect)),
                   w = std::nearbyint(std::sqrt(erased / aspect));
      if (!(h < static_cast<double>(height) && w < static_cast<double>(width))) continue;
      Rectangle result{.height = static_cast<int64_t>(h), .width = static_cast<int64_t>(w)};
      result.y = random.uniform_int(0, height - result.height);
      result.x = random.uniform_int(0, width - result.width);
      return result;
    }
    return std::nullopt;
  }

  InputLayout layout_;
  Arg<float> p_;
  ListArg<float> value_;
  bool noise_;
  std::vector<float> scale_, ratio_;
};

class RandomErase final : public Operator {
 public:
  explicit RandomErase(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    Erasure erasure;
    if (!args_(ctx, erasure)) return;
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (in.volume() == 0) return;
    std::memcpy(out.data, in.data, static_cast<size_t>(in.size_bytes()));
    if (in.dtype == DType::kUInt8) fill(out.as<uint8_t>(), erasure);
    else fill(out.as<float>(), erasure);
  }

 private:
  template <class T>
  static void fill(T* out, const Erasure& erasure) {
    const Rectangle& at = erasure.at;
    const int64_t step = erasure.channels;
    float draws[4];
    uint64_t drawn = 0;
    const auto draw = [&] {
      if (drawn % 4 == 0)
        kernels::normal_block(draws, erasure.seed, erasure.sample, erasure.block + drawn / 4);
      return kernels::erased_value<T>(draws[drawn++ % 4]);
    };
    for (int64_t c = 0; c < erasure.planes * erasure.channels; ++c) {
      T* plane = out + (step == 1 ? c * erasure.height * erasure.width : c);
      const T value = kernels::erased_value<T>(erasure.values[static_cast<size_t>(c)]);
      for (int64_t y = at.y; y < at.y + at.height; ++y)
        for (int64_t x = at.x; x < at.x + at.width; ++x)
          plane[(y * erasure.width + x) * step] = erasure.noise ? draw() : value;
    }
  }

  RandomEraseArgs args_;
};

class RandomEraseGpu final : public gpu::KernelOperator<gpu::RandomEraseKernel> {
 public:
  explicit RandomEraseGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    Erasure erasure;
    if (!args_(ctx, erasure)) return;
    const SampleView& in = ctx.input(0);
    Task task;
    task.in = in.data;
    task.out = ctx.output_view(0).data;
    task.size = in.volume();
    task.dtype = in.dtype;
    task.noise = erasure.noise;
    task.height = erasure.height;
    task.width = erasure.width;
    task.channels = erasure.channels;
    task.erased = erasure.at;
    task.values = blob(ctx).keep<float>(erasure.values);
    task.seed = erasure.seed;
    task.sample = erasure.sample;
    task.block = erasure.block;
    tasks(ctx).add(ctx, task);
  }

 private:
  RandomEraseArgs args_;
};

TORCHDALI_OPERATOR("random_erase")
    .doc(
        "Fills a rectangle of random area, aspect ratio and position, as torchvision's "
        "RandomErasing does: of ten attempts, the first that is smaller than the image counts. "
        "fn.erase takes the rectangles.")
    .input("data", "Images, uint8 or float32.", {"HWC", "CHW"})
    .output("erased", "Shape, element type and layout of the input. A view if nothing is erased.")
    .arg("p", 0.5f, "The probability that a sample is changed.", Arity::kPerSample)
    .arg("scale", std::vector<float>{0.02f, 0.33f}, "Range of the area, as a part of the image.")
    .arg("ratio", std::vector<float>{0.3f, 3.3f}, "Range of the height over the width.")
    .arg("value", std::vector<float>{0.0f}, "Values to fill with: one, or one for each channel.",
         Arity::kPerSample)
    .arg("noise", false, "Fills with draws from the standard normal distribution.")
    .random()
    .cpu<RandomErase>()
    .gpu<RandomEraseGpu>();

}  // namespace
}  // namespace torchdali
