// SPDX-License-Identifier: Apache-2.0
// JPEG 2000 (ITU-T T.800) through OpenJPEG: JP2 files and bare codestreams, gray, RGB, sYCC and
// CMYK, palettes, alpha, subsampled components, 1 to 16 bits. The header is read here, so that
// peeking needs no library.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>

#include "io/formats/formats.h"
#include "io/formats/inks.h"
#include "io/formats/jpeg2000_header.h"

#ifdef TORCHDALI_HAVE_OPENJPEG
#include <openjpeg.h>
#endif

namespace torchdali::io {
namespace {

using Jp2Colors = Jpeg2000Header::Colors;

bool is_cmyk(const Jpeg2000Header& h) { return h.channels == 4 && h.colors == Jp2Colors::kCmyk; }

}  // namespace

ImageInfo peek_jpeg2000(Bytes bytes) {
  constexpr int kMostChannels = 4, kMostBits = 16;
  constexpr uint64_t kTileBytes = 14;  // the markers SOT and SOD
  const Jpeg2000Header h = read_jpeg2000_header(bytes);
  TORCHDALI_CHECK_KIND(kUnsupported, h.channels <= kMostChannels && h.bits <= kMostBits,
                       "JPEG 2000 files with ", h.channels, " channels of ", h.bits,
                       " bits are not supported, only up to ", kMostChannels, " channels of up to ",
                       kMostBits, " bits", to_fix("convert the file, or leave it out"));
  TORCHDALI_CHECK_KIND(kData, h.tiles <= bytes.size() / kTileBytes,
                       "the JPEG 2000 file is broken or truncated: its header claims ", h.tiles,
                       " tiles, more than its ", bytes.size(), " bytes can hold");
  ImageInfo info{.format = ImageFormat::kJpeg2000,
                 .height = h.height,
                 .width = h.width,
                 .channels = h.channels,
                 .bit_depth = h.bits,
                 .palette = h.palette,
                 .cmyk = is_cmyk(h)};
  info.alpha = h.channels == 2 || (h.channels == 4 && !info.cmyk);
  // Flat images may take no bits beyond their headers.
  check_size(info, bytes, UINT64_MAX);
  return info;
}

#ifdef TORCHDALI_HAVE_OPENJPEG
namespace {

struct Jp2Input {
  Bytes bytes;
  size_t position = 0;
  char message[256] = "";
};

OPJ_SIZE_T on_jp2_read(void* out, OPJ_SIZE_T size, void* data) {
  auto& input = *static_cast<Jp2Input*>(data);
  const size_t count = std::min(size, input.bytes.size() - input.position);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(out, input.bytes.data() + input.position, count);
  input.position += count;
  return count;
}

OPJ_OFF_T on_jp2_skip(OPJ_OFF_T count, void* data) {
  auto& input = *static_cast<Jp2Input*>(data);
  if (count < 0) return -1;
  const size_t skipped = std::min(static_cast<size_t>(count), input.bytes.size() - input.position);
  input.position += skipped;
  return static_cast<OPJ_OFF_T>(skipped);
}

OPJ_BOOL on_jp2_seek(OPJ_OFF_T position, void* data) {
  auto& input = *static_cast<Jp2Input*>(data);
  if (position < 0 || static_cast<size_t>(position) > input.bytes.size()) return OPJ_FALSE;
  input.position = static_cast<size_t>(position);
  return OPJ_TRUE;
}

// The first message is the cause of the others.
void on_jp2_error(const char* text, void* data) {
  auto& input = *static_cast<Jp2Input*>(data);
  if (input.message[0] != 0) return;
  std::snprintf(input.message, sizeof(input.message), "%s", text);
  input.message[std::strcspn(input.message, "\n")] = 0;
}

void on_jp2_message(const char*, void*) {}

// The types of codecs and streams are the same.
using Jp2Handle = std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)>;
using Jp2Image = std::unique_ptr<opj_image_t, void (*)(opj_image_t*)>;

void check_jp2(bool good, const Jp2Input& input) {
  if (good) return;
  const std::string_view text = input.message;
  const auto says = [text](std::string_view part) { return text.find(part) != text.npos; };
  // The second message stands for a failed allocation, too; peek_jpeg2000() excludes the other
  // causes.
  if (says("memory") || says("exceeds system limits"))
    raise(ErrorKind::kRuntime, "OpenJPEG has no memory for the image: ", text);
  raise(ErrorKind::kData, "the JPEG 2000 file is broken or truncated: ",
        text.empty() ? "OpenJPEG cannot decode it" : text);
}

bool can_allocate(size_t bytes) {
  void* const volatile memory = std::malloc(bytes);  // compilers would leave out both calls else
  const bool good = memory != nullptr;
  std::free(memory);
  return good;
}

// Decodes the components of a region, and what subsampled ones need beside it.
Jp2Image decode_components(Bytes bytes, const Jpeg2000Header& header, const Region& region) {
  constexpr size_t kChunk = 1 << 16;
  Jp2Input input{.bytes = bytes};
  const Jp2Handle codec(opj_create_decompress(header.boxes ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K),
                        opj_destroy_codec);
  const Jp2Handle stream(opj_stream_create(std::min(kChunk, bytes.size()), OPJ_TRUE),
                         opj_stream_destroy);
  TORCHDALI_CHECK_KIND(kRuntime, codec && stream, "OpenJPEG has no memory for the image");
  opj_set_error_handler(codec.get(), on_jp2_error, &input);
  opj_set_warning_handler(codec.get(), on_jp2_message, nullptr);
  opj_set_info_handler(codec.get(), on_jp2_message, nullptr);
  opj_stream_set_read_function(stream.get(), on_jp2_read);
  opj_stream_set_skip_function(stream.get(), on_jp2_skip);
  opj_stream_set_seek_function(stream.get(), on_jp2_seek);
  opj_stream_set_user_data(stream.get(), &input, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  check_jp2(opj_setup_decoder(codec.get(), &parameters), input);
  // Half an image is an error.
  check_jp2(opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE), input);
  opj_image_t* read = nullptr;
  const bool good = opj_read_header(stream.get(), codec.get(), &read);
  Jp2Image image(read, opj_image_destroy);
  check_jp2(good && image, input);
  TORCHDALI_CHECK_KIND(kData,
                       image->x0 == header.x && image->y0 == header.y &&
                           image->x1 == header.x + header.width &&
                           image->y1 == header.y + header.height,
                       "the JPEG 2000 file is broken: its headers contradict each other");
  if (region.height != header.height || region.width != header.width) {
    const int64_t margin = header.largest_step - 1;
    const int64_t x = header.x + region.x, y = header.y + region.y;
    check_jp2(opj_set_decode_area(codec.get(), image.get(),
                                  static_cast<OPJ_INT32>(std::max(x - margin, header.x)),
                                  static_cast<OPJ_INT32>(std::max(y - margin, header.y)),
                                  static_cast<OPJ_INT32>(x + region.width),
                                  static_cast<OPJ_INT32>(y + region.height)),
              input);
  }
  const bool decoded = opj_decode(codec.get(), stream.get(), image.get()) != OPJ_FALSE;
  // This is all that OpenJPEG 2.5 says if a wavelet transform gets no memory, which takes at least
  // the samples of a component twice: before and after it. What it got of these is free again.
  if (!decoded && std::string_view(input.message) == "Failed to decode.")
    TORCHDALI_CHECK_KIND(kRuntime,
                         can_allocate(2 * region.height * region.width * sizeof(OPJ_INT32)),
                         "OpenJPEG has no memory for the image: ", input.message);
  check_jp2(decoded, input);
  return image;
}

// Reads the rows of a component, at every `step`th sample.
template <class T>
class Jp2Component {
 public:
  explicit Jp2Component(const opj_image_comp_t& component)
      : component_(component),
        offset_(component.sgnd ? int64_t{1} << (component.prec - 1) : 0),
        peak_((int64_t{1} << component.prec) - 1) {}

  // `x` and `y`: on the reference grid.
  void read(int64_t y, int64_t x, int64_t count, int64_t step, T* out) const {
    constexpr int64_t kFull = std::numeric_limits<T>::max();
    const int64_t row = nearest(y, component_.dy, component_.y0, component_.h);
    const OPJ_INT32* from = component_.data + row * int64_t{component_.w};
    for (int64_t i = 0; i < count; ++i) {
      const int64_t column = nearest(x + i, component_.dx, component_.x0, component_.w);
      const int64_t value = std::clamp<int64_t>(from[column] + offset_, 0, peak_);
      out[i * step] = static_cast<T>(peak_ == kFull ? value : (value * kFull + peak_ / 2) / peak_);
    }
  }

 private:
  static int64_t nearest(int64_t at, OPJ_UINT32 step, OPJ_UINT32 first, OPJ_UINT32 count) {
    return std::clamp<int64_t>((step == 1 ? at : at / step) - first, 0, int64_t{count} - 1);
  }
  const opj_image_comp_t& component_;
  int64_t offset_, peak_;
};

// Full-range YCbCr to RGB in place (IEC 61966-2-1, annex G).
template <class T>
void convert_sycc(T* pixels, int64_t count) {
  constexpr float kFull = std::numeric_limits<T>::max(), kZero = (kFull + 1) / 2;
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): not negative
  const auto round = [kFull](float v) { return static_cast<T>(std::clamp(v, 0.0f, kFull) + 0.5f); };
  for (int64_t i = 0; i < count; ++i, pixels += 3) {
    const auto y = static_cast<float>(pixels[0]);
    const float cb = static_cast<float>(pixels[1]) - kZero;
    const float cr = static_cast<float>(pixels[2]) - kZero;
    pixels[0] = round(y + 1.402f * cr);
    pixels[1] = round(y - 0.344136f * cb - 0.714136f * cr);
    pixels[2] = round(y + 1.772f * cb);
  }
}

template <class T>
void decode_jp2_as(const opj_image_t& image, const Jpeg2000Header& header, PixelTarget& target) {
  const Region& region = target.region();
  const bool ycc = header.channels == 3 && header.colors == Jp2Colors::kYcc;
  const bool inks = is_cmyk(header) && target.type() != ImageType::kAnyData;
  // Luma is gray.
  const int channels = ycc && target.type() == ImageType::kGray ? 1 : header.channels;
  target.open({.model = channels == 1     ? PixelModel::kGray
                        : channels == 2   ? PixelModel::kGrayAlpha
                        : channels == 3   ? PixelModel::kRGB
                        : inks            ? PixelModel::kRGB
                        : is_cmyk(header) ? PixelModel::kCMYK
                                          : PixelModel::kRGBA,
               .wide = sizeof(T) == 2,
               .gray_rule = GrayRule::kFineNearest});
  const auto allocate = [&](int64_t samples) {
    return static_cast<T*>(
        target.scratch().allocate(static_cast<size_t>(region.width * samples) * sizeof(T)));
  };
  T* row = allocate(channels);
  T* mixed = inks ? allocate(3) : nullptr;
  for (int64_t y = 0; y < region.height; ++y) {
    for (int c = 0; c < channels; ++c)
      Jp2Component<T>(image.comps[c])
          .read(header.y + region.y + y, header.x + region.x, region.width, channels, row + c);
    if (ycc && channels == 3) convert_sycc(row, region.width);
    if (inks) mix_inks(row, region.width, mixed);
    target.write(y, inks ? mixed : row);
  }
}

}  // namespace

void decode_jpeg2000(Bytes bytes, const ImageInfo&, PixelTarget& target) {
  const Jpeg2000Header header = read_jpeg2000_header(bytes);
  const Jp2Image image = decode_components(bytes, header, target.region());
  const auto count = static_cast<OPJ_UINT32>(header.channels);
  bool complete = image->numcomps == count;
  for (OPJ_UINT32 c = 0; complete && c < count; ++c) {
    const opj_image_comp_t& component = image->comps[c];
    complete = component.data != nullptr && component.w > 0 && component.h > 0 &&
               component.dx > 0 && component.dy > 0 && component.prec >= 1 && component.prec <= 16;
  }
  TORCHDALI_CHECK_KIND(kData, complete,
                       "the JPEG 2000 file is broken: components lack pixels, or its palette ",
                       "contradicts them");
  if (header.bits <= 8) decode_jp2_as<uint8_t>(*image, header, target);
  else decode_jp2_as<uint16_t>(*image, header, target);
}

#else

void decode_jpeg2000(Bytes, const ImageInfo&, PixelTarget&) {
  raise_missing("JPEG 2000", "OpenJPEG (2.5 or newer)", "libopenjp2-7-dev");
}

#endif

}  // namespace torchdali::io
