// SPDX-License-Identifier: Apache-2.0
// fn.clahe: contrast limited adaptive histogram equalization.
#include <algorithm>
#include <cmath>

#include "core/operator.h"
#include "kernels/clahe.h"
#include "kernels/colour_matrix.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

constexpr int kMaxBins = 256;
constexpr int64_t kMaxTiles = 1 << 20;  // 256 MB of tables
// Luma of ITU-R BT.601-7, 2.5.1 (0.299, 0.587, 0.114), in 32768ths.
constexpr int16_t kLuma[3] = {9798, 19235, 3735};

class Clahe final : public Operator {
 public:
  explicit Clahe(const OpSpec& spec)
      : layout_(spec, 0),
        options_{.tiles_y = spec.get<int>("tiles_y"),
                 .tiles_x = spec.get<int>("tiles_x"),
                 .bins = spec.get<int>("bins"),
                 .clip_limit = spec.get<float>("clip_limit")},
        luma_only_(spec.get<bool>("luma_only")) {
    const auto check = [](const char* name, int64_t value, int64_t most) {
      TORCHDALI_CHECK(value >= 1 && value <= most, "`", name, "` is ", value, ", expected 1 to ",
                      most);
    };
    check("tiles_x", options_.tiles_x, kMaxTiles);
    check("tiles_y", options_.tiles_y, kMaxTiles);
    check("bins", options_.bins, kMaxBins);
    TORCHDALI_CHECK(options_.tiles_x * options_.tiles_y <= kMaxTiles,
                    "`tiles_x` and `tiles_y` make ", options_.tiles_x * options_.tiles_y,
                    " tiles, expected at most ", kMaxTiles);
    TORCHDALI_CHECK(!std::isnan(options_.clip_limit), "`clip_limit` is ", options_.clip_limit,
                    ", expected a number");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8. To fix it: use fn.cast");
    const int64_t height = in.shape[0], width = in.shape[1], channels = in.shape[2];
    TORCHDALI_CHECK(channels == 1 || channels == 3, "input `data` has ", channels,
                    " channels, expected 1 or 3");
    const SampleView& view = ctx.output(0, in.dtype, in.shape, layout);
    if (in.volume() == 0) return;
    const uint8_t* from = in.as<const uint8_t>();
    uint8_t* to = view.as<uint8_t>();
    auto* columns = ctx.scratch<kernels::ClaheColumn>(static_cast<size_t>(width)).data();
    const int64_t entries = options_.tiles_y * options_.tiles_x * options_.bins;
    uint8_t* tables = ctx.scratch<uint8_t>(static_cast<size_t>(entries)).data();
    const auto equalize = [&](uint8_t* result, const uint8_t* plane) {
      kernels::clahe(result, plane, height, width, options_, tables, columns);
    };
    if (channels == 1) {
      equalize(to, from);
      return;
    }
    const int64_t pixels = height * width;
    uint8_t* plane = ctx.scratch<uint8_t>(static_cast<size_t>(pixels)).data();
    uint8_t* result = ctx.scratch<uint8_t>(static_cast<size_t>(pixels)).data();
    if (luma_only_) {
      kernels::weighted_sum(plane, from, pixels, kLuma);
      equalize(result, plane);
      // What luma gains all channels gain: colour differences stay as they are.
      for (int64_t p = 0; p < pixels; ++p) {
        const int gain = result[p] - plane[p];
        for (int c = 0; c < 3; ++c)
          to[3 * p + c] = static_cast<uint8_t>(std::clamp(from[3 * p + c] + gain, 0, 255));
      }
      return;
    }
    for (int c = 0; c < 3; ++c) {
      for (int64_t p = 0; p < pixels; ++p) plane[p] = from[3 * p + c];
      equalize(result, plane);
      for (int64_t p = 0; p < pixels; ++p) to[3 * p + c] = result[p];
    }
  }

 private:
  InputLayout layout_;
  kernels::ClaheOptions options_;
  bool luma_only_;
};

TORCHDALI_OPERATOR("clahe")
    .doc(
        "Equalises the histogram of each tile of an image, with a limit to the contrast that this "
        "may add, and blends between neighbouring tiles (contrast limited adaptive histogram "
        "equalization).")
    .input("data", "Images of uint8, with one or three (red, green, blue) channels.", {"HWC"})
    .output("equalized", "Shape and layout of the input, uint8.")
    .required_arg("tiles_x", ArgType::kInt, "Number of tiles along W, 1 or more.")
    .required_arg("tiles_y", ArgType::kInt, "Number of tiles along H, 1 or more.")
    .required_arg("clip_limit", ArgType::kFloat,
                  "How many times the mean a bin of a histogram may hold; what is above is spread "
                  "over all bins. 0 or less: no limit.")
    .arg("bins", 256, "Number of bins of a histogram, 1 to 256.")
    .arg("luma_only", true,
         "Whether the luma of RGB images (ITU-R BT.601) is equalised and colour differences stay "
         "as they are; else each channel on its own.")
    .cpu<Clahe>();

}  // namespace
}  // namespace torchdali
