// SPDX-License-Identifier: Apache-2.0
#include "ops/readers/video/frame_format.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/error.h"
#include "core/image_types.h"

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

// A frame that is resized, or filled with a color, when a chain asks for a part of it.
class ResizedFrame final : public ImageSource {
 public:
  using Make = std::function<void(const ImagePart& window, void* out)>;
  ResizedFrame(const SampleView& frame, Make make) : make_(std::move(make)) { image_ = frame; }
  void make(SampleContext& /*ctx*/, const ImagePart& window, void* out) override {
    make_(window, out);
  }

 private:
  Make make_;
};

class ResizedFrames final : public FrameSource {
 public:
  ResizedFrames(std::shared_ptr<const io::video::VideoFile> video, std::vector<int64_t> chosen,
                SequenceFormat how, const ResampleArgs::Task& task)
      : video_(std::move(video)), chosen_(std::move(chosen)), how_(std::move(how)), task_(task) {
    frames_ = std::ssize(chosen_);
    frame_ = {.dtype = task.job.out_type, .shape = task.out_shape, .layout = "HWC"};
  }
  void decode(SampleContext& ctx, const Use& use) override {
    for (int64_t i = 0; i < frames_; ++i)
      if (chosen_[static_cast<size_t>(i)] < 0)
        use(i, frame([this](const ImagePart& window, void* out) { fill(window, out); }));
    decode_chosen(
        *video_, chosen_,
        [&](size_t i, const kernels::Picture& picture) {
          use(static_cast<int64_t>(i), frame([&](const ImagePart& window, void* out) {
                resize(ctx, picture, window, out);
              }));
        },
        how_.threads);
  }

 private:
  std::unique_ptr<ImageSource> frame(ResizedFrame::Make make) const {
    return std::make_unique<ResizedFrame>(frame_, std::move(make));
  }
  int64_t count_elements(const ImagePart& window) const {
    return window.rows.extent * window.columns.extent * frame_.shape[2];
  }
  // Plans the resampling of a part, unless it is that of the frame before.
  void plan(const ImagePart& window) {
    const auto is_equal = [](const ImagePart::Axis& a, const ImagePart::Axis& b) {
      return a.begin == b.begin && a.extent == b.extent;
    };
    if (resampling_ != nullptr && is_equal(window.rows, window_.rows) &&
        is_equal(window.columns, window_.columns))
      return;
    window_ = window;
    resampling_ = plan_resampling(task_);
    resampling_->narrow(window);
    source_ = resampling_->source();
    pixels_.resize(static_cast<size_t>(count_elements(source_)));
  }
  void resize(SampleContext& ctx, const kernels::Picture& picture, const ImagePart& window,
              void* out) {
    plan(window);
    const kernels::PictureRegion region = {
        static_cast<int>(source_.columns.begin), static_cast<int>(source_.rows.begin),
        static_cast<int>(source_.columns.extent), static_cast<int>(source_.rows.extent)};
    turned_pixels(picture, how_.degrees, region, how_.colors, unturned_, pixels_.data());
    resampling_->start(ctx, pixels_.data(), source_, source_.columns.extent * frame_.shape[2]);
    resampling_->make_rows(0, window.rows.extent, out);
    if (frame_.dtype != DType::kFloat || how_.scale == 1) return;
    auto* floats = static_cast<float*>(out);
    for (int64_t k = 0; k < count_elements(window); ++k) floats[k] *= how_.scale;
  }
  void fill(const ImagePart& window, void* out) const {
    const bool is_float = frame_.dtype == DType::kFloat;
    for (int64_t k = 0; k < count_elements(window); ++k) {
      const uint8_t x = how_.fill[static_cast<size_t>(k) % how_.fill.size()];
      if (is_float) static_cast<float*>(out)[k] = static_cast<float>(x) * how_.scale;
      else static_cast<uint8_t*>(out)[k] = x;
    }
  }

  const std::shared_ptr<const io::video::VideoFile> video_;
  const std::vector<int64_t> chosen_;
  const SequenceFormat how_;
  const ResampleArgs::Task task_;
  std::unique_ptr<ImageResampling> resampling_;  // of the part `window_`
  ImagePart window_, source_;
  std::vector<uint8_t> pixels_, unturned_;
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

std::unique_ptr<FrameSource> open_resized_frames(SampleContext& ctx,
                                                 std::shared_ptr<const io::video::VideoFile> video,
                                                 std::vector<int64_t> frames, SequenceFormat how,
                                                 const FrameFormat& format,
                                                 const ResizeArgs& resize,
                                                 const ResampleArgs& filters) {
  how.colors = format.pixels;
  how.scale = format.scale;
  const Shape picture = frame_shape(*video, how.degrees != 0, how.colors);
  const SampleView from{.data = nullptr, .dtype = DType::kUInt8, .shape = picture, .layout = {}};
  const ResampleArgs::Task task =
      filters.plan(ctx, from, "HWC", resize(ctx, picture.span().first(2)));
  return std::make_unique<ResizedFrames>(std::move(video), std::move(frames), std::move(how), task);
}

}  // namespace torchdali
