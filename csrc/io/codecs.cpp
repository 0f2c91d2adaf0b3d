// SPDX-License-Identifier: Apache-2.0
// The table of codecs. Versions are those of the headers at build time.
#include "io/codecs.h"

#ifdef TORCHDALI_HAVE_JPEG
#include <cstdio>
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>
#endif
#ifdef TORCHDALI_HAVE_PNG
#include <png.h>
#endif
#ifdef TORCHDALI_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef TORCHDALI_HAVE_TIFF
#include <tiffvers.h>
#endif
#ifdef TORCHDALI_HAVE_WEBP
#include <webp/decode.h>
#endif
#ifdef TORCHDALI_HAVE_OPENJPEG
#include <openjpeg.h>
#endif
#ifdef TORCHDALI_HAVE_AVIF
#include <avif/avif.h>
#endif
#ifdef TORCHDALI_HAVE_JXL
#include <jxl/decode.h>
#endif

#define TORCHDALI_STRING_(x) #x
#define TORCHDALI_STRING(x) TORCHDALI_STRING_(x)

namespace torchdali::io {
namespace {

[[maybe_unused]] constexpr std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

constexpr Codec kCodecs[] = {
#ifdef TORCHDALI_HAVE_JPEG
    {"JPEG", "built in; the rest by libjpeg-turbo " TORCHDALI_STRING(LIBJPEG_TURBO_VERSION), "",
     ""},
#else
    {"JPEG", "built in", "arithmetic-coded, CMYK and damaged files", "libjpeg-dev"},
#endif
#ifdef TORCHDALI_HAVE_PNG
    {"PNG", "built in; the rest by libpng " PNG_LIBPNG_VER_STRING, "", ""},
#else
    {"PNG", "built in", "interlaced, damaged and very large files", "libpng-dev"},
#endif
    {"BMP", "built in", "", ""},
    {"PNM", "built in", "", ""},
#ifdef TORCHDALI_HAVE_ZLIB
    {"gzip in FITS", "zlib " ZLIB_VERSION, "", ""},
#else
    {"gzip in FITS", "", "", "zlib1g-dev"},
#endif
#ifdef TORCHDALI_HAVE_TIFF
    {"TIFF", first_line(TIFFLIB_VERSION_STR), "", ""},
#else
    {"TIFF", "", "", "libtiff-dev (4.5 or newer)"},
#endif
#ifdef TORCHDALI_HAVE_WEBP
    {"WebP", "libwebp", "", ""},
#else
    {"WebP", "", "", "libwebp-dev"},
#endif
#ifdef TORCHDALI_HAVE_OPENJPEG
    {"JPEG 2000",
     "OpenJPEG " TORCHDALI_STRING(OPJ_VERSION_MAJOR) "." TORCHDALI_STRING(
         OPJ_VERSION_MINOR) "." TORCHDALI_STRING(OPJ_VERSION_BUILD),
     "", ""},
#else
    {"JPEG 2000", "", "", "libopenjp2-7-dev (2.5 or newer)"},
#endif
#ifdef TORCHDALI_HAVE_AVIF
    {"AVIF",
     "libavif " TORCHDALI_STRING(AVIF_VERSION_MAJOR) "." TORCHDALI_STRING(
         AVIF_VERSION_MINOR) "." TORCHDALI_STRING(AVIF_VERSION_PATCH),
     "", ""},
#else
    {"AVIF", "", "", "libavif-dev"},
#endif
#ifdef TORCHDALI_HAVE_JXL
    {"JPEG XL", "libjxl", "", ""},
#else
    {"JPEG XL", "", "", "libjxl-dev"},
#endif
};

}  // namespace

std::span<const Codec> codecs() { return kCodecs; }

}  // namespace torchdali::io
