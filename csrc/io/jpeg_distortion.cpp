// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes with libjpeg-turbo and its default settings, which are also those of OpenCV
// and DALI: 4:2:0, the exact integer DCT, smooth upsampling of chroma.
#include "io/jpeg_distortion.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include "core/error.h"

#ifdef TORCHDALI_HAVE_JPEG
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>
#endif

namespace torchdali::io {

#ifdef TORCHDALI_HAVE_JPEG
namespace {

// libjpeg leaves by longjmp(), over functions without destructors only; see jpeg.cpp.
struct Codec {
  jpeg_compress_struct compress;
  jpeg_decompress_struct decompress;
  jpeg_error_mgr errors;
  std::jmp_buf on_error;
  char message[JMSG_LENGTH_MAX];
  unsigned char* bytes;  // of the encoded image; libjpeg allocates them
  unsigned long size;
};

void on_error_exit(j_common_ptr cinfo) {
  Codec& codec = *static_cast<Codec*>(cinfo->client_data);
  cinfo->err->format_message(cinfo, codec.message);
  std::longjmp(codec.on_error, 1);
}
void on_message(j_common_ptr, int) {}

bool encode(Codec& codec, const uint8_t* in, JDIMENSION height, JDIMENSION width, int quality) {
  jpeg_compress_struct& cinfo = codec.compress;
  cinfo.err = &codec.errors;
  cinfo.client_data = &codec;
  if (setjmp(codec.on_error)) return false;
  jpeg_create_compress(&cinfo);
  jpeg_mem_dest(&cinfo, &codec.bytes, &codec.size);
  cinfo.image_width = width;
  cinfo.image_height = height;
  cinfo.input_components = 3;
  cinfo.in_color_space = JCS_RGB;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, quality, TRUE);
  jpeg_start_compress(&cinfo, TRUE);
  while (cinfo.next_scanline < height) {
    constexpr JDIMENSION kRows = 16;
    JSAMPROW rows[kRows];
    JDIMENSION count = 0;
    for (; count < kRows && cinfo.next_scanline + count < height; ++count)
      rows[count] =
          const_cast<JSAMPROW>(in) + static_cast<size_t>(cinfo.next_scanline + count) * width * 3;
    jpeg_write_scanlines(&cinfo, rows, count);
  }
  jpeg_finish_compress(&cinfo);
  return true;
}

bool decode(Codec& codec, uint8_t* out, JDIMENSION height, JDIMENSION width) {
  jpeg_decompress_struct& cinfo = codec.decompress;
  cinfo.err = &codec.errors;
  cinfo.client_data = &codec;
  if (setjmp(codec.on_error)) return false;
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, codec.bytes, codec.size);
  jpeg_read_header(&cinfo, TRUE);
  cinfo.out_color_space = JCS_RGB;
  jpeg_start_decompress(&cinfo);
  while (cinfo.output_scanline < height) {
    constexpr JDIMENSION kRows = 4;
    JSAMPROW rows[kRows];
    JDIMENSION count = 0;
    for (; count < kRows && cinfo.output_scanline + count < height; ++count)
      rows[count] = out + static_cast<size_t>(cinfo.output_scanline + count) * width * 3;
    jpeg_read_scanlines(&cinfo, rows, count);
  }
  jpeg_finish_decompress(&cinfo);
  return true;
}

}  // namespace

void distort_jpeg(uint8_t* out, const uint8_t* in, int64_t height, int64_t width, int quality) {
  // Both jpeg_destroy functions are safe if nothing was created.
  struct Guard {
    Codec codec = {};
    ~Guard() {
      jpeg_destroy_compress(&codec.compress);
      jpeg_destroy_decompress(&codec.decompress);
      std::free(codec.bytes);
    }
  } guard;
  Codec& codec = guard.codec;
  jpeg_std_error(&codec.errors);
  codec.errors.error_exit = on_error_exit;
  codec.errors.emit_message = on_message;
  const auto rows = static_cast<JDIMENSION>(height), columns = static_cast<JDIMENSION>(width);
  const bool good = encode(codec, in, rows, columns, quality) && decode(codec, out, rows, columns);
  TORCHDALI_CHECK_KIND(kRuntime, good, "JPEG compression failed: ", codec.message);
}

#else

void distort_jpeg(uint8_t*, const uint8_t*, int64_t, int64_t, int) {
  raise(ErrorKind::kUnsupported,
        "this build of torchdali cannot encode JPEG: libjpeg-turbo's headers were missing. Install "
        "them (Debian, Ubuntu: libjpeg-dev) and build torchdali again");
}

#endif

}  // namespace torchdali::io
