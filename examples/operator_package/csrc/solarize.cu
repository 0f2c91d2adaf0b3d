// SPDX-License-Identifier: Apache-2.0
// fn.my.solarize: inverts bright elements, on the CPU and on the GPU. Without nvcc, this file is
// compiled as C++, and the kernel runs as a loop.
#include <torchdali/gpu.h>

#include <algorithm>

namespace {

using namespace torchdali;

// One element. Both halves use it, so that they give the same bytes.
TORCHDALI_HOST_DEVICE inline uint8_t solarized(uint8_t x, int threshold) {
  return static_cast<uint8_t>(x < threshold ? x : 255 - x);
}

// What both halves do first: they check the input and make the output.
class SolarizeArgs {
 public:
  explicit SolarizeArgs(const OpSpec& spec) : layout_(spec, 0), threshold_(spec, "threshold") {}

  struct Work {
    SampleView in, out;
    int threshold;
  };
  Work operator()(SampleContext& ctx) const {
    const SampleView in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kUInt8, "input `data` is ", dtype_name(in.dtype),
                         ", expected uint8", to_fix("use fn.cast"));
    return {in, ctx.output(0, in.dtype, in.shape, layout), threshold_(ctx)};
  }

 private:
  InputLayout layout_;
  Arg<int> threshold_;
};

class Solarize final : public Operator {
 public:
  explicit Solarize(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto work = args_(ctx);
    const auto* from = work.in.as<const uint8_t>();
    std::transform(from, from + work.in.volume(), work.out.as<uint8_t>(),
                   [&](uint8_t x) { return solarized(x, work.threshold); });
  }

 private:
  SolarizeArgs args_;
};

struct SolarizeTask : gpu::TaskBase {
  int threshold = 0;
};
struct SolarizeKernel : gpu::Kernel<SolarizeTask> {
  TORCHDALI_HOST_DEVICE void operator()(int64_t i) const {
    const uint8_t x = static_cast<const uint8_t*>(task.in)[i];
    static_cast<uint8_t*>(task.out)[i] = solarized(x, task.threshold);
  }
};
TORCHDALI_GPU_KERNEL(SolarizeKernel)

// Describes the work on a sample; it reads no pixel.
class SolarizeGpu final : public gpu::KernelOperator<SolarizeKernel> {
 public:
  explicit SolarizeGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    const auto work = args_(ctx);
    Task task;
    task.in = work.in.data;
    task.out = work.out.data;
    task.size = work.in.volume();
    task.threshold = work.threshold;
    add(ctx, task);
  }

 private:
  SolarizeArgs args_;
};

TORCHDALI_OPERATOR("my.solarize")
    .doc("Inverts elements that are not below a threshold: 255 - x where x >= threshold, else x.")
    .input("data", "Images or sequences; uint8.", {"HWC", "CHW", "FHWC", "FCHW"})
    .output("solarized", "Shape, element type and layout of the input.")
    .arg("threshold", 128, "The smallest value that is inverted.", Arity::kPerSample)
    .sequences()
    .image_role(ImageRole::kPixelwise)
    .cpu<Solarize>()
    .gpu<SolarizeGpu>();

}  // namespace
