// SPDX-License-Identifier: Apache-2.0
// fn.experimental.dilate and fn.experimental.erode.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/argument.h"
#include "gpu/operator.h"
#include "kernels/morphology/morphology.h"
#include "kernels/morphology/morphology_gpu.h"
#include "ops/input_layout.h"
#include "ops/morphology/image_planes.h"

namespace torchdali {
namespace {

constexpr int64_t kMaxMask = 1 << 20;

kernels::Border parse_border(const std::string& name) {
  if (name == "constant") return kernels::Border::kConstant;
  if (name == "replicate") return kernels::Border::kClamp;
  if (name == "reflect") return kernels::Border::kReflect1001;
  if (name == "reflect_101") return kernels::Border::kReflect101;
  TORCHDALI_CHECK(name == "wrap", "`border_mode` is \"", name,
                  "\", expected \"constant\", \"replicate\", \"reflect\", \"reflect_101\" or "
                  "\"wrap\"");
  return kernels::Border::kWrap;
}

class MorphologyArgs {
 public:
  MorphologyArgs(const OpSpec& spec, bool dilate)
      : dilate_(dilate),
        layout_(spec, 0),
        mask_size_(spec, "mask_size"),
        anchor_(spec, "anchor"),
        iterations_(spec.get<int64_t>("iterations")),
        border_(parse_border(spec.get<std::string>("border_mode"))) {
    TORCHDALI_CHECK(iterations_ >= 0 && iterations_ <= kMaxMask, "`iterations` is ", iterations_,
                    ", expected 0 to ", kMaxMask);
  }

  struct Plan {
    kernels::MorphologyJob job = {};
    int64_t planes = 0;
  };
  // Makes the output.
  Plan operator()(SampleContext& ctx) const {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    TORCHDALI_CHECK_KIND(
        kType, kernels::is_morphology_type(in.dtype), "input `data` is ", dtype_name(in.dtype),
        ", expected bool, uint8, uint16, int16, int32 or float32", to_fix("use fn.cast"));
    const auto mask = pair(ctx, mask_size_, "mask_size"), anchor = pair(ctx, anchor_, "anchor");
    const ImagePlanes image(in.shape, layout);
    ctx.output(0, in.dtype, in.shape, layout);
    return {.job = {.type = in.dtype,
                    .dilate = dilate_,
                    .height = image.height,
                    .width = image.width,
                    .channels = image.channels,
                    .y = reach(mask[1], anchor[1], image.height),
                    .x = reach(mask[0], anchor[0], image.width),
                    .border = border_},
            .planes = image.planes};
  }

 private:
  static std::array<int64_t, 2> pair(const SampleContext& ctx, const ListArg<int64_t>& arg,
                                     const char* name) {
    thread_local std::vector<int64_t> buffer;
    const auto given = arg(ctx, buffer);
    TORCHDALI_CHECK(given.size() == 1 || given.size() == 2, "`", name, "` has ", given.size(),
                    " values, expected 1 or 2 (x, y)");
    return {given[0], given[given.size() - 1]};
  }
  kernels::MorphologyReach reach(int64_t mask, int64_t anchor, int64_t extent) const {
    TORCHDALI_CHECK(mask >= 1 && mask <= kMaxMask, "`mask_size` has ", mask, ", expected 1 to ",
                    kMaxMask);
    TORCHDALI_CHECK(anchor >= -1 && anchor < mask, "`anchor` has ", anchor, ", expected 0 to ",
                    mask - 1, " (inside the mask), or -1 for its middle");
    const int64_t before = anchor < 0 ? mask / 2 : anchor, after = mask - 1 - before;
    // What is further away than that is what was there before.
    const int64_t most = 2 * extent;
    return {.before = std::min(before * iterations_, most),
            .after = std::min(after * iterations_, most)};
  }

  bool dilate_;
  InputLayout layout_;
  ListArg<int64_t> mask_size_, anchor_;
  int64_t iterations_;
  kernels::Border border_;
};

template <bool kDilate>
class Morphology final : public Operator {
 public:
  explicit Morphology(const OpSpec& spec) : args_(spec, kDilate) {}

  void run(SampleContext& ctx) const override {
    const auto [job, planes] = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (out.volume() == 0) return;
    auto* scratch = ctx.scratch<char>(kernels::morphology_scratch(job)).data();
    const int64_t bytes = in.size_bytes() / planes;
    for (int64_t p = 0; p < planes; ++p)
      kernels::morphology(job, in.as<const char>() + p * bytes, out.as<char>() + p * bytes,
                          scratch);
  }

 private:
  MorphologyArgs args_;
};

struct MorphologySteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::MorphologyKernel> columns{*this};
  gpu::Tasks<gpu::MorphologyKernel> rows{*this};
};

template <bool kDilate>
class MorphologyGpu final : public gpu::StepsOperator<MorphologySteps> {
 public:
  explicit MorphologyGpu(const OpSpec& spec) : args_(spec, kDilate) {}

  void run(SampleContext& ctx) const override {
    const auto [job, planes] = args_(ctx);
    const SampleView &in = ctx.input(0), &out = ctx.output_view(0);
    if (out.volume() == 0) return;
    MorphologySteps& steps = MorphologyGpu::steps(ctx);
    gpu::MorphologyTask task;
    task.in = in.data;
    task.size = out.volume();
    task.in_dtype = task.out_dtype = job.type;
    task.border = job.border;
    task.dilate = job.dilate;
    if (job.y.size() > 1) {
      task.out = steps.workspace.reserve(out.size_bytes());
      task.extent = job.height;
      task.stride = job.width * job.channels;
      task.before = job.y.before;
      task.after = job.y.after;
      steps.columns.add_intermediate(task);
      task.in = task.out;
    }
    task.out = out.data;
    task.extent = job.width;
    task.stride = job.channels;
    task.before = job.x.before;
    task.after = job.x.after;
    steps.rows.add(ctx, task);
  }

 private:
  MorphologyArgs args_;
};

void morphology_args(SchemaBuilder& schema) {
  schema
      .input("data", "Images or sequences of bool, uint8, uint16, int16, int32 or float32.",
             {"HW", "HWC", "FHWC", "CHW", "FCHW"})
      .output("result", "Shape, element type and layout of the input.")
      .arg("mask_size", std::vector<int64_t>{3, 3},
           "Width and height of the rectangle, or one number for both.", Arity::kPerSample)
      .arg("anchor", std::vector<int64_t>{-1, -1},
           "The element of the rectangle, x and y, that is placed on the pixel. -1: the middle "
           "(size / 2).",
           Arity::kPerSample)
      .arg("border_mode", "constant",
           "Values outside of the image: \"constant\" (they do not count), \"replicate\" "
           "(aaa|abcd|ddd), \"reflect\" (cba|abcd|dcb), \"reflect_101\" (dcb|abcd|cba) or \"wrap\" "
           "(bcd|abcd|abc).")
      .arg("iterations", 1,
           "How often the operation is done, at once: by a rectangle that is larger by size - 1 "
           "for each iteration after the first, with its anchor at `anchor` * `iterations`. 0: "
           "not at all.")
      .each_frame();
}

TORCHDALI_OPERATOR("experimental.dilate")
    .doc(
        "Dilates bright regions of an image: each element becomes the largest one of a rectangle "
        "around it, for each channel.")
    .with(morphology_args)
    .cpu<Morphology<true>>()
    .gpu<MorphologyGpu<true>>();

TORCHDALI_OPERATOR("experimental.erode")
    .doc(
        "Erodes bright regions of an image: each element becomes the smallest one of a rectangle "
        "around it, for each channel.")
    .with(morphology_args)
    .cpu<Morphology<false>>()
    .gpu<MorphologyGpu<false>>();

}  // namespace
}  // namespace torchdali
