// SPDX-License-Identifier: Apache-2.0
// fn.debayer: colors from a sensor with a Bayer pattern.
#include <algorithm>
#include <string>
#include <vector>

#include "core/argument.h"
#include "gpu/operator.h"
#include "kernels/debayer/debayer.h"
#include "kernels/debayer/debayer_gpu.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

kernels::DebayerAlgorithm parse_algorithm(const std::string& name) {
  using kernels::DebayerAlgorithm;
  if (name == "bilinear_ocv" || name == "default_ocv") return DebayerAlgorithm::kBilinear;
  if (name == "edgeaware_ocv") return DebayerAlgorithm::kEdgeAware;
  if (name == "gray_ocv") return DebayerAlgorithm::kGray;
  if (name == "vng_ocv") return DebayerAlgorithm::kVng;
  TORCHDALI_CHECK_KIND(kUnsupported, name != "bilinear_npp" && name != "default_npp",
                       "`algorithm` \"", name, "\" is not supported: its formulas are not public",
                       to_fix("use algorithm=\"bilinear_ocv\""));
  raise(ErrorKind::kValue, "`algorithm` is \"", name,
        "\", expected \"bilinear_ocv\", \"edgeaware_ocv\", \"vng_ocv\" or \"gray_ocv\"");
}

class DebayerArgs {
 public:
  DebayerArgs(const OpSpec& spec, const std::string& default_algorithm)
      : layout_(spec, 0),
        blue_position_(spec, "blue_position"),
        algorithm_(parse_algorithm(spec.has("algorithm") ? spec.get<std::string>("algorithm")
                                                         : default_algorithm)) {}

  // Makes the output.
  kernels::DebayerJob operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    (void)layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8 || in.dtype == DType::kUInt16,
                         "input `data` is ", dtype_name(in.dtype), ", expected uint8 or uint16",
                         to_fix("use fn.cast"));
    TORCHDALI_CHECK(in.shape.ndim() == 2 || in.shape[2] == 1, "input `data` has ",
                    in.shape[in.shape.ndim() - 1], " channels, expected 1");
    const int64_t height = in.shape[0], width = in.shape[1];
    TORCHDALI_CHECK(height >= 3 && width >= 3, "input `data` has ", height, " x ", width,
                    " pixels, expected at least 3 x 3");
    thread_local std::vector<int64_t> buffer;
    const auto blue = blue_position_(ctx, buffer);
    TORCHDALI_CHECK(blue.size() == 2, "`blue_position` has ", blue.size(),
                    " values, expected 2 (y, x)");
    for (const int64_t at : blue)
      TORCHDALI_CHECK(at == 0 || at == 1, "`blue_position` has ", at, ", expected 0 or 1");
    const bool vng = algorithm_ == kernels::DebayerAlgorithm::kVng;
    TORCHDALI_CHECK_KIND(kType, !vng || in.dtype == DType::kUInt8, "input `data` is ",
                         dtype_name(in.dtype), ", and \"vng_ocv\" takes uint8",
                         to_fix("use another algorithm"));
    const bool small = std::min(height, width) < kernels::kVngSmallest;
    const bool gray = algorithm_ == kernels::DebayerAlgorithm::kGray;
    ctx.output(0, in.dtype, Shape{height, width, gray ? 1 : 3}, "HWC");
    // The tile begins at pixel (1, 1).
    return {.type = in.dtype,
            .algorithm = vng && small ? kernels::DebayerAlgorithm::kBilinear : algorithm_,
            .height = height,
            .width = width,
            .blue_y = 1 - blue[0],
            .blue_x = 1 - blue[1]};
  }

 private:
  InputLayout layout_;
  ListArg<int64_t> blue_position_;
  kernels::DebayerAlgorithm algorithm_;
};

class Debayer final : public Operator {
 public:
  explicit Debayer(const OpSpec& spec) : args_(spec, "bilinear_ocv") {}

  void run(SampleContext& ctx) const override {
    const kernels::DebayerJob job = args_(ctx);
    kernels::debayer(job, ctx.input(0).data, ctx.output_view(0).data,
                     ctx.scratch<char>(kernels::debayer_scratch(job)).data());
  }

 private:
  DebayerArgs args_;
};

class DebayerGpu final : public gpu::KernelOperator<gpu::DebayerKernel> {
 public:
  // DALI's default on the GPU.
  explicit DebayerGpu(const OpSpec& spec) : args_(spec, "bilinear_npp") {}

  void run(SampleContext& ctx) const override {
    const kernels::DebayerJob job = args_(ctx);
    Task task;
    task.in = ctx.input(0).data;
    task.out = ctx.output_view(0).data;
    task.size = job.height * job.width;
    task.in_dtype = task.out_dtype = job.type;
    task.algorithm = job.algorithm;
    task.height = job.height;
    task.width = job.width;
    task.blue_y = job.blue_y;
    task.blue_x = job.blue_x;
    tasks(ctx).add(ctx, task);
  }

 private:
  DebayerArgs args_;
};

TORCHDALI_OPERATOR("debayer")
    .doc("Makes color images of those of a sensor with a Bayer pattern, with OpenCV's results.")
    .input("data", "Images or sequences of uint8 or uint16, with one channel.",
           {"HW", "HWC", "FHW", "FHWC"})
    .output("colors",
            "Red, green and blue, or gray with \"gray_ocv\"; layout \"HWC\" or "
            "\"FHWC\", element type of the input.")
    .required_arg("blue_position", ArgType::kIntVec,
                  "Where blue is, y and x, in the tile of 2 x 2 pixels that begins in the second "
                  "row and column: (0, 0) is OpenCV's \"BG\", (0, 1) \"GB\", (1, 0) \"GR\", (1, 1) "
                  "\"RG\".",
                  Arity::kPerSample)
    .optional_arg("algorithm", ArgType::kString,
                  "\"bilinear_ocv\" (the default on the CPU, also named \"default_ocv\"), "
                  "\"edgeaware_ocv\", \"vng_ocv\" (uint8) or \"gray_ocv\". On the GPU it has to "
                  "be given.")
    .lacks("algorithm \"bilinear_npp\", whose formulas are not public")
    .each_frame()
    .cpu<Debayer>()
    .gpu<DebayerGpu>();

}  // namespace
}  // namespace torchdali
