// SPDX-License-Identifier: Apache-2.0
// fn.random_resized_crop: a random window of each sample, resized.
#include <algorithm>

#include "core/operator.h"
#include "ops/decoders/device_image.h"
#include "ops/decoders/image_decoder.h"
#include "ops/input_layout.h"
#include "ops/resize/resize_filter.h"
#include "ops/window/random_crop_args.h"

namespace torchdali {
namespace {

// The common part for CPU and GPU: size, window and filter.
class RandomResize {
 public:
  explicit RandomResize(const OpSpec& spec)
      : resample(spec), generator_(make_random_crop_generator(spec)) {
    const auto size = spec.get<std::vector<int64_t>>("size");
    TORCHDALI_CHECK(size.size() == 1 || size.size() == 2, "`size` has ", size.size(),
                    " values, expected (height, width) or one for both");
    height_ = size.front();
    width_ = size.back();
    TORCHDALI_CHECK(height_ >= 0 && width_ >= 0, "`size` must not be negative, got ", height_,
                    " x ", width_);
  }
  // The window of the current sample, whose image has this size.
  ResizeGeometry draw(const SampleContext& ctx, int64_t height, int64_t width) const {
    RandomStream random = ctx.random();
    const CropWindow crop = generator_.generate(height, width, random);
    return {.ndim = 2,
            .out = {height_, width_},
            .low = {static_cast<float>(crop.y), static_cast<float>(crop.x)},
            .high = {static_cast<float>(crop.y + crop.h), static_cast<float>(crop.x + crop.w)}};
  }
  const ResampleArgs resample;

 private:
  RandomCropGenerator generator_;
  int64_t height_, width_;
};

// The operator on whole images. Base: CpuResampler or GpuResampler.
template <class Base>
class RandomResizedCrop final : public Base {
 public:
  explicit RandomResizedCrop(const OpSpec& spec) : layout_(spec, 0), resize_(spec) {}
  ResampleArgs::Task task(const SampleContext& ctx, const SampleView& in) const override {
    const Layout layout = layout_(in);
    const int axis = layout.find('H');
    return resize_.resample.plan(ctx, in, layout,
                                 resize_.draw(ctx, in.shape[axis], in.shape[axis + 1]));
  }

 private:
  InputLayout layout_;
  RandomResize resize_;
};

// The arguments of one of the two operators that a node replaces.
OpSpec part_of(OpSpec spec, const char* schema) {
  spec.schema = find_schema(schema);
  std::erase_if(spec.constants, [&](const auto& argument) {
    return spec.schema->find_arg(argument.first) == nullptr;
  });
  return spec;
}
// `dtype` belongs to the resizer, because a decoder with this argument is not fused.
OpSpec decoder_part(const OpSpec& spec) {
  OpSpec part = part_of(spec, "host_part.decoders.image");
  part.constants.erase("dtype");
  return part;
}

// Errors name one of the operators that the node replaces.
template <class Fn>
auto blame(int producer, Fn&& fn) {
  try {
    return fn();
  } catch (Error& e) {
    e.set_producer(producer);
    throw;
  }
}
constexpr int kTheDecoder = 0, kTheResizer = 1;

// decoders.image with device="mixed", and this operator on the GPU
// (executor/graph/mixed_decoders.cpp): the host decodes what the filter reads.
class DecodeForRandomResizedCrop final : public Operator {
 public:
  explicit DecodeForRandomResizedCrop(const OpSpec& spec)
      : decoder_(blame(kTheDecoder, [&] { return ImageDecoder(decoder_part(spec)); })),
        resize_(blame(kTheResizer,
                      [&] { return RandomResize(part_of(spec, "random_resized_crop")); })) {}
  void run(SampleContext& ctx) const override {
    const io::Bytes bytes = blame(kTheDecoder, [&] { return encoded_bytes(ctx.input(0)); });
    const io::ImageInfo info = blame(kTheDecoder, [&] { return decoder_.peek(bytes); });
    SampleView whole;
    whole.dtype = decoder_.dtype();
    whole.shape = decoder_.shape(info, std::nullopt);
    whole.layout = "HWC";
    const io::Region region = blame(kTheResizer, [&] { return find_region(ctx, whole); });
    blame(kTheDecoder, [&] { decoder_.decode(ctx, bytes, info, region); });
  }

 private:
  // If nothing is read, one pixel is decoded.
  io::Region find_region(const SampleContext& ctx, const SampleView& whole) const {
    const ResizeGeometry geometry = resize_.draw(ctx, whole.shape[0], whole.shape[1]);
    const kernels::ResampleJob job = resize_.resample.plan(ctx, whole, "HWC", geometry).job;
    const auto rows = kernels::resample_source_range(job.axes[1]);
    const auto columns = kernels::resample_source_range(job.axes[2]);
    return {.y = std::min<int64_t>(rows.begin, whole.shape[0] - 1),
            .x = std::min<int64_t>(columns.begin, whole.shape[1] - 1),
            .height = std::max<int64_t>(rows.end - rows.begin, 1),
            .width = std::max<int64_t>(columns.end - columns.begin, 1)};
  }
  ImageDecoder decoder_;
  RandomResize resize_;
};

// The GPU part after that.
class ResizeDecodedPart final : public GpuResampler {
 public:
  explicit ResizeDecodedPart(const OpSpec& spec)
      : resize_(blame(0, [&] { return RandomResize(spec); })) {}
  void run(SampleContext& ctx) const override {
    blame(0, [&] { GpuResampler::run(ctx); });
  }
  // The input is the window of another image that contains all pixels that are read.
  ResampleArgs::Task task(const SampleContext& ctx, const SampleView& /*in*/) const override {
    const DeviceImage image = read_device_image(ctx, 1);
    const SampleView whole{.dtype = image.dtype,
                           .shape = {image.whole_height, image.whole_width, image.channels},
                           .layout = "HWC"};
    ResampleArgs::Task task = resize_.resample.plan(
        ctx, whole, "HWC", resize_.draw(ctx, image.whole_height, image.whole_width));
    task.job.axes[1].stored = image.y;
    task.job.axes[2].stored = image.x;
    return task;
  }

 private:
  RandomResize resize_;
};

SchemaBuilder& add_random_resize_args(SchemaBuilder& schema) {
  return schema
      .required_arg("size", ArgType::kIntVec,
                    "Size of the result in pixels: (height, width), or one number for both.")
      .with(add_random_crop_args)
      .with(add_resample_args)
      .random();
}

TORCHDALI_OPERATOR("random_resized_crop")
    .doc(
        "Crops a window of random area, aspect ratio and position, and resizes it to a fixed size. "
        "Frames of a sequence share the window. Filters also read pixels of the input around the "
        "window.")
    .input("data", "Images or sequences; uint8, int16, uint16 or float32.",
           {"HWC", "CHW", "FHWC", "FCHW", "CFHW"})
    .output("resized", "Layout of the input; element type `dtype`.")
    .with(add_random_resize_args)
    .sequences()
    .image_role(ImageRole::kResampler)
    .parts("host_part.random_resized_crop", "device_part.random_resized_crop")
    .cpu<RandomResizedCrop<CpuResampler>>()
    .gpu<RandomResizedCrop<GpuResampler>>();

TORCHDALI_OPERATOR("host_part.random_resized_crop")
    .doc(
        "The host part of decoding with device=\"mixed\" the pixels that random_resized_crop "
        "reads.")
    .input("data", "The bytes of an image file, uint8, 1-D.")
    .with(add_host_part_outputs)
    .cpu<DecodeForRandomResizedCrop>();

TORCHDALI_OPERATOR("device_part.random_resized_crop")
    .doc("random_resized_crop of a partly decoded image.")
    .input("data", "The decoded part, layout \"HWC\".")
    .input("description", "Description of the data.")
    .output("resized", "Layout \"HWC\"; element type `dtype`.")
    .with(add_random_resize_args)
    .hidden()
    .image_role(ImageRole::kResampler)
    .gpu<ResizeDecodedPart>()
    .host_input(1);

}  // namespace
}  // namespace torchdali
