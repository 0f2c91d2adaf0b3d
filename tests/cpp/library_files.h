// SPDX-License-Identifier: Apache-2.0
// Small TIFF, WebP and JPEG 2000 files, written by their libraries.
#pragma once

#include <openjpeg.h>
#include <tiffio.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "expect.h"

namespace torchdali::io {

using File = std::vector<uint8_t>;

// A file in memory that can be read and written anywhere.
struct MemoryFile {
  File bytes;
  size_t position = 0;
  void write(const void* data, size_t size) {
    if (position + size > bytes.size()) bytes.resize(position + size);
    std::memcpy(bytes.data() + position, data, size);
    position += size;
  }
  size_t read(void* data, size_t size) {
    size = std::min(size, bytes.size() - std::min(position, bytes.size()));
    std::memcpy(data, bytes.data() + position, size);
    position += size;
    return size;
  }
};

inline File noise(size_t size, uint8_t mask) {
  File out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>((i * 7 + i * i / 5) & mask);
  return out;
}

struct TiffKind {
  uint16_t bits = 8, samples = 3, photometric = PHOTOMETRIC_RGB;
  uint16_t compression = COMPRESSION_NONE, planar = PLANARCONFIG_CONTIG;
  bool tiled = false;
  const char* mode = "w";  // "w8": BigTIFF, "wb": big-endian
  uint16_t orientation = 1;
};

inline File make_tiff(const TiffKind& kind) {
  constexpr uint32_t kWidth = 37, kHeight = 29, kTile = 16;
  MemoryFile file;
  TIFF* tiff = TIFFClientOpen(
      "image", kind.mode, &file,
      [](thandle_t f, void* data, tmsize_t size) {
        return static_cast<tmsize_t>(
            static_cast<MemoryFile*>(f)->read(data, static_cast<size_t>(size)));
      },
      [](thandle_t f, void* data, tmsize_t size) {
        static_cast<MemoryFile*>(f)->write(data, static_cast<size_t>(size));
        return size;
      },
      [](thandle_t f, toff_t offset, int origin) {
        auto& m = *static_cast<MemoryFile*>(f);
        m.position = offset + (origin == SEEK_CUR   ? m.position
                               : origin == SEEK_END ? m.bytes.size()
                                                    : 0);
        return static_cast<toff_t>(m.position);
      },
      [](thandle_t) { return 0; },
      [](thandle_t f) { return static_cast<toff_t>(static_cast<MemoryFile*>(f)->bytes.size()); },
      nullptr, nullptr);
  EXPECT(tiff != nullptr);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, kWidth);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, kHeight);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, kind.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, kind.samples);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, kind.photometric);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, kind.compression);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, kind.planar);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, kind.orientation);
  if (kind.photometric == PHOTOMETRIC_PALETTE) {
    uint16_t colors[256];
    for (uint16_t i = 0; i < 256; ++i) colors[i] = static_cast<uint16_t>(i * 257);
    TIFFSetField(tiff, TIFFTAG_COLORMAP, colors, colors, colors);
  }
  if (kind.compression == COMPRESSION_JPEG && kind.photometric == PHOTOMETRIC_YCBCR)
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  if (kind.tiled) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, kTile);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, kTile);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, uint32_t{16});
  }
  const uint32_t blocks = kind.tiled ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  for (uint32_t i = 0; i < blocks; ++i) {
    // The last strip of a plane is shorter.
    const bool last = !kind.tiled && (i + 1) % ((kHeight + 15) / 16) == 0;
    const tmsize_t size = kind.tiled ? TIFFTileSize(tiff)
                          : last     ? TIFFVStripSize(tiff, kHeight % 16)
                                     : TIFFStripSize(tiff);
    File data = noise(static_cast<size_t>(size), 0x7F);
    EXPECT(0 <= (kind.tiled ? TIFFWriteEncodedTile(tiff, i, data.data(), size)
                            : TIFFWriteEncodedStrip(tiff, i, data.data(), size)));
  }
  TIFFClose(tiff);
  return file.bytes;
}

inline File make_webp(bool lossless, bool alpha) {
  constexpr int kWidth = 37, kHeight = 29;
  const int samples = alpha ? 4 : 3;
  const File pixels = noise(static_cast<size_t>(kWidth * kHeight * samples), 0xFF);
  uint8_t* out = nullptr;
  const auto encode = lossless ? (alpha ? WebPEncodeLosslessRGBA : WebPEncodeLosslessRGB) : nullptr;
  const size_t size =
      encode  ? encode(pixels.data(), kWidth, kHeight, kWidth * samples, &out)
      : alpha ? WebPEncodeRGBA(pixels.data(), kWidth, kHeight, kWidth * samples, 60, &out)
              : WebPEncodeRGB(pixels.data(), kWidth, kHeight, kWidth * samples, 60, &out);
  EXPECT(size > 0);
  File file(out, out + size);
  WebPFree(out);
  return file;
}

struct Jpeg2000Kind {
  OPJ_UINT32 components = 3, bits = 8, chroma_step = 1;
  bool boxes = true, tiled = false, lossy = false;
  OPJ_COLOR_SPACE colors = OPJ_CLRSPC_SRGB;
};

inline File make_jpeg2000(const Jpeg2000Kind& kind) {
  constexpr OPJ_UINT32 kWidth = 37, kHeight = 29;
  opj_image_cmptparm_t parts[4] = {};
  for (OPJ_UINT32 c = 0; c < kind.components; ++c) {
    const OPJ_UINT32 step = c == 1 || c == 2 ? kind.chroma_step : 1;
    parts[c] = {.dx = step,
                .dy = step,
                .w = (kWidth + step - 1) / step,
                .h = (kHeight + step - 1) / step,
                .x0 = 0,
                .y0 = 0,
                .prec = kind.bits,
                .bpp = kind.bits,
                .sgnd = 0};
  }
  opj_image_t* image = opj_image_create(kind.components, parts, kind.colors);
  EXPECT(image != nullptr);
  image->x1 = kWidth;
  image->y1 = kHeight;
  for (OPJ_UINT32 c = 0; c < kind.components; ++c)
    for (OPJ_UINT32 i = 0; i < parts[c].w * parts[c].h; ++i)
      image->comps[c].data[i] =
          static_cast<OPJ_INT32>((i * 37 + i * i / 11 + c * 50) & ((1u << kind.bits) - 1));
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.tcp_rates[0] = kind.lossy ? 6 : 0;
  parameters.irreversible = kind.lossy;
  parameters.numresolution = 4;
  parameters.tcp_mct = kind.components == 3 && kind.chroma_step == 1;
  parameters.tile_size_on = kind.tiled;
  parameters.cp_tdx = parameters.cp_tdy = 16;
  opj_codec_t* codec = opj_create_compress(kind.boxes ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
  EXPECT(opj_setup_encoder(codec, &parameters, image));
  MemoryFile file;
  opj_stream_t* stream = opj_stream_create(1 << 12, OPJ_FALSE);
  opj_stream_set_user_data(stream, &file, nullptr);
  opj_stream_set_write_function(stream, [](void* data, OPJ_SIZE_T size, void* f) {
    static_cast<MemoryFile*>(f)->write(data, size);
    return size;
  });
  opj_stream_set_skip_function(stream, [](OPJ_OFF_T count, void* f) {
    static_cast<MemoryFile*>(f)->position += static_cast<size_t>(count);
    return count;
  });
  opj_stream_set_seek_function(stream, [](OPJ_OFF_T position, void* f) -> OPJ_BOOL {
    static_cast<MemoryFile*>(f)->position = static_cast<size_t>(position);
    return OPJ_TRUE;
  });
  EXPECT(opj_start_compress(codec, image, stream) && opj_encode(codec, stream) &&
         opj_end_compress(codec, stream));
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  return file.bytes;
}

inline std::vector<File> library_files() {
  std::vector<File> files;
  const auto add = [&files](const TiffKind& kind) { files.push_back(make_tiff(kind)); };
  for (const char* mode : {"w", "wb", "w8"}) add({.mode = mode, .orientation = 6});
  for (uint16_t bits : {1, 4, 8, 12, 16})
    add({.bits = bits, .samples = 1, .photometric = PHOTOMETRIC_MINISWHITE});
  add({.samples = 1, .photometric = PHOTOMETRIC_PALETTE});
  add({.bits = 16, .samples = 4, .tiled = true});
  add({.samples = 4, .photometric = PHOTOMETRIC_SEPARATED, .planar = PLANARCONFIG_SEPARATE});
  add({.photometric = PHOTOMETRIC_YCBCR, .compression = COMPRESSION_ADOBE_DEFLATE});
  add({.photometric = PHOTOMETRIC_CIELAB, .tiled = true});
  add({.photometric = PHOTOMETRIC_YCBCR, .compression = COMPRESSION_JPEG});
  for (uint16_t compression : {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS})
    add({.compression = compression, .planar = PLANARCONFIG_SEPARATE, .tiled = true});
  add({.bits = 1,
       .samples = 1,
       .photometric = PHOTOMETRIC_MINISWHITE,
       .compression = COMPRESSION_CCITTFAX4});
  for (bool lossless : {false, true})
    for (bool alpha : {false, true}) files.push_back(make_webp(lossless, alpha));
  for (OPJ_UINT32 components : {1, 2, 3, 4})
    files.push_back(make_jpeg2000({.components = components, .tiled = components == 4}));
  files.push_back(make_jpeg2000({.components = 1, .bits = 16, .boxes = false}));
  files.push_back(make_jpeg2000({.chroma_step = 2, .colors = OPJ_CLRSPC_SYCC}));
  files.push_back(make_jpeg2000({.boxes = false, .lossy = true}));
  return files;
}

}  // namespace torchdali::io
