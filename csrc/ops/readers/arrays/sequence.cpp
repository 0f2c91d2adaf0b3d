// SPDX-License-Identifier: Apache-2.0
// fn.readers.sequence: consecutive images of a folder, decoded, as a sequence of frames.
#include <string>
#include <utility>
#include <vector>

#include "io/image.h"
#include "ops/readers/file_list.h"
#include "ops/readers/reader.h"

namespace torchdali {
namespace {

// As for a shell, hidden folders and files are not among them.
const std::vector<std::string> kFolders = {"[!.]*"};
const std::vector<std::string> kFrames = {"[!.]*.jpg", "[!.]*.jpeg", "[!.]*.png", "[!.]*.bmp",
                                          "[!.]*.tif", "[!.]*.tiff", "[!.]*.pnm", "[!.]*.ppm",
                                          "[!.]*.pgm", "[!.]*.pbm",  "[!.]*.jp2", "[!.]*.webp"};
constexpr int64_t kMaxFramePixels = int64_t{1} << 28;  // of fn.decoders.image, by default

// Memory of the decoder for one frame, which the next frame uses again.
class FrameScratch final : public io::ScratchMemory {
 public:
  explicit FrameScratch(SampleContext& ctx) : ctx_(ctx) {}
  void* allocate(size_t bytes) override {
    if (next_ == parts_.size()) parts_.emplace_back();
    auto& part = parts_[next_++];
    if (part.size() < bytes) part = ctx_.scratch<uint8_t>(bytes);
    return part.data();
  }
  void start_frame() { next_ = 0; }

 private:
  SampleContext& ctx_;
  std::vector<std::span<uint8_t>> parts_;
  size_t next_ = 0;
};

class SequenceReader final : public Reader {
 public:
  explicit SequenceReader(const OpSpec& spec)
      : Reader(spec),
        root_(spec.get<std::string>("file_root")),
        length_(positive(spec, "sequence_length")),
        step_(positive(spec, "step")),
        stride_(positive(spec, "stride")),
        type_(spec.get<ImageType>("image_type")) {
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    const int64_t first = firsts_[static_cast<size_t>(index_of(ctx))];
    FrameScratch scratch(ctx);
    const SampleView* out = nullptr;
    for (int64_t frame = 0; frame < length_; ++frame) {
      std::string path;
      frames_.append_path(first + frame * stride_, path);
      scratch.start_frame();
      std::span<uint8_t> bytes;
      open(path)->read_rest(0, [&](int64_t size) {
        bytes = {static_cast<uint8_t*>(scratch.allocate(static_cast<size_t>(size))),
                 static_cast<size_t>(size)};
        return bytes.data();
      });
      try {
        decode(ctx, bytes, frame, out, scratch);
      } catch (Error& error) {
        error.set_message(str_cat("frame ", frame, ", \"", path, "\": ", error.message()));
        throw;
      }
    }
  }

 private:
  static int64_t positive(const OpSpec& spec, const char* name) {
    const auto value = spec.get<int64_t>(name);
    constexpr int64_t kMost = int64_t{1} << 31;
    TORCHDALI_CHECK(value > 0 && value < kMost, "`", name, "` is ", value,
                    ", expected a number from 1 to 2^31 - 1");
    return value;
  }

  void decode(SampleContext& ctx, io::Bytes bytes, int64_t frame, const SampleView*& out,
              FrameScratch& scratch) const {
    // Frames of a video are stored upright, so their orientation is not looked at, as in DALI.
    const io::DecodeOptions options{.type = type_, .adjust_orientation = false};
    const io::ImageInfo info = io::peek_image(bytes);
    TORCHDALI_CHECK_KIND(kData, info.height <= kMaxFramePixels / info.width, "the image has ",
                         info.height, " x ", info.width, " pixels, expected at most ",
                         kMaxFramePixels);
    const auto shape = io::decoded_shape(info, type_, options.adjust_orientation);
    if (out == nullptr)
      out = &ctx.output(0, DType::kUInt8, Shape{length_, shape.height, shape.width, shape.channels},
                        "FHWC");
    const Shape& whole = out->shape;
    TORCHDALI_CHECK_KIND(
        kData, shape.height == whole[1] && shape.width == whole[2] && shape.channels == whole[3],
        "the frame has ", shape.height, " x ", shape.width, " pixels of ", shape.channels,
        " channels, the first of its sequence ", whole[1], " x ", whole[2], " of ", whole[3],
        to_fix("put images of different sizes into folders of their own"));
    const int64_t row = shape.width * shape.channels;
    io::decode_image(bytes, info, options, out->as<uint8_t>() + frame * shape.height * row, row,
                     scratch);
  }

  int64_t find_samples() override {
    const NameFilter folders(kFolders, true);
    frames_ = list_labelled_folders(root_, {kFrames, false}, &folders);
    firsts_.clear();
    for (int64_t begin = 0, end = 0; begin < frames_.size(); begin = end) {
      end = begin;
      while (end < frames_.size() && frames_.label(end) == frames_.label(begin)) ++end;
      for (int64_t first = begin; first + (length_ - 1) * stride_ < end; first += step_)
        firsts_.push_back(first);
    }
    TORCHDALI_CHECK_KIND(kFile, !firsts_.empty(), "no folder in \"", root_,
                         "\" has the images of a sequence, ", 1 + (length_ - 1) * stride_,
                         " or more",
                         to_fix("put the images of a video, whose names end in .jpg, "
                                ".png, ..., right inside a folder of `file_root`"));
    return static_cast<int64_t>(firsts_.size());
  }

  // A sequence has several files, which the workers read themselves.
  void will_read(int64_t /*position*/, int64_t /*index*/) override {}

  std::unique_ptr<ReaderBatch> make_batch(std::span<const int64_t> indices) override {
    auto batch = std::make_unique<ReaderBatch>();
    auto names = std::make_shared<SampleNames>(frames_.root());
    for (const int64_t index : indices)
      names->add([&](std::string& text) {
        frames_.append_path(firsts_[static_cast<size_t>(index)], text);
      });
    batch->names = std::move(names);
    return batch;
  }

  std::string root_;
  int64_t length_, step_, stride_;
  ImageType type_;
  FileList frames_;
  std::vector<int64_t> firsts_;  // the first frame of each sequence
};

TORCHDALI_OPERATOR("readers.sequence")
    .doc(
        "Reads sequences of frames: `file_root` has one folder for each video, with one image "
        "for each frame, in the order of their names. A sequence does not continue in the next "
        "folder, and has `sequence_length` frames. The images of a sequence have one size.")
    .output("frames", "The frames, uint8, layout \"FHWC\".")
    .required_arg("file_root", ArgType::kString, "Folder with one folder of images per video.")
    .required_arg("sequence_length", ArgType::kInt, "Frames of a sequence.")
    .arg("step", 1, "Distance between the first frames of consecutive sequences.")
    .arg("stride", 1, "Distance between consecutive frames of a sequence.")
    .arg("image_type", ImageType::kRGB, "Colors of the output, as `output_type` of decoders.image.")
    .with(reader_args)
    .cpu<SequenceReader>();

}  // namespace
}  // namespace torchdali
