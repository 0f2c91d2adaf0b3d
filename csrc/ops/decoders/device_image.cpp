// SPDX-License-Identifier: Apache-2.0
#include "ops/decoders/device_image.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/batch_context.h"
#include "gpu/copy_axes.h"
#include "gpu/nvjpeg.h"
#include "gpu/operator.h"
#include "ops/decoders/image_decoder.h"
#include "ops/decoders/jpeg_tasks.h"

namespace torchdali {

SchemaBuilder& add_device_decoder_arg(SchemaBuilder& schema) {
  return schema.arg("device_decoder", "hybrid",
                    "The decoder on the GPU: \"hybrid\", \"gpu\", \"nvjpeg\" or \"cpu\" (none).");
}

SchemaBuilder& add_host_part_outputs(SchemaBuilder& schema) {
  return schema.output("data", "Data for the GPU, bytes.")
      .output("description", "Description of the data for the host, bytes.")
      .with(add_device_decoder_arg)
      .hidden();
}

void output_packed(SampleContext& ctx, DeviceImage& image) {
  const SampleView& out = ctx.output(0, DType::kUInt8, Shape{packing_bytes(image.jpeg)});
  write_packing(image, out.as<std::byte>());
}

void output_codes(SampleContext& ctx, DeviceImage& image) {
  const SampleView& out = ctx.output(0, DType::kUInt8, Shape{codes_bytes(image.codes)});
  write_codes(image, out.as<std::byte>());
}

void output_device_image(SampleContext& ctx, const DeviceImage& image, io::Bytes file) {
  const size_t behind = image.kind == DeviceImage::Kind::kFile ? file.size() : 0;
  const auto size = static_cast<int64_t>(sizeof(image) + behind);
  const SampleView& out = ctx.output(1, DType::kUInt8, Shape{size});
  std::memcpy(out.data, &image, sizeof(image));
  if (behind > 0) std::memcpy(out.as<std::byte>() + sizeof(image), file.data(), behind);
}

DeviceImage read_device_image(const SampleContext& ctx, int input) {
  DeviceImage image;
  std::memcpy(static_cast<void*>(&image), ctx.input(input).data, sizeof(image));
  return image;
}

namespace {

struct DecodingTasks final : gpu::TaskBatch {
  gpu::Tasks<gpu::JpegZeroKernel> zeros{*this};
  gpu::Tasks<gpu::JpegSegmentsKernel> segments{*this};
  gpu::Tasks<gpu::JpegBlocksKernel> blocks{*this};
  gpu::Tasks<gpu::JpegPixelsKernel> pixels{*this};
  std::vector<gpu::NvJpegImage> files;
  std::vector<int> samples_of_files;  // by index in the batch
};

std::unique_ptr<gpu::NvJpeg> make_nvjpeg(const OpSpec& spec) {
  if (spec.get<std::string>("device_decoder") != kNvJpegDecoder) return nullptr;
  const auto type = spec.get<ImageType>("output_type");
  return std::make_unique<gpu::NvJpeg>(gpu::NvJpegOptions{
      .format = type == ImageType::kGray  ? gpu::NvJpegFormat::kGray
                : type == ImageType::kBGR ? gpu::NvJpegFormat::kBGR
                                          : gpu::NvJpegFormat::kRGB,
      .hardware_load = std::clamp(spec.get<float>("hw_decoder_load"), 0.0f, 1.0f),
      .gpu_codes_from = spec.get<int64_t>("hybrid_huffman_threshold"),
      .device_padding = spec.get<int64_t>("device_memory_padding"),
      .host_padding = spec.get<int64_t>("host_memory_padding"),
      .width_hint = spec.get<int>("preallocate_width_hint"),
      .height_hint = spec.get<int>("preallocate_height_hint"),
      .smooth_upsampling = spec.get<bool>("jpeg_fancy_upsampling"),
      .threads = spec.num_threads,
      .max_batch_size = spec.max_batch_size});
}

class DevicePart final : public gpu::GpuOperator {
 public:
  explicit DevicePart(const OpSpec& spec) : decoder_(spec), nvjpeg_(make_nvjpeg(spec)) {}
  void run(SampleContext& ctx) const override {
    const SampleView& data = ctx.input(0);
    const DeviceImage image = read_device_image(ctx, 1);
    const Shape shape{image.height, image.width, image.channels};
    if (image.kind == DeviceImage::Kind::kPixels) {
      ctx.share_input(0, 0,
                      {.data = data.data, .dtype = image.dtype, .shape = shape, .layout = "HWC"});
      return;
    }
    const SampleView& out = ctx.output(0, image.dtype, shape, "HWC");
    if (image.kind == DeviceImage::Kind::kFile) add_file(ctx, image, out.as<uint8_t>());
    else add(ctx, image, data.data, out.data);
  }
  std::unique_ptr<BatchState> make_tasks(BatchContext& /*ctx*/) const override {
    return std::make_unique<DecodingTasks>();
  }
  void launch(BatchContext& ctx, BatchState& state) const override {
    auto& tasks = static_cast<DecodingTasks&>(state);
    tasks.TaskBatch::launch(ctx);
    if (!tasks.files.empty()) decode_files(ctx, tasks);
  }

 private:
  static void add_file(const SampleContext& ctx, const DeviceImage& image, uint8_t* out);
  void decode_files(BatchContext& ctx, DecodingTasks& tasks) const;
  void decode_on_host(BatchContext& ctx, DecodingTasks& tasks, size_t file) const;
  static void add(const SampleContext& ctx, const DeviceImage& image, const void* in, void* out);
  ImageDecoder decoder_;
  std::unique_ptr<gpu::NvJpeg> nvjpeg_;  // stages are ordered: one thread at a time
};

void DevicePart::add_file(const SampleContext& ctx, const DeviceImage& image, uint8_t* out) {
  auto& tasks = ctx.batch_state<DecodingTasks>();
  const io::PackedJpeg& jpeg = image.jpeg;
  const SampleView& description = ctx.input(1);
  tasks.files.push_back({.data = description.as<const uint8_t>() + sizeof(image),
                         .size = static_cast<size_t>(description.volume()) - sizeof(image),
                         .pixels = jpeg.picture_width * jpeg.picture_height,
                         .whole = jpeg.region.width == jpeg.picture_width &&
                                  jpeg.region.height == jpeg.picture_height,
                         .x = static_cast<int>(jpeg.region.x),
                         .y = static_cast<int>(jpeg.region.y),
                         .width = static_cast<int>(jpeg.region.width),
                         .height = static_cast<int>(jpeg.region.height),
                         .out = out});
  tasks.samples_of_files.push_back(ctx.index_in_batch());
}

void DevicePart::decode_files(BatchContext& ctx, DecodingTasks& tasks) const {
  for (size_t i = 0; i < tasks.files.size(); ++i)
    tasks.files[i].out =
        static_cast<uint8_t*>(ctx.address(0, tasks.samples_of_files[i], tasks.files[i].out));
  for (const size_t i : nvjpeg_->decode(tasks.files, ctx.device(), ctx.input_owner(1)))
    decode_on_host(ctx, tasks, i);
}

// Images that the library could not decode are decoded by the built-in decoder, or raise its error.
void DevicePart::decode_on_host(BatchContext& ctx, DecodingTasks& tasks, size_t file) const {
  const gpu::NvJpegImage& image = tasks.files[file];
  const int sample = tasks.samples_of_files[file];
  int k = 0;
  while (ctx.index_in_batch(k) != sample) ++k;
  const io::Bytes bytes(image.data, image.size);
  std::vector<std::byte> pixels;
  try {
    const io::ImageInfo info = io::peek_image(bytes);
    const io::Region region{image.y, image.x, image.height, image.width};
    pixels.resize(static_cast<size_t>(decoder_.shape(info, region).volume()));
    decoder_.decode_into(ctx.sample(k, tasks), bytes, info, region, pixels.data());
  } catch (Error& e) {
    e.set_sample(sample);
    throw;
  }
  const gpu::Device& device = ctx.device();
  const auto size = static_cast<int64_t>(pixels.size());
  gpu::CopyTask task = gpu::make_copy(nullptr, image.out, size, 1, gpu::dense_axes(Shape{size}, 1));
  const Storage there = device.upload(pixels);
  task.in = there.data();
  gpu::queue_copies(device, std::span(&task, 1));
}

void DevicePart::add(const SampleContext& ctx, const DeviceImage& image, const void* in,
                     void* out) {
  auto& tasks = ctx.batch_state<DecodingTasks>();
  const JpegTasks made = make_jpeg_tasks(
      image, in, out,
      [&](int64_t size) { return static_cast<uint8_t*>(tasks.workspace.reserve(size)); },
      [&](std::span<const int16_t> quant) { return tasks.blob.keep(quant); });
  tasks.zeros.add_intermediate(made.zeros);
  tasks.segments.add_intermediate(made.segments);
  tasks.blocks.add_intermediate(made.blocks);
  tasks.pixels.add(ctx, made.pixels);
}

TORCHDALI_OPERATOR("decoders.device_part")
    .doc("The GPU part of decoding images; see docs/design/gpu_jpeg.md.")
    .input("data", "Data from the host part.")
    .input("description", "Description of the data.")
    .output("image", "The image, layout \"HWC\".")
    .with(add_image_decoder_args)
    .with(add_device_decoder_arg)
    .hidden()
    .gpu<DevicePart>()
    .host_input(1);

}  // namespace
}  // namespace torchdali
