// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/video/frame_writers.h"

#include <algorithm>

#include "core/error.h"
#include "core/image_types.h"
#include "ops/decoders/video_frames.h"

namespace torchdali {
namespace {

constexpr float kNormalized = 1.0f / 255;

kernels::PixelOutput pixel_output(ImageType type) {
  switch (type) {
    case ImageType::kRGB: return kernels::PixelOutput::kRGB;
    case ImageType::kYCbCr: return kernels::PixelOutput::kYCbCr;
    case ImageType::kGray: return kernels::PixelOutput::kGray;
    default:
      raise(ErrorKind::kValue, "`image_type` of a video is RGB, YCbCr or GRAY",
            to_fix("leave it out, and use fn.color_space_conversion"));
  }
}

// Converts bytes to floats times `scale`.
void to_floats(const uint8_t* from, float scale, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale;
}

class WriterOfFormat : public FrameWriter {
 public:
  WriterOfFormat(SampleView& out, const FrameFormat& format)
      : out_(out), format_(format), frame_(out.volume() / std::max<int64_t>(out.shape[0], 1)) {}

  void fill(int64_t i, std::span<const uint8_t> color) final {
    const auto write = [&](auto* to, auto convert) {
      for (int64_t k = 0; k < frame_; ++k)
        to[k] = convert(color[static_cast<size_t>(k) % color.size()]);
    };
    if (format_.dtype == DType::kFloat)
      write(out_.as<float>() + i * frame_,
            [this](uint8_t x) { return static_cast<float>(x) * format_.scale; });
    else write(out_.as<uint8_t>() + i * frame_, [](uint8_t x) { return x; });
  }

 protected:
  SampleView& out_;
  const FrameFormat& format_;
  const int64_t frame_;  // elements of a frame
};

class PlainWriter final : public WriterOfFormat {
 public:
  PlainWriter(SampleContext& ctx, SampleView& out, const FrameFormat& format,
              const PictureSize& size)
      : WriterOfFormat(out, format), size_(size) {
    if (format.dtype == DType::kFloat) bytes_ = ctx.scratch<uint8_t>(static_cast<size_t>(frame_));
  }
  void write(int64_t i, const kernels::Picture& picture) override {
    const bool floats = format_.dtype == DType::kFloat;
    uint8_t* to = floats ? bytes_.data() : out_.as<uint8_t>() + i * frame_;
    turned_pixels(picture, size_.degrees, size_.whole(), format_.pixels, unturned_, to);
    if (floats) to_floats(to, format_.scale, out_.as<float>() + i * frame_, frame_);
  }

 private:
  const PictureSize size_;
  std::span<uint8_t> bytes_;
  std::vector<uint8_t> unturned_;
};

class ResizingWriter final : public WriterOfFormat {
 public:
  ResizingWriter(SampleContext& ctx, SampleView& out, const FrameFormat& format,
                 const PictureSize& size, const kernels::ResampleJob& job)
      : WriterOfFormat(out, format), degrees_(size.degrees), job_(job) {
    if (frame_ == 0) return;
    const auto rows = kernels::resample_source_range(job.axes[1]);
    const auto columns = kernels::resample_source_range(job.axes[2]);
    region_ = {.x = static_cast<int>(columns.begin),
               .y = static_cast<int>(rows.begin),
               .width = static_cast<int>(columns.end - columns.begin),
               .height = static_cast<int>(rows.end - rows.begin)};
    job_.axes[1].stored = rows.begin;
    job_.axes[2].stored = columns.begin;
    job_.in_row_stride = int64_t{region_.width} * format.channels;
    pixels_ = ctx.scratch<uint8_t>(
        static_cast<size_t>(std::max<int64_t>(job_.in_row_stride * region_.height, 1)));
    memory_ = ctx.scratch<std::byte>(kernels::resample_scratch_bytes(job_));
  }
  void write(int64_t i, const kernels::Picture& picture) override {
    if (frame_ == 0) return;
    turned_pixels(picture, degrees_, region_, format_.pixels, unturned_, pixels_.data());
    auto* to = static_cast<std::byte*>(out_.data) + i * frame_ * itemsize(out_.dtype);
    if (rows_ == nullptr) rows_ = kernels::resample_rows(job_, pixels_.data(), memory_.data());
    else rows_->restart(pixels_.data());
    rows_->make(0, job_.axes[1].out, to, job_.axes[2].out * job_.channels);
    if (format_.dtype != DType::kFloat || format_.scale == 1) return;
    auto* floats = reinterpret_cast<float*>(to);
    for (int64_t k = 0; k < frame_; ++k) floats[k] *= format_.scale;
  }

 private:
  const int degrees_;
  kernels::ResampleJob job_;
  kernels::PictureRegion region_;
  std::span<uint8_t> pixels_;  // of the region
  std::vector<uint8_t> unturned_;
  std::span<std::byte> memory_;
  std::unique_ptr<kernels::ResampledRows> rows_;  // with the tables of all frames
};

}  // namespace

FrameFormat::FrameFormat(const OpSpec& spec)
    : pixels(pixel_output(spec.get<ImageType>("image_type"))),
      channels(kernels::PixelOutput::kGray == pixels ? 1 : 3) {
  const auto has = [&spec](const char* name) { return spec.schema->find_arg(name) != nullptr; };
  if (has("dtype") && spec.defined("dtype")) dtype = spec.get<DType>("dtype");
  TORCHDALI_CHECK(dtype == DType::kUInt8 || dtype == DType::kFloat, "`dtype` is ",
                  dtype_name(dtype), ", expected uint8 or float32", to_fix("use fn.cast"));
  if (has("channels") && spec.has("channels"))
    TORCHDALI_CHECK(spec.get<int>("channels") == channels, "`channels` is ",
                    spec.get<int>("channels"), ", but frames of this `image_type` have ", channels,
                    to_fix("leave it out; image_type=types.GRAY has one channel"));
  if (has("normalized") && spec.get<bool>("normalized")) {
    TORCHDALI_CHECK(dtype == DType::kFloat, "`normalized` frames are floats",
                    to_fix("give dtype=types.FLOAT too"));
    scale = kNormalized;
  }
}

SchemaBuilder& add_frame_format_args(SchemaBuilder& schema) {
  return schema
      .arg("image_type", ImageType::kRGB,
           "Color space of the frames: RGB, YCbCr (BT.601 of limited range) or GRAY.")
      .arg("channels", 3,
           "Channels of a frame. Nothing else than those of `image_type` is allowed.")
      .arg("normalized", false, "Whether frames are floats from 0 to 1; needs dtype=types.FLOAT.");
}

std::unique_ptr<FrameWriter> make_frame_writer(SampleContext& ctx, const FrameFormat& format,
                                               int64_t frames, const PictureSize& size) {
  SampleView& out = ctx.output(
      0, format.dtype, Shape{frames, size.upright_height(), size.upright_width(), format.channels},
      "FHWC");
  return std::make_unique<PlainWriter>(ctx, out, format, size);
}

std::unique_ptr<FrameWriter> make_resizing_writer(SampleContext& ctx, const FrameFormat& format,
                                                  const ResizeArgs& resize,
                                                  const ResampleArgs& filters, int64_t frames,
                                                  const PictureSize& size) {
  const SampleView picture{.data = nullptr,
                           .dtype = DType::kUInt8,
                           .shape = {size.upright_height(), size.upright_width(), format.channels},
                           .layout = {}};
  const ResampleArgs::Task task =
      filters.plan(ctx, picture, "HWC", resize(ctx, picture.shape.span().first(2)));
  const Shape& shape = task.out_shape;
  SampleView& out =
      ctx.output(0, task.job.out_type, Shape{frames, shape[0], shape[1], shape[2]}, "FHWC");
  return std::make_unique<ResizingWriter>(ctx, out, format, size, task.job);
}

}  // namespace torchdali
