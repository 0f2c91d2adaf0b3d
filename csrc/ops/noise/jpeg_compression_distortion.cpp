// SPDX-License-Identifier: Apache-2.0
// fn.jpeg_compression_distortion: the artifacts of JPEG compression.
#include <algorithm>
#include <memory>

#include "core/argument.h"
#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "io/jpeg_distortion.h"
#include "kernels/jpeg/jpeg_distortion.h"
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
    TORCHDALI_CHECK(std::max(height, width) <= io::kMaxJpegSide, "input `data` is of shape ",
                    in.shape, ", and JPEG images have at most ", io::kMaxJpegSide,
                    " pixels a side");
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
      io::distort_jpeg(out.as<uint8_t>(), in.as<const uint8_t>(), in.shape[0], in.shape[1],
                       quality);
  }

 private:
  JpegDistortionArgs args_;
};

// Three steps: samples of the components, their blocks there and back, and pixels as a decoder
// makes them. Codes lose nothing, so none are made.
class JpegCompressionDistortionGpu final : public gpu::GpuOperator {
 public:
  explicit JpegCompressionDistortionGpu(const OpSpec& spec) : args_(spec) {}

  std::unique_ptr<BatchState> make_tasks(BatchContext& /*ctx*/) const override {
    return std::make_unique<State>();
  }

  void run(SampleContext& ctx) const override {
    const int quality = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (in.volume() == 0) return;
    auto& state = ctx.batch_state<State>();
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
      plane.samples = static_cast<uint8_t*>(state.workspace.reserve(size));
      task.size += size;
      // libjpeg does not smooth pictures of few columns.
      pixels.component[c] = {.samples = plane.samples,
                             .stride = plane.columns,
                             .rows = plane.rows,
                             .width = static_cast<int>(columns),
                             .height = static_cast<int>(rows),
                             .across = chroma ? 2 : 1,
                             .down = chroma ? 2 : 1,
                             .smooth = chroma && columns > 2};
    }
    state.samples.add_intermediate(task);
    task.blocks = true;
    task.size /= 64;
    state.blocks.add_intermediate(task);
    pixels.out = out.data;
    pixels.width = width;
    pixels.region_width = static_cast<int>(width);
    pixels.region_height = static_cast<int>(height);
    pixels.size = height * ((width + gpu::kJpegRun - 1) / gpu::kJpegRun);
    state.pixels.add(ctx, pixels);
  }

  void launch(BatchContext& ctx, BatchState& batch) const override {
    auto& state = static_cast<State&>(batch);
    state.workspace.allocate(ctx);
    const gpu::GpuKernels& kernels = gpu::kernels_of(ctx);
    for (auto* tasks : {&state.samples, &state.blocks}) {
      tasks->for_each([&](gpu::JpegDistortionTask& task) {
        for (auto& plane : task.planes) state.workspace.move(plane.samples);
      });
      tasks->launch(ctx, kernels.jpeg_distortion);
    }
    state.pixels.for_each([&](gpu::JpegPixelsTask& task) {
      for (auto& component : task.component) state.workspace.move(component.samples);
    });
    state.pixels.launch(ctx, kernels.jpeg_pixels);
  }

 private:
  struct State final : BatchState {
    gpu::Workspace workspace;
    gpu::Tasks<gpu::JpegDistortionTask> samples, blocks;
    gpu::Tasks<gpu::JpegPixelsTask> pixels;
  };

  JpegDistortionArgs args_;
};

TORCHDALI_OPERATOR("jpeg_compression_distortion")
    .doc(
        "Adds the artifacts of JPEG compression: encodes images and decodes them again, with "
        "chroma of half the resolution.")
    .input("data", "RGB images or sequences of uint8, with three channels.", {"HWC", "FHWC"})
    .output("distorted", "Shape and layout of the input, uint8.")
    .arg("quality", 50,
         "Quality of the compression, 1 (worst) to 100 (best); what lies outside is clamped.",
         Arity::kPerSample)
    .each_frame()
    .cpu<JpegCompressionDistortion>()
    .gpu<JpegCompressionDistortionGpu>();

}  // namespace
}  // namespace torchdali
