// SPDX-License-Identifier: Apache-2.0
// The part of the API of NVIDIA's video decoder (libnvcuvid.so) that is used, declared here because
// torchdali is also built without its headers. Sources: NVIDIA's documentation of NVDECODE, and the
// binary layout of cuviddec.h and nvcuvid.h 11.1, which are under the MIT license (Debian:
// libffmpeg-nvenc-dev). tests/gpu/test_nvdec.py checks every size, place and value against these
// headers, if they are there.
#pragma once

#include <cstddef>

namespace torchdali::gpu::cuvid {

inline constexpr int kSuccess = 0;  // CUresult

// cudaVideoCodec
enum class Codec : int { kMpeg4 = 2, kH264 = 4, kHevc = 8, kVp8 = 9, kVp9 = 10, kAv1 = 11 };
inline constexpr int kChroma420 = 1;                      // cudaVideoChromaFormat
inline constexpr int kSurfaceNv12 = 0, kSurfaceP016 = 1;  // cudaVideoSurfaceFormat
inline constexpr int kWeave = 0;                          // cudaVideoDeinterlaceMode
inline constexpr unsigned long kEndOfStream = 1, kHasTimestamp = 2, kEndOfPicture = 8;
inline constexpr int kDecodeError = 8, kDecodeErrorConcealed = 9;  // cuvidDecodeStatus

using Parser = void*;
using Decoder = void*;

template <class T>
struct Rectangle {
  T left = 0, top = 0, right = 0, bottom = 0;
};

// CUVIDDECODECAPS
struct Caps {
  Codec codec = {};
  int chroma = kChroma420;
  unsigned bits_minus_8 = 0;
  unsigned unused1[3] = {};
  unsigned char is_supported = 0, engines = 0;
  unsigned short surface_formats = 0;  // a bit for each
  unsigned max_width = 0, max_height = 0, max_macroblocks = 0;
  unsigned short min_width = 0, min_height = 0;
  unsigned char unused2[2] = {};
  unsigned short unused3 = 0;
  unsigned unused4[10] = {};
};

// CUVIDDECODECREATEINFO
struct CreateInfo {
  unsigned long width = 0, height = 0, surfaces = 0;
  Codec codec = {};
  int chroma = kChroma420;
  unsigned long flags = 0, bits_minus_8 = 0, intra_only = 0, max_width = 0, max_height = 0;
  unsigned long unused1 = 0;
  Rectangle<short> display = {};
  int surface_format = kSurfaceNv12, deinterlace = kWeave;
  unsigned long target_width = 0, target_height = 0, output_surfaces = 0;
  void* lock = nullptr;
  Rectangle<short> target = {};
  unsigned long histogram = 0;
  unsigned long unused2[4] = {};
};

// CUVIDRECONFIGUREDECODERINFO
struct ReconfigureInfo {
  unsigned width = 0, height = 0, target_width = 0, target_height = 0, surfaces = 0;
  unsigned unused1[12] = {};
  Rectangle<short> display = {}, target = {};
  unsigned unused2[11] = {};
};

// CUVIDEOFORMAT
struct Format {
  Codec codec = {};
  unsigned rate_num = 0, rate_den = 0;
  unsigned char progressive = 0, luma_bits_minus_8 = 0, chroma_bits_minus_8 = 0, min_surfaces = 0;
  unsigned coded_width = 0, coded_height = 0;
  Rectangle<int> display = {};
  int chroma = 0;
  unsigned bitrate = 0;
  int aspect_x = 0, aspect_y = 0;
  unsigned char signal = 0, primaries = 0, transfer = 0, matrix = 0;
  unsigned header_size = 0;  // of FormatEx::header
};
// CUVIDEOFORMATEX
inline constexpr size_t kMaxHeader = 1024;
struct FormatEx {
  Format format;
  unsigned char header[kMaxHeader] = {};
};

// CUVIDPICPARAMS: passed on as it is; what follows these members is not looked at.
struct PictureParams {
  int width_in_macroblocks, height_in_macroblocks;
  int index;  // of the surface
};

// CUVIDPARSERDISPINFO
struct DisplayInfo {
  int index = 0, progressive = 0, top_field_first = 0, repeat_first_field = 0;
  long long timestamp = 0;
};

// CUVIDPROCPARAMS
struct MapParams {
  int progressive = 0, second_field = 0, top_field_first = 0, unpaired_field = 0;
  unsigned unused1[2] = {};
  unsigned long long raw_input = 0;
  unsigned raw_input_pitch = 0, raw_input_format = 0;
  unsigned long long raw_output = 0;
  unsigned raw_output_pitch = 0, unused2 = 0;
  void* stream = nullptr;
  unsigned unused3[46] = {};
  unsigned long long* histogram = nullptr;
  void* unused4 = nullptr;
};

// CUVIDGETDECODESTATUS
struct Status {
  int status = 0;
  unsigned unused1[31] = {};
  void* unused2[8] = {};
};

// CUVIDSOURCEDATAPACKET
struct Packet {
  unsigned long flags = 0, size = 0;
  const unsigned char* data = nullptr;
  long long timestamp = 0;
};

// CUVIDPARSERPARAMS. The callbacks return 0 if they fail; on_sequence the number of surfaces.
struct ParserParams {
  Codec codec = {};
  unsigned surfaces = 1, clock_rate = 0, error_threshold = 0, display_delay = 0, flags = 0;
  unsigned unused1[4] = {};
  void* user = nullptr;
  int (*on_sequence)(void* user, Format* format) = nullptr;
  int (*on_decode)(void* user, PictureParams* picture) = nullptr;
  int (*on_display)(void* user, DisplayInfo* picture) = nullptr;
  void* on_operating_point = nullptr;
  void* unused2[6] = {};
  FormatEx* header = nullptr;
};

#define TORCHDALI_CUVID_FUNCTIONS(X)                                                               \
  X(GetDecoderCaps, int(Caps * caps))                                                              \
  X(CreateDecoder, int(Decoder * decoder, CreateInfo * info))                                      \
  X(DestroyDecoder, int(Decoder decoder))                                                          \
  X(DecodePicture, int(Decoder decoder, PictureParams * picture))                                  \
  X(GetDecodeStatus, int(Decoder decoder, int index, Status* status))                              \
  X(ReconfigureDecoder, int(Decoder decoder, ReconfigureInfo * info))                              \
  X(MapVideoFrame64, int(Decoder decoder, int index, unsigned long long* address, unsigned* pitch, \
                         MapParams* params))                                                       \
  X(UnmapVideoFrame64, int(Decoder decoder, unsigned long long address))                           \
  X(CreateVideoParser, int(Parser * parser, ParserParams * params))                                \
  X(ParseVideoData, int(Parser parser, Packet * packet))                                           \
  X(DestroyVideoParser, int(Parser parser))

// The library's functions, each as a pointer under its name without "cuvid".
struct Api {
#define TORCHDALI_CUVID_MEMBER(name, ...) \
  using name##Function = __VA_ARGS__;     \
  name##Function* name = nullptr;
  TORCHDALI_CUVID_FUNCTIONS(TORCHDALI_CUVID_MEMBER)
#undef TORCHDALI_CUVID_MEMBER
};

}  // namespace torchdali::gpu::cuvid
