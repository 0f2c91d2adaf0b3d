// SPDX-License-Identifier: Apache-2.0
#include "io/formats/jpeg_library.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>

#ifdef TORCHDALI_HAVE_JPEG
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>

// After jpeglib.h: the numbers of the messages depend on the JPEG_LIB_VERSION that it defines.
#include <jerror.h>
#if !defined(LIBJPEG_TURBO_VERSION_NUMBER) || LIBJPEG_TURBO_VERSION_NUMBER < 2000000
#error "torchdali needs libjpeg-turbo 2.0 or newer (Debian: libjpeg-dev)"
#endif
#endif

namespace torchdali::io {

#ifdef TORCHDALI_HAVE_JPEG
namespace {

// libjpeg leaves by longjmp(). It may only ever cross C frames and functions whose locals are
// trivial: everything that has a destructor lives in the callers of the functions that setjmp().
struct Decoder {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf on_error;
  char message[JMSG_LENGTH_MAX];
  int code;  // of the library's error; 0: the error is ours
  bool in_header;
  bool past_end;   // the decoder needed bytes after the last one
  bool truncated;  // ... and made up pixels
  static Decoder& of(j_common_ptr c) { return *static_cast<Decoder*>(c->client_data); }
  static Decoder& of(j_decompress_ptr c) { return of(reinterpret_cast<j_common_ptr>(c)); }
};

void on_error_exit(j_common_ptr cinfo) {
  Decoder& d = Decoder::of(cinfo);
  cinfo->err->format_message(cinfo, d.message);
  d.code = cinfo->err->msg_code;
  std::longjmp(d.on_error, 1);
}

void fail(Decoder& d, const char* message) {
  std::snprintf(d.message, sizeof(d.message), "%s", message);
  std::longjmp(d.on_error, 1);
}

// Warnings are ignored, as by DALI and by viewers, because many real files cause them. Files that
// end too early are an error.
void on_message(j_common_ptr cinfo, int level) {
  if (level >= 0) return;
  ++cinfo->err->num_warnings;
  Decoder& d = Decoder::of(cinfo);
  if (d.past_end && cinfo->err->msg_code == JWRN_HIT_MARKER) d.truncated = true;
}

void do_nothing(j_decompress_ptr) {}

// After the last byte comes an end marker: the entropy decoder reads ahead, so reading past the end
// is not an error. It warns (JWRN_HIT_MARKER) when it needs missing bits.
boolean on_end_of_data(j_decompress_ptr cinfo) {
  static const JOCTET kEnd[2] = {0xFF, JPEG_EOI};
  Decoder& d = Decoder::of(cinfo);
  if (d.in_header) {
    d.truncated = true;
    fail(d, "");
  }
  d.past_end = true;
  d.source.next_input_byte = kEnd;
  d.source.bytes_in_buffer = sizeof(kEnd);
  return TRUE;
}

void on_skip(j_decompress_ptr cinfo, long count) {
  if (count <= 0) return;
  Decoder& d = Decoder::of(cinfo);
  if (static_cast<size_t>(count) > d.source.bytes_in_buffer) {
    on_end_of_data(cinfo);
    return;
  }
  d.source.next_input_byte += count;
  d.source.bytes_in_buffer -= static_cast<size_t>(count);
}

// A small file with thousands of scans over a large image would keep a worker busy for minutes.
void on_progress(j_common_ptr cinfo) {
  constexpr int kMaxScans = 500;
  const auto d = reinterpret_cast<j_decompress_ptr>(cinfo);
  if (d->input_scan_number > kMaxScans) fail(Decoder::of(cinfo), "it has too many scans");
}

// A progressive file that ends between two scans causes no such warning, but lacks detail.
bool lacks_scans(const jpeg_decompress_struct& cinfo) {
  if (!cinfo.progressive_mode || !cinfo.coef_bits) return false;
  for (int c = 0; c < cinfo.num_components; ++c)
    for (int k = 0; k < DCTSIZE2; ++k)
      if (cinfo.coef_bits[c][k] != 0) return true;
  return false;
}

// Reads the header and starts decompression with region columns [x, x + width) (rounded outwards by
// libjpeg). Returns false and sets d.message on error.
struct Plan {
  const Region* region;
  J_COLOR_SPACE color;
  J_DCT_METHOD dct;
  JDIMENSION height, width;  // expected
  int components;
  unsigned scale;
  bool adobe;           // out: CMYK samples are inverted
  JDIMENSION first_x;   // out: column of the first decoded pixel
  JDIMENSION skip_y;    // out: rows to skip
  JDIMENSION margin_y;  // out: rows to decode and drop after that
};

bool start(Decoder& d, Bytes bytes, Plan& plan) {
  jpeg_decompress_struct& cinfo = d.cinfo;
  cinfo.err = jpeg_std_error(&d.errors);
  d.errors.error_exit = on_error_exit;
  d.errors.emit_message = on_message;
  cinfo.client_data = &d;
  if (setjmp(d.on_error)) return false;
  jpeg_create_decompress(&cinfo);
  d.source.next_input_byte = bytes.data();
  d.source.bytes_in_buffer = bytes.size();
  d.source.init_source = do_nothing;
  d.source.fill_input_buffer = on_end_of_data;
  d.source.skip_input_data = on_skip;
  d.source.resync_to_restart = jpeg_resync_to_restart;
  d.source.term_source = do_nothing;
  cinfo.src = &d.source;
  d.progress.progress_monitor = on_progress;
  cinfo.progress = &d.progress;
  d.in_header = true;
  jpeg_read_header(&cinfo, TRUE);
  d.in_header = false;
  if (cinfo.image_height != plan.height || cinfo.image_width != plan.width ||
      cinfo.num_components != plan.components)
    fail(d, "its frame headers contradict each other");
  plan.adobe = cinfo.saw_Adobe_marker;
  cinfo.out_color_space = plan.color;
  cinfo.dct_method = plan.dct;
  cinfo.do_fancy_upsampling = TRUE;
  cinfo.scale_num = 1;
  cinfo.scale_denom = plan.scale;
  jpeg_start_decompress(&cinfo);

  // Smooth chroma upsampling reads neighbors, so a margin is decoded around the region.
  constexpr JDIMENSION kMarginX = 2, kMarginY = 2;
  const bool subsampled_x = cinfo.max_h_samp_factor > 1, subsampled_y = cinfo.max_v_samp_factor > 1;
  const auto x = static_cast<JDIMENSION>(plan.region->x);
  const auto y = static_cast<JDIMENSION>(plan.region->y);
  const auto end = static_cast<JDIMENSION>(plan.region->x + plan.region->width);
  // If scans are missing, libjpeg smooths across the borders of blocks, and needs neighbors that a
  // partial decode does not have. Everything above and beside the region is decoded, too. The same
  // at a smaller scale, where libjpeg's cropping rounds to other columns.
  const bool partial = !lacks_scans(cinfo) && plan.scale == 1;
  // libjpeg does not upsample smoothly if a cropped component has fewer than three columns.
  const auto max_h = static_cast<JDIMENSION>(cinfo.max_h_samp_factor);
  const JDIMENSION margin_x = max_h > 2 ? 3 * max_h : subsampled_x ? kMarginX : 0;
  plan.first_x = partial && x > margin_x ? x - margin_x : 0;
  JDIMENSION count = cinfo.output_width - plan.first_x;
  if (partial) count = std::min(cinfo.output_width, end + margin_x) - plan.first_x;
  if (count < cinfo.output_width) jpeg_crop_scanline(&cinfo, &plan.first_x, &count);
  plan.margin_y = !partial ? y : subsampled_y ? std::min(y, kMarginY) : 0;
  plan.skip_y = y - plan.margin_y;
  return true;
}

bool skip_rows(Decoder& d, JDIMENSION count) {
  if (setjmp(d.on_error)) return false;
  jpeg_skip_scanlines(&d.cinfo, count);
  return true;
}

// Decodes up to `rows` rows, as many as the library has ready; returns their number, or -1.
int read_rows(Decoder& d, JSAMPARRAY rows, int count) {
  if (setjmp(d.on_error)) return -1;
  int done = 0;
  while (done < count) {
    const int got = static_cast<int>(
        jpeg_read_scanlines(&d.cinfo, rows + done, static_cast<JDIMENSION>(count - done)));
    if (got == 0) break;
    done += got;
  }
  return done;
}

// Raises the error that start(), skip_rows() or read_rows() has left.
[[noreturn]] void raise_error(const Decoder& d) {
  switch (d.code) {
    case JERR_OUT_OF_MEMORY:
      raise(ErrorKind::kRuntime, "libjpeg-turbo has no memory for the image: ", d.message);
    case JERR_SOF_UNSUPPORTED:
      raise(ErrorKind::kUnsupported, "lossless and hierarchical JPEG files are not supported (",
            d.message, ")", to_fix("convert the file"));
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_NOT_COMPILED:
      raise(ErrorKind::kUnsupported, "libjpeg-turbo does not support this JPEG file: ", d.message,
            to_fix("convert the file"));
    default: raise(ErrorKind::kData, "the JPEG file is broken: ", d.message);
  }
}

// CMYK samples to RGB or gray: the light that each ink leaves is multiplied by the light that black
// leaves, rounded down, as in DALI. `inverted`: samples are the remaining light (Adobe's files),
// not the ink.
void mix_inks(const uint8_t* in, uint8_t* out, int64_t count, bool inverted, bool to_gray) {
  constexpr float kLuma[3] = {0.299f, 0.587f, 0.114f};  // ITU-R BT.601-7, 2.5.1
  const uint8_t flip = inverted ? 0 : 255;
  for (int64_t i = 0; i < count; ++i, in += 4) {
    const int black = in[3] ^ flip;
    int rgb[3];
    for (int c = 0; c < 3; ++c) rgb[c] = (in[c] ^ flip) * black / 255;
    if (to_gray) {
      *out++ = static_cast<uint8_t>(static_cast<float>(rgb[0]) * kLuma[0] +
                                    static_cast<float>(rgb[1]) * kLuma[1] +
                                    static_cast<float>(rgb[2]) * kLuma[2]);
    } else {
      for (int c = 0; c < 3; ++c) *out++ = static_cast<uint8_t>(rgb[c]);
    }
  }
}

}  // namespace

void decode_with_library(Bytes bytes, const ImageInfo& info, PixelModel model,
                         const DecodeOptions& options, PixelTarget& target) {
  const Region& region = target.region();
  const bool gray = model == PixelModel::kGray;
  const bool ink = model == PixelModel::kCMYK;
  const bool bgr = model == PixelModel::kBGR;

  // jpeg_destroy() is safe from here on, even if jpeg_create_decompress() was not called.
  struct Guard {
    Decoder d = {};
    ~Guard() { jpeg_destroy_decompress(&d.cinfo); }
  } guard;
  Decoder& d = guard.d;
  Plan plan{.region = &region,
            .color = info.cmyk ? JCS_CMYK
                     : gray    ? JCS_GRAYSCALE
                     : bgr     ? JCS_EXT_BGR
                               : JCS_RGB,
            .dct = options.fast_idct ? JDCT_IFAST : JDCT_ISLOW,
            .height = static_cast<JDIMENSION>(info.height),
            .width = static_cast<JDIMENSION>(info.width),
            .components = info.channels,
            .scale = static_cast<unsigned>(options.scale),
            .adobe = false,
            .first_x = 0,
            .skip_y = 0,
            .margin_y = 0};
  const auto check = [&d](bool good) {
    TORCHDALI_CHECK_KIND(kData, !d.truncated,
                         "the JPEG file is truncated: it ends before the picture does");
    if (!good) raise_error(d);
  };
  check(start(d, bytes, plan));
  if (d.past_end && lacks_scans(d.cinfo)) d.truncated = true;
  check(true);
  if (plan.skip_y) check(skip_rows(d, plan.skip_y));

  // One row more than the library decodes at a time costs nothing and saves calls.
  constexpr int kMaxRows = 4;
  const int rows_at_once = std::clamp(d.cinfo.rec_outbuf_height, 1, kMaxRows);
  const int samples = d.cinfo.out_color_components;
  const auto row_bytes = static_cast<size_t>(d.cinfo.output_width) * samples;
  auto* buffer = static_cast<uint8_t*>(target.scratch().allocate(row_bytes * rows_at_once));
  auto* mixed =
      info.cmyk && !ink
          ? static_cast<uint8_t*>(target.scratch().allocate(static_cast<size_t>(region.width) * 3))
          : nullptr;
  const size_t left = (static_cast<size_t>(region.x) - plan.first_x) * samples;
  // In place if the library decodes exactly the required columns.
  const bool whole_rows = d.cinfo.output_width == static_cast<JDIMENSION>(region.width);
  JSAMPROW rows[kMaxRows];

  for (int64_t row = -static_cast<int64_t>(plan.margin_y); row < region.height;) {
    const int count = static_cast<int>(std::min<int64_t>(
        row < 0 ? std::min<int64_t>(-row, rows_at_once) : rows_at_once, region.height - row));
    for (int i = 0; i < count; ++i) {
      void* direct = row >= 0 && whole_rows && !info.cmyk ? target.direct(row + i) : nullptr;
      rows[i] = direct ? static_cast<JSAMPROW>(direct) : buffer + i * row_bytes;
    }
    const int got = read_rows(d, rows, count);
    check(got >= 0);
    TORCHDALI_CHECK_KIND(kData, got > 0, "the JPEG file is broken: it has too few rows");
    for (int i = 0; row >= 0 && i < got; ++i) {
      uint8_t* pixels = rows[i] + left;
      if (rows[i] != buffer + i * row_bytes) continue;  // already in place
      if (mixed) {
        mix_inks(pixels, mixed, region.width, plan.adobe, gray);
        pixels = mixed;
      } else if (ink && plan.adobe) {
        for (int64_t k = 0; k < region.width * 4; ++k) pixels[k] ^= 0xFF;
      }
      target.write(row + i, pixels);
    }
    row += got;
  }
}

#else
void decode_with_library(Bytes, const ImageInfo&, PixelModel, const DecodeOptions&, PixelTarget&) {
  raise(ErrorKind::kUnsupported,
        "this build of torchdali cannot decode this JPEG file: without libjpeg-turbo it takes "
        "undamaged, complete gray, YCbCr and RGB files with Huffman codes, without use_fast_idct. "
        "Install "
        "libjpeg-turbo's headers (Debian, Ubuntu: libjpeg-dev) and build torchdali again");
}
#endif

}  // namespace torchdali::io
