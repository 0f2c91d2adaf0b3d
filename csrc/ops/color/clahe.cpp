// SPDX-License-Identifier: Apache-2.0
// fn.clahe: contrast limited adaptive histogram equalization.
#include <cmath>
#include <limits>
#include <memory>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/copy_axes.h"
#include "gpu/operator.h"
#include "kernels/color/clahe.h"
#include "kernels/color/clahe_gpu.h"
#include "kernels/color/clahe_scalar.h"
#include "kernels/color/color_matrix.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

constexpr int kMaxBins = 256;
constexpr int64_t kMaxTiles = 1 << 20;  // 256 MB of tables

class ClaheArgs {
 public:
  explicit ClaheArgs(const OpSpec& spec)
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

  const kernels::ClaheOptions& options() const { return options_; }
  // Of images with three channels.
  bool luma_only() const { return luma_only_; }

  // Makes the output.
  const SampleView& operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8", to_fix("use fn.cast"));
    const int64_t channels = in.shape[2];
    TORCHDALI_CHECK(channels == 1 || channels == 3, "input `data` has ", channels,
                    " channels, expected 1 or 3");
    return ctx.output(0, in.dtype, in.shape, layout);
  }

 private:
  InputLayout layout_;
  kernels::ClaheOptions options_;
  bool luma_only_;
};

class Clahe final : public Operator {
 public:
  explicit Clahe(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView &view = args_(ctx), &in = ctx.input(0);
    if (in.volume() == 0) return;
    const int64_t height = in.shape[0], width = in.shape[1], channels = in.shape[2];
    const uint8_t* from = in.as<const uint8_t>();
    uint8_t* to = view.as<uint8_t>();
    const kernels::ClaheOptions& options = args_.options();
    auto* columns = ctx.scratch<kernels::ClaheColumn>(static_cast<size_t>(width)).data();
    const int64_t entries = options.tiles_y * options.tiles_x * options.bins;
    uint8_t* tables = ctx.scratch<uint8_t>(static_cast<size_t>(entries)).data();
    const auto equalize = [&](uint8_t* result, const uint8_t* plane) {
      kernels::clahe(result, plane, height, width, options, tables, columns);
    };
    if (channels == 1) {
      equalize(to, from);
      return;
    }
    const int64_t pixels = height * width;
    uint8_t* plane = ctx.scratch<uint8_t>(static_cast<size_t>(pixels)).data();
    uint8_t* result = ctx.scratch<uint8_t>(static_cast<size_t>(pixels)).data();
    if (args_.luma_only()) {
      kernels::weighted_sum(plane, from, pixels, kernels::clahe_scalar::kLuma);
      equalize(result, plane);
      for (int64_t p = 0; p < pixels; ++p) {
        const int gain = result[p] - plane[p];
        for (int c = 0; c < 3; ++c)
          to[3 * p + c] = kernels::clahe_scalar::gained(from[3 * p + c], gain);
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
  ClaheArgs args_;
};

struct ClaheSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::CopyKernel> zeros{*this};
  gpu::Tasks<gpu::ClaheCountKernel> counts{*this};
  gpu::Tasks<gpu::ClaheTableKernel> tables{*this};
  gpu::Tasks<gpu::ClaheApplyKernel> results{*this};
};

class ClaheGpu final : public gpu::StepsOperator<ClaheSteps> {
 public:
  explicit ClaheGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const SampleView &out = args_(ctx), &in = ctx.input(0);
    if (in.volume() == 0) return;
    ClaheSteps& steps = this->steps(ctx);
    gpu::ClaheTask task;
    task.in = in.data;
    task.tiles = kernels::clahe_tiles(in.shape[0], in.shape[1], args_.options());
    task.channels = static_cast<int>(in.shape[2]);
    task.planes = task.channels == 3 && !args_.luma_only() ? 3 : 1;
    const int64_t area = task.tiles.rows * task.tiles.columns;
    TORCHDALI_CHECK_KIND(kUnsupported, area <= std::numeric_limits<uint32_t>::max(), "tiles of ",
                         area, " pixels are too large on the GPU");
    const int64_t tables = task.planes * task.tiles.count();
    const int64_t entries = tables * task.tiles.options.bins;
    const int64_t bytes = entries * static_cast<int64_t>(sizeof(uint32_t));
    task.counts = static_cast<uint32_t*>(steps.workspace.reserve(bytes));
    task.tables = static_cast<uint8_t*>(steps.workspace.reserve(entries));
    steps.zeros.add_intermediate(gpu::make_fill(task.counts, bytes, sizeof(uint32_t), 0));

    task.size = tables * area;
    steps.counts.add_intermediate(task);
    task.size = tables;
    steps.tables.add_intermediate(task);
    task.size = in.shape[0] * in.shape[1];
    task.out = out.data;
    steps.results.add(ctx, task);
  }

 private:
  ClaheArgs args_;
};

TORCHDALI_OPERATOR("clahe")
    .doc(
        "Equalizes the histogram of each tile of an image with limited contrast, and blends "
        "between neighboring tiles (contrast limited adaptive histogram equalization).")
    .input("data", "Images of uint8, with one or three (red, green, blue) channels.", {"HWC"})
    .output("equalized", "Shape and layout of the input, uint8.")
    .required_arg("tiles_x", ArgType::kInt, "Number of tiles along W, 1 or more.")
    .required_arg("tiles_y", ArgType::kInt, "Number of tiles along H, 1 or more.")
    .required_arg("clip_limit", ArgType::kFloat,
                  "The largest value of a histogram bin, as a multiple of the mean; the excess is "
                  "spread over all bins. 0 or less: no limit.")
    .arg("bins", 256, "Number of bins of a histogram, 1 to 256.")
    .arg("luma_only", true,
         "Equalize the luma of RGB images (ITU-R BT.601) and keep color differences, instead of "
         "each channel separately.")
    .cpu<Clahe>()
    .gpu<ClaheGpu>();

}  // namespace
}  // namespace torchdali
