// SPDX-License-Identifier: Apache-2.0
#include "ops/decoders/video_frames.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

namespace torchdali {
namespace {

// Turns pixels clockwise by a multiple of 90 degrees. `height` and `width` are those of `from`.
void turn(const uint8_t* from, int64_t height, int64_t width, int64_t channels, int degrees,
          uint8_t* to) {
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      const int64_t at = degrees == 90    ? x * height + (height - 1 - y)
                         : degrees == 180 ? (height - 1 - y) * width + (width - 1 - x)
                                          : (width - 1 - x) * height + y;
      std::copy_n(from + (y * width + x) * channels, channels, to + at * channels);
    }
}

// A frame of a chain.
class Frame final : public ImageSource {
 public:
  using Make = std::function<void(const kernels::PictureRegion& window, void* out)>;
  Frame(const SampleView& frame, Make make) : make_(std::move(make)) { image_ = frame; }
  void make(SampleContext& /*ctx*/, const ImagePart& window, void* out) override {
    make_({static_cast<int>(window.columns.begin), static_cast<int>(window.rows.begin),
           static_cast<int>(window.columns.extent), static_cast<int>(window.rows.extent)},
          out);
  }

 private:
  Make make_;
};

class VideoFrames final : public FrameSource {
 public:
  VideoFrames(std::shared_ptr<const io::video::VideoFile> video, std::vector<int64_t> chosen,
              SequenceFormat format)
      : video_(std::move(video)), chosen_(std::move(chosen)), format_(std::move(format)) {
    frames_ = static_cast<int64_t>(chosen_.size());
    frame_ = {.dtype = format_.dtype,
              .shape = frame_shape(*video_, format_.degrees != 0, format_.colors),
              .layout = "HWC"};
  }
  void decode(SampleContext& /*ctx*/, const Use& use) override {
    for (int64_t i = 0; i < frames_; ++i)
      if (chosen_[static_cast<size_t>(i)] < 0)
        use_frame(use, i, [this](const kernels::PictureRegion& window, uint8_t* out) {
          const int64_t channels = frame_.shape[2];
          const int64_t count = int64_t{window.width} * window.height * channels;
          for (int64_t k = 0; k < count; ++k)
            out[k] = format_.fill[static_cast<size_t>(k) % format_.fill.size()];
        });
    std::vector<uint8_t> unturned;
    decode_chosen(
        *video_, chosen_,
        [&](size_t i, const kernels::Picture& picture) {
          use_frame(use, static_cast<int64_t>(i),
                    [&](const kernels::PictureRegion& window, uint8_t* out) {
                      turned_pixels(picture, format_.degrees, window, format_.colors, unturned,
                                    out);
                    });
        },
        format_.threads);
  }

 private:
  // `make(window, out)` makes bytes.
  template <class Make>
  void use_frame(const Use& use, int64_t index, Make make) {
    use(index, std::make_unique<Frame>(frame_, [this, make](const kernels::PictureRegion& window,
                                                            void* out) {
          if (format_.dtype == DType::kUInt8) return make(window, static_cast<uint8_t*>(out));
          bytes_.resize(
              static_cast<size_t>(int64_t{window.width} * window.height * frame_.shape[2]));
          make(window, bytes_.data());
          std::transform(bytes_.begin(), bytes_.end(), static_cast<float*>(out),
                         [this](uint8_t x) { return static_cast<float>(x) * format_.scale; });
        }));
  }

  std::shared_ptr<const io::video::VideoFile> video_;
  std::vector<int64_t> chosen_;
  SequenceFormat format_;
  std::vector<uint8_t> bytes_;  // of a frame of floats
};

}  // namespace

std::unique_ptr<FrameSource> open_video_frames(std::shared_ptr<const io::video::VideoFile> video,
                                               std::vector<int64_t> frames, SequenceFormat format) {
  return std::make_unique<VideoFrames>(std::move(video), std::move(frames), std::move(format));
}

Shape frame_shape(const io::video::VideoFile& video, bool upright, kernels::PixelOutput colors) {
  const io::video::StreamInfo& info = video.info();
  const bool turned = upright && info.rotation % 180 != 0;
  return {turned ? info.width : info.height, turned ? info.height : info.width,
          kernels::channels_of(colors)};
}

void turned_pixels(const kernels::Picture& picture, int degrees,
                   const kernels::PictureRegion& window, kernels::PixelOutput colors,
                   std::vector<uint8_t>& unturned, uint8_t* out) {
  const auto [x, y, width, height] = window;
  const int64_t channels = kernels::channels_of(colors);
  if (degrees == 0) {
    kernels::picture_to_pixels(picture, window, colors, out, width * channels);
    return;
  }
  // Where that is in the picture.
  kernels::PictureRegion from = {y, x, height, width};
  if (degrees == 90) from.y = picture.height - x - width;
  if (degrees == 270) from.x = picture.width - y - height;
  if (degrees == 180)
    from = {picture.width - x - width, picture.height - y - height, width, height};
  unturned.resize(static_cast<size_t>(width * int64_t{height} * channels));
  kernels::picture_to_pixels(picture, from, colors, unturned.data(), from.width * channels);
  turn(unturned.data(), from.height, from.width, channels, degrees, out);
}

void decode_chosen(const io::video::VideoFile& video, std::span<const int64_t> frames,
                   const io::video::VideoFile::Use& use, int threads) {
  std::vector<int64_t> wanted;
  std::vector<size_t> places;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i] < 0) continue;
    wanted.push_back(frames[i]);
    places.push_back(i);
  }
  video.decode(
      wanted, [&](size_t i, const kernels::Picture& picture) { use(places[i], picture); }, threads);
}

void decode_frames(const io::video::VideoFile& video, std::span<const int64_t> frames, bool upright,
                   kernels::PixelOutput colors, uint8_t* out, int threads) {
  const int64_t channels = kernels::channels_of(colors);
  const int degrees = upright ? video.info().rotation : 0;
  const Shape shape = frame_shape(video, upright, colors);
  const kernels::PictureRegion whole = {0, 0, static_cast<int>(shape[1]),
                                        static_cast<int>(shape[0])};
  std::vector<uint8_t> unturned;
  const auto use = [&](size_t i, const kernels::Picture& picture) {
    const int64_t size = int64_t{picture.width} * picture.height * channels;
    uint8_t* to = out + static_cast<int64_t>(i) * size;
    if (i > 0 && frames[i] == frames[i - 1]) {  // repeated: given in the order of `frames`
      std::memcpy(to, to - size, static_cast<size_t>(size));
      return;
    }
    turned_pixels(picture, degrees, whole, colors, unturned, to);
  };
  decode_chosen(video, frames, use, threads);
}

void frame_choice_args(SchemaBuilder& schema) {
  schema
      .optional_arg("start_frame", ArgType::kInt, "The first frame; by default 0.",
                    Arity::kPerSample)
      .optional_arg(
          "end_frame", ArgType::kInt,
          "The frame before which the sequence ends; by default the end of the video. Not "
          "together with `sequence_length`.",
          Arity::kPerSample)
      .optional_arg("sequence_length", ArgType::kInt,
                    "Number of frames; by default as many as there are up to `end_frame`.",
                    Arity::kPerSample)
      .optional_arg("stride", ArgType::kInt,
                    "Distance of the frames: 2 takes every other one; by default 1.",
                    Arity::kPerSample)
      .optional_arg("frames", ArgType::kIntVec,
                    "The numbers of the frames, in any order; they may repeat. Instead of the "
                    "arguments above.",
                    Arity::kPerSample)
      .arg("pad_mode", "constant",
           "What follows the last frame, if the sequence is longer than the video: \"none\", which "
           "makes it shorter; \"constant\", `fill_value`; \"edge\" or \"repeat\", the last frame; "
           "\"reflect_1001\" or \"symmetric\", the frames of the video in reverse order with the "
           "last one again; \"reflect_101\" or \"reflect\", without it. A value for each sample is "
           "text as uint8.",
           Arity::kPerSample)
      .arg("fill_value", std::vector<int64_t>{0},
           "The color of frames that \"constant\" adds, 0 to 255: one value, or one for each "
           "channel.");
}

FrameChoice::FrameChoice(const OpSpec& spec)
    : start_(spec, "start_frame"),
      end_(spec, "end_frame"),
      length_(spec, "sequence_length"),
      stride_(spec, "stride"),
      frames_(spec, "frames"),
      fill_(fill_color(spec.get<std::vector<int64_t>>("fill_value"), 3)) {
  if (const auto found = spec.tensors.find("pad_mode"); found != spec.tensors.end())
    padding_slot_ = found->second;
  else padding_ = pad_mode_of(spec.get<std::string>("pad_mode"));
  const bool ranges = start_.given() || end_.given() || length_.given() || stride_.given();
  TORCHDALI_CHECK(!frames_.given() || !ranges,
                  "`frames` excludes start_frame, end_frame, sequence_length and stride");
  TORCHDALI_CHECK(!end_.given() || !length_.given(), "`end_frame` excludes sequence_length");
}

PadMode FrameChoice::padding(const SampleContext& ctx) const {
  if (padding_slot_ < 0) return padding_;
  const SampleView& text = ctx.argument_input(padding_slot_);
  TORCHDALI_CHECK_KIND(kType, text.dtype == DType::kUInt8 && text.shape.ndim() == 1,
                       "`pad_mode` takes text, 1-D tensors of uint8, got ", dtype_name(text.dtype),
                       " of shape ", text.shape);
  return pad_mode_of({text.as<const char>(), static_cast<size_t>(text.volume())});
}

std::vector<int64_t> FrameChoice::listed(const SampleContext& ctx, int64_t count) const {
  static thread_local std::vector<int64_t> buffer;
  const auto frames = frames_(ctx, buffer);
  for (const int64_t frame : frames)
    TORCHDALI_CHECK_KIND(kIndex, frame >= 0 && frame < count, "`frames` has ", frame,
                         ", but the video has ", count, " frames");
  return {frames.begin(), frames.end()};
}

std::vector<int64_t> FrameChoice::operator()(const SampleContext& ctx, int64_t count) const {
  if (frames_.given()) return listed(ctx, count);
  const int64_t start = start_.given() ? start_(ctx) : 0;
  const int64_t stride = stride_.given() ? stride_(ctx) : 1;
  TORCHDALI_CHECK(stride > 0, "`stride` is ", stride, ", expected 1 or more");
  TORCHDALI_CHECK_KIND(kIndex, start >= 0 && start < count, "`start_frame` is ", start,
                       ", but the video has ", count, " frames");
  const auto steps = [&](int64_t end) { return (end - start - 1) / stride + 1; };
  const int64_t available = steps(count);
  int64_t length = available;
  if (length_.given()) {
    length = length_(ctx);
    TORCHDALI_CHECK(length > 0, "`sequence_length` is ", length, ", expected 1 or more");
  } else if (end_.given()) {
    const int64_t end = end_(ctx);
    TORCHDALI_CHECK(end > start, "`end_frame` is ", end, ", but start_frame is ", start);
    length = steps(end);
  }
  const PadMode pad = padding(ctx);
  if (!pad.pads) length = std::min(length, available);
  constexpr int64_t kMost = int64_t{1} << 31;
  TORCHDALI_CHECK(length < kMost, "a sequence of ", length, " frames is too long");
  TORCHDALI_CHECK(stride < kMost, "`stride` is ", stride, ", expected less than ", kMost);
  std::vector<int64_t> frames;
  sequence_frames({.begin = 0, .size = count, .border = pad.border}, start, stride, length, frames);
  return frames;
}

void FrameChoice::fill(uint8_t* frame, int64_t pixels) const {
  for (int64_t i = 0; i < pixels; ++i) std::copy(fill_.begin(), fill_.end(), frame + i * 3);
}

}  // namespace torchdali
