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

#define TORCHDALI_STRING_(x) #x
#define TORCHDALI_STRING(x) TORCHDALI_STRING_(x)

namespace torchdali::io {
namespace {

constexpr Codec kCodecs[] = {
#ifdef TORCHDALI_HAVE_JPEG
    {"JPEG", "built in; the rest by libjpeg-turbo " TORCHDALI_STRING(LIBJPEG_TURBO_VERSION), "",
     ""},
#else
    {"JPEG", "built in", "arithmetic-coded, CMYK and damaged files", "libjpeg-dev"},
#endif
#ifdef TORCHDALI_HAVE_PNG
    {"PNG", "libpng " PNG_LIBPNG_VER_STRING, "", ""},
#else
    {"PNG", "", "", "libpng-dev"},
#endif
    {"BMP", "built in", "", ""},
    {"PNM", "built in", "", ""},
};

}  // namespace

std::span<const Codec> codecs() { return kCodecs; }

}  // namespace torchdali::io
