// SPDX-License-Identifier: Apache-2.0
// fn.random_erase: fills a random rectangle, as torchvision's RandomErasing does.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <vector>

#include "core/argument.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

struct Rectangle {
  int64_t y = 0, x = 0, height = 0, width = 0;
};

class RandomErase final : public Operator {
 public:
  explicit RandomErase(const OpSpec& spec)
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

  void run(SampleContext& ctx) const override {
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
      return;
    }
    const SampleView& out = ctx.output(0, in.dtype, in.shape, layout);
    if (in.volume() == 0) return;
    std::memcpy(out.data, in.data, static_cast<size_t>(in.size_bytes()));
    if (in.dtype == DType::kUInt8) fill<uint8_t>(ctx, out, layout, *erased, random);
    else fill<float>(ctx, out, layout, *erased, random);
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

  // Draws of the standard normal distribution in pairs (Box and Muller, 1958).
  struct Normal {
    RandomStream& random;
    double kept = 0;
    bool has = false;
    float operator()() {
      has = !has;
      if (!has) return static_cast<float>(kept);
      const double radius = std::sqrt(-2 * std::log(1 - random.uniform_double()));
      const double angle = 2 * std::numbers::pi * random.uniform_double();
      kept = radius * std::sin(angle);
      return static_cast<float>(radius * std::cos(angle));
    }
  };

  template <class T>
  void fill(const SampleContext& ctx, const SampleView& out, const Layout& layout,
            const Rectangle& at, RandomStream& random) const {
    const int64_t height = out.shape[layout.find('H')], width = out.shape[layout.find('W')];
    const bool planar = layout.find('C') == 0;
    const int64_t channels = out.shape[layout.find('C')], step = planar ? 1 : channels;
    thread_local std::vector<float> buffer;
    const auto values = value_(ctx, buffer);
    TORCHDALI_CHECK(values.size() == 1 || static_cast<int64_t>(values.size()) == channels,
                    "`value` has ", values.size(), " numbers, expected 1 or ", channels);
    // To bytes as torch converts: without the fraction, modulo 256.
    const auto as_element = [](float x) {
      if constexpr (sizeof(T) == 1)
        return static_cast<T>(static_cast<int64_t>(std::clamp(x, -1e9f, 1e9f)));
      else return x;
    };
    Normal normal{random};
    for (int64_t c = 0; c < channels; ++c) {
      T* plane = out.as<T>() + (planar ? c * height * width : c);
      const T value = as_element(values[values.size() == 1 ? 0 : static_cast<size_t>(c)]);
      for (int64_t y = at.y; y < at.y + at.height; ++y)
        for (int64_t x = at.x; x < at.x + at.width; ++x)
          plane[(y * width + x) * step] = noise_ ? as_element(normal()) : value;
    }
  }

  InputLayout layout_;
  Arg<float> p_;
  ListArg<float> value_;
  bool noise_;
  std::vector<float> scale_, ratio_;
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
    .cpu<RandomErase>();

}  // namespace
}  // namespace torchdali
