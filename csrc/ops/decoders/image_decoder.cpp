// SPDX-License-Identifier: Apache-2.0
#include "ops/decoders/image_decoder.h"

#include <string>
#include <string_view>

#include "io/jpeg_decoder/index/index.h"
#include "ops/decoders/device_image.h"

namespace torchdali {
namespace {

constexpr int64_t kIndexBytes = int64_t{1} << 30;
constexpr int64_t kMaxPixels = int64_t{1} << 28;  // 16384 x 16384
constexpr const char* kGpuOnly =
    "For decoding with nvJPEG (docs/design/gpu_jpeg.md); otherwise without effect.";

// Whether this is the host part of a decoder that uses `decoder` on the GPU.
bool is_for(const OpSpec& spec, std::string_view decoder) {
  return spec.schema->outputs.size() == 2 && spec.get<std::string>("device_decoder") == decoder;
}

}  // namespace

SchemaBuilder& add_image_decoder_args(SchemaBuilder& schema) {
  constexpr int64_t kDeviceMemory = 16777216, kHostMemory = 8388608, kHybridPixels = 1000000;
  return schema
      .arg("output_type", ImageType::kRGB,
           "Colors of the output. RGB, BGR, GRAY and YCbCr (limited range, ITU-R BT.601) drop "
           "alpha; ANY_DATA keeps the channels of the file: gray, gray and alpha, RGB, RGBA, or "
           "CMYK as coverage of ink (0: none).")
      .arg("dtype", DType::kUInt8,
           "Type of the output: uint8, int8, uint16, int16, uint32, int32 or float32. Full "
           "intensity is the largest integer of the type, or 1.0.")
      .arg("adjust_orientation", true, "Rotate the image by its EXIF orientation.")
      .arg("use_fast_idct", false,
           "JPEG: a faster inverse cosine transform that is slightly less exact.")
      .arg("jpeg_fancy_upsampling", false,
           "The CPU always upsamples JPEG's chroma smoothly, so this changes nothing here.")
      .arg("jpeg_index", "",
           "Where to store the index, positions in JPEG files at which decoding can begin: "
           "\"memory\"; the path of a file that later runs reuse, or of a folder for such a file; "
           "or "
           "\"cache\", a file in TORCHDALI_CACHE_DIR, by default ~/.cache/torchdali. Epochs after "
           "the first skip "
           "most of the file outside a window, and decode two rows at once; pixels are the same. "
           "Not for nvJPEG. Takes about 2 KB per image. torchdali only.")
      .arg("jpeg_index_size", kIndexBytes,
           "Limit of the memory of `jpeg_index` in this process, in bytes. Further images are "
           "decoded without the index.")
      .arg(
          "max_pixels", kMaxPixels,
          "Largest number of pixels that the header of a file may claim; a file of a few kilobytes "
          "can claim gigabytes. Files with more are errors, also if only a window is decoded. "
          "torchdali only.")
      .arg("affine", true, kGpuOnly)
      .arg("device_memory_padding", kDeviceMemory, kGpuOnly)
      .arg("device_memory_padding_jpeg2k", int64_t{0}, kGpuOnly)
      .arg("host_memory_padding", kHostMemory, kGpuOnly)
      .arg("host_memory_padding_jpeg2k", int64_t{0}, kGpuOnly)
      .arg("hw_decoder_load", 0.65f, kGpuOnly)
      .arg("hybrid_huffman_threshold", kHybridPixels, kGpuOnly)
      .arg("preallocate_height_hint", int64_t{0}, kGpuOnly)
      .arg("preallocate_width_hint", int64_t{0}, kGpuOnly)
      .deprecated_arg("memory_stats", ArgType::kBool, "Without effect.")
      .deprecated_arg("split_stages", ArgType::kBool, "Without effect.")
      .deprecated_arg("use_chunk_allocator", ArgType::kBool, "Without effect.");
}

io::Bytes encoded_bytes(const SampleView& input) {
  TORCHDALI_CHECK_KIND(kType, input.dtype == DType::kUInt8 && input.shape.ndim() == 1,
                       "takes encoded images, 1-D tensors of uint8, got ", dtype_name(input.dtype),
                       " of shape ", input.shape);
  return {input.as<const uint8_t>(), static_cast<size_t>(input.volume())};
}

ImageDecoder::ImageDecoder(const OpSpec& spec)
    : options_{.type = spec.get<ImageType>("output_type"),
               .dtype = spec.get<DType>("dtype"),
               .adjust_orientation = spec.get<bool>("adjust_orientation"),
               .fast_idct = spec.get<bool>("use_fast_idct")},
      max_pixels_(spec.get<int64_t>("max_pixels")),
      for_device_(spec.schema->outputs.size() == 2),
      packs_(is_for(spec, kHybridDecoder) || is_for(spec, kGpuDecoder)),
      sends_codes_(is_for(spec, kGpuDecoder)),
      for_nvjpeg_(is_for(spec, kNvJpegDecoder)) {
  io::check_decoder_dtype(options_.dtype);
  TORCHDALI_CHECK(max_pixels_ > 0, "`max_pixels` must be positive, got ", max_pixels_);
  auto where = spec.get<std::string>("jpeg_index");
  if (where.empty() && sends_codes_) where = "memory";  // there are no segments without points
  if (!where.empty()) index_ = io::jpeg::Index::open(where, spec.get<int64_t>("jpeg_index_size"));
  options_.jpeg_index = index_.get();
  options_.all_points = sends_codes_;
}

io::ImageInfo ImageDecoder::peek(io::Bytes bytes) const {
  const io::ImageInfo info = io::peek_image(bytes);
  TORCHDALI_CHECK_KIND(kData, info.height <= max_pixels_ / info.width, "the image has ",
                       info.height, " x ", info.width, " pixels, `max_pixels` is ", max_pixels_,
                       to_fix("pass a larger `max_pixels` to the decoder if the file is good"));
  return info;
}

Shape ImageDecoder::size(const io::ImageInfo& info) const {
  const auto shape = io::decoded_shape(info, options_.type, options_.adjust_orientation);
  return {shape.height, shape.width};
}

Shape ImageDecoder::shape(const io::ImageInfo& info,
                          const std::optional<io::Region>& region) const {
  const auto whole = io::decoded_shape(info, options_.type, options_.adjust_orientation);
  if (region) return {region->height, region->width, whole.channels};
  return {whole.height, whole.width, whole.channels};
}

void ImageDecoder::decode(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
                          const std::optional<io::Region>& region) const {
  if (for_device_) return decode_for_device(ctx, bytes, info, region);
  const SampleView& output = ctx.output(0, options_.dtype, shape(info, region), "HWC");
  decode_into(ctx, bytes, info, region, output.data);
}

void ImageDecoder::decode_for_device(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
                                     const std::optional<io::Region>& region) const {
  io::DecodeOptions options = options_;
  options.region = region;
  const Shape extents = shape(info, region);
  const Shape whole = size(info);
  DeviceImage image;
  image.dtype = options.dtype;
  image.height = extents[0];
  image.width = extents[1];
  image.channels = extents[2];
  image.y = region ? region->y : 0;
  image.x = region ? region->x : 0;
  image.whole_height = whole[0];
  image.whole_width = whole[1];
  ContextScratch scratch(ctx);
  if (for_nvjpeg_ && io::describe_jpeg(bytes, info, options, scratch, image.jpeg)) {
    image.kind = DeviceImage::Kind::kFile;
    ctx.output(0, DType::kUInt8, Shape{0});
  } else if (sends_codes_ &&
             io::find_jpeg_codes(bytes, info, options, scratch, image.jpeg, image.codes)) {
    output_codes(ctx, image);
  } else if (packs_ && io::pack_jpeg(bytes, info, options, scratch, image.jpeg)) {
    output_packed(ctx, image);
  } else {
    const int64_t size = extents.volume() * itemsize(options.dtype);
    decode_into(ctx, bytes, info, region, ctx.output(0, DType::kUInt8, Shape{size}).data);
  }
  output_device_image(ctx, image, bytes);
}

void ImageDecoder::decode_into(SampleContext& ctx, io::Bytes bytes, const io::ImageInfo& info,
                               const std::optional<io::Region>& region, void* out,
                               int scale) const {
  io::DecodeOptions options = options_;
  options.region = region;
  options.scale = scale;
  const Shape extents = shape(io::scaled_info(info, scale), region);
  ContextScratch scratch(ctx);
  io::decode_image(bytes, info, options, out, extents[1] * extents[2] * itemsize(options.dtype),
                   scratch);
}

std::unique_ptr<PairableDecode> ImageDecoder::prepare(io::ScratchMemory& scratch, io::Bytes bytes,
                                                      const io::ImageInfo& info,
                                                      const std::optional<io::Region>& region,
                                                      void* out, int scale) const {
  io::DecodeOptions options = options_;
  options.region = region;
  options.scale = scale;
  const Shape extents = shape(io::scaled_info(info, scale), region);
  return io::prepare_decode(bytes, info, options, out,
                            extents[1] * extents[2] * itemsize(options.dtype), scratch);
}

void DecodingOperator::run(SampleContext& ctx) const {
  const io::Bytes bytes = encoded_bytes(ctx.input(0));
  const io::ImageInfo info = decoder_.peek(bytes);
  decoder_.decode(ctx, bytes, info, region(ctx, decoder_.size(info)));
}

struct DecodingOperator::Begun final : BegunSample {
  explicit Begun(SampleContext& ctx) : scratch(ctx) {}
  bool is_done() const override { return decode == nullptr || decode->is_done(); }
  ContextScratch scratch;
  io::Bytes bytes;
  io::ImageInfo info;
  std::optional<io::Region> region;
  void* out = nullptr;
  std::unique_ptr<PairableDecode> decode;
};

std::unique_ptr<BegunSample> DecodingOperator::begin(SampleContext& ctx) const {
  try {
    auto begun = std::make_unique<Begun>(ctx);
    begun->bytes = encoded_bytes(ctx.input(0));
    begun->info = decoder_.peek(begun->bytes);
    begun->region = region(ctx, decoder_.size(begun->info));
    const Shape shape = decoder_.shape(begun->info, begun->region);
    begun->out = ctx.output(0, decoder_.dtype(), shape, "HWC").data;
    begun->decode =
        decoder_.prepare(begun->scratch, begun->bytes, begun->info, begun->region, begun->out);
    return begun;
  } catch (const Error&) {
    return nullptr;
  }
}

void DecodingOperator::continue_two(BegunSample& a, BegunSample& b) const {
  static_cast<Begun&>(a).decode->run_with(*static_cast<Begun&>(b).decode);
}

void DecodingOperator::end(SampleContext& ctx, BegunSample& begun) const {
  const auto& image = static_cast<const Begun&>(begun);
  if (image.decode == nullptr || !image.decode->finish())
    decoder_.decode_into(ctx, image.bytes, image.info, image.region, image.out);
}

}  // namespace torchdali
