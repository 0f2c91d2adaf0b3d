// SPDX-License-Identifier: Apache-2.0
// fn.random_resized_crop: a random window of each sample, resized; and its fusion with decoding.
#include "core/operator.h"
#include "ops/decoders/image_decoder.h"
#include "ops/input_layout.h"
#include "ops/random_crop_args.h"
#include "ops/resize_filter.h"

namespace torchdali {
namespace {

// What the operator and its fused variant share: the size, the window and the filter.
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
  // Of the sample in hand, whose image has this size.
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

class RandomResizedCrop final : public Operator {
 public:
  explicit RandomResizedCrop(const OpSpec& spec) : layout_(spec, 0), resize_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const int axis = layout.find('H');
    resize_.resample.run(ctx, layout, resize_.draw(ctx, in.shape[axis], in.shape[axis + 1]));
  }

 private:
  InputLayout layout_;
  RandomResize resize_;
};

class RandomResizedCropGpu final : public GpuResampler {
 public:
  explicit RandomResizedCropGpu(const OpSpec& spec) : layout_(spec, 0), resize_(spec) {}
  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const Layout layout = layout_(in);
    const int axis = layout.find('H');
    const ResizeGeometry geometry = resize_.draw(ctx, in.shape[axis], in.shape[axis + 1]);
    resize_.resample.run_gpu(ctx, layout, geometry, {.out = geometry.out});
  }

 private:
  InputLayout layout_;
  RandomResize resize_;
};

// decoders.image and random_resized_crop in one: decodes only what the filter reads.
class DecodeRandomResizedCrop final : public Operator {
  // Errors of the decoder's part name its operator and its line.
  template <class Fn>
  static auto blame_decoder(Fn&& decode) {
    try {
      return decode();
    } catch (Error& e) {
      e.set_producer(0);
      throw;
    }
  }

 public:
  explicit DecodeRandomResizedCrop(const OpSpec& spec)
      : decoder_(*spec.producers[0]), resize_(spec) {}
  void run(SampleContext& ctx) const override {
    const io::Bytes bytes = blame_decoder([&] { return encoded_bytes(ctx.input(0)); });
    const io::ImageInfo info = blame_decoder([&] { return io::peek_image(bytes); });
    const Shape whole = decoder_.shape(info, std::nullopt);
    const ResizeGeometry geometry = resize_.draw(ctx, whole[0], whole[1]);
    auto task =
        resize_.resample.plan(ctx, decoder_.dtype(), whole, "HWC", geometry, {.out = geometry.out});
    const auto rows = kernels::resample_source_range(task.job.axes[1]);
    const auto columns = kernels::resample_source_range(task.job.axes[2]);
    const int64_t height = rows.end - rows.begin, width = columns.end - columns.begin;
    const void* in = nullptr;
    if (height > 0 && width > 0) {
      const io::Region region{rows.begin, columns.begin, height, width};
      const int64_t bytes_out = height * width * whole[2] * itemsize(decoder_.dtype());
      const auto pixels = ctx.scratch<uint8_t>(static_cast<size_t>(bytes_out));
      blame_decoder([&] { decoder_.decode_into(ctx, bytes, info, region, pixels.data()); });
      // The kernel keeps the whole image's coordinates, so that nothing rounds differently.
      task.job.in_row_stride = width * whole[2];
      task.job.axes[1].stored = rows.begin;
      task.job.axes[2].stored = columns.begin;
      in = pixels.data();
    }
    ResampleArgs::run(ctx, task, "HWC", in);
  }

 private:
  ImageDecoder decoder_;
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
        "Crops a window of random area, aspect ratio and position and resizes it to a fixed size. "
        "Frames of a sequence share the window. Filters read around the window where the input "
        "has pixels there.")
    .input("data", "Images or sequences; uint8, int16, uint16 or float32.",
           {"HWC", "CHW", "FHWC", "FCHW", "CFHW"})
    .output("resized", "Layout of the input; element type `dtype`.")
    .with(add_random_resize_args)
    .sequences()
    .cpu<RandomResizedCrop>()
    .gpu<RandomResizedCropGpu>();

TORCHDALI_OPERATOR("fused.decode_random_resized_crop")
    .doc("decoders.image, then random_resized_crop; see docs/design/fusion.md.")
    .input("data", "The bytes of one image file a sample, uint8.")
    .output("resized", "Layout \"HWC\"; element type `dtype`.")
    .with(add_random_resize_args)
    .hidden()
    .cpu<DecodeRandomResizedCrop>();

}  // namespace
}  // namespace torchdali
