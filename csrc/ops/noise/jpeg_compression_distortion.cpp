// SPDX-License-Identifier: Apache-2.0
// fn.jpeg_compression_distortion: the artifacts of JPEG compression.
#include <algorithm>
#include <memory>

#include "core/argument.h"
#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/jpeg/jpeg_distortion.h"
#include "kernels/jpeg/jpeg_distortion_gpu.h"
#include "kernels/jpeg/jpeg_gpu.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

class JpegDistortionArgs {
 public:
  explicit JpegDistortionArgs(const OpSpec& spec) : layout_(spec, 0), quality_(spec, "quality") {}

  // Makes the output; returns the quality.
  int operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8", to_fix("use fn.cast"));
    const int64_t height = in.shape[0], width = in.shape[1], channels = in.shape[2];
    TORCHDALI_CHECK(channels == 3, "input `data` has ", channels,
                    channels == 1 ? " channel" : " channels", ", expected 3 (red, green, blue)",
                    to_fix("use fn.color_space_conversion"));
    TORCHDALI_CHECK(std::max(height, width) <= kernels::jpeg_distortion::kMaxJpegSide,
                    "input `data` is of shape ", in.shape, ", and JPEG images have at most ",
                    kernels::jpeg_distortion::kMaxJpegSide, " pixels a side");
    const int quality = std::clamp(quality_(ctx), 1, 100);
    ctx.output(0, in.dtype, in.shape, layout);
    return quality;
  }

 private:
  InputLayout layout_;
  Arg<int> quality_;
};

class JpegCompressionDistortion final : public Operator {
 public:
  explicit JpegCompressionDistortion(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const int quality = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (in.volume() > 0)
      kernels::jpeg_distortion::distort(out.as<uint8_t>(), in.as<const uint8_t>(), in.shape[0],
                                        in.shape[1], quality);
  }

 private:
  JpegDistortionArgs args_;
};

// Entropy coding is lossless, so it is skipped.
struct JpegDistortionSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::JpegComponentsKernel> components{*this};
  gpu::Tasks<gpu::JpegRequantizeKernel> blocks{*this};
  gpu::Tasks<gpu::JpegPixelsKernel> pixels{*this};
};

class JpegCompressionDistortionGpu final : public gpu::StepsOperator<JpegDistortionSteps> {
 public:
  explicit JpegCompressionDistortionGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const int quality = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (in.volume() == 0) return;
    JpegDistortionSteps& steps = this->steps(ctx);
    const int64_t height = in.shape[0], width = in.shape[1];
    gpu::JpegDistortionTask task;
    gpu::JpegPixelsTask pixels;
    task.in = in.data;
    task.height = height;
    task.width = width;
    for (int table = 0; table < 2; ++table)
      for (int k = 0; k < 64; ++k)
        task.quant[table][k] = kernels::jpeg_distortion::scaled_quant(
            kernels::jpeg_distortion::kQuant[table][k], quality);
    for (int c = 0; c < 3; ++c) {
      const bool chroma = c > 0;
      const int64_t rows = chroma ? (height + 1) / 2 : height;
      const int64_t columns = chroma ? (width + 1) / 2 : width;
      gpu::JpegDistortionTask::Plane& plane = task.planes[c];
      plane.rows = (rows + 7) / 8 * 8;
      plane.columns = (columns + 7) / 8 * 8;
      const int64_t size = plane.rows * plane.columns;
      plane.samples = static_cast<uint8_t*>(steps.workspace.reserve(size));
      task.size += size;
      // libjpeg does not smooth pictures with few columns.
      pixels.component[c] = {.samples = plane.samples,
                             .stride = plane.columns,
                             .rows = plane.rows,
                             .width = static_cast<int>(columns),
                             .height = static_cast<int>(rows),
                             .across = chroma ? 2 : 1,
                             .down = chroma ? 2 : 1,
                             .smooth = chroma && columns > 2};
    }
    steps.components.add_intermediate(task);
    task.size /= 64;
    steps.blocks.add_intermediate(task);
    pixels.out = out.data;
    pixels.width = width;
    pixels.region_width = static_cast<int>(width);
    pixels.region_height = static_cast<int>(height);
    pixels.size = height * ((width + gpu::kJpegRun - 1) / gpu::kJpegRun);
    steps.pixels.add(ctx, pixels);
  }

 private:
  JpegDistortionArgs args_;
};

TORCHDALI_OPERATOR("jpeg_compression_distortion")
    .doc(
        "Adds the artifacts of JPEG compression: encodes images and decodes them again, with "
        "chroma at half the resolution.")
    .input("data", "RGB images or sequences of uint8, with three channels.", {"HWC", "FHWC"})
    .output("distorted", "Shape and layout of the input, uint8.")
    .arg("quality", 50,
         "Quality of the compression, 1 (worst) to 100 (best); other values are clamped.",
         Arity::kPerSample)
    .each_frame()
    .cpu<JpegCompressionDistortion>()
    .gpu<JpegCompressionDistortionGpu>();

}  // namespace
}  // namespace torchdali
