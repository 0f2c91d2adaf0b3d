// SPDX-License-Identifier: Apache-2.0
// What the engine gets from torchdali/_video.so, the wrapper of FFmpeg's libraries: a table of
// functions. docs/design/video.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/video/picture.h"

namespace torchdali::io::video::libav {

// Of this header; the engine refuses a library with another one.
inline constexpr int kApiVersion = 3;
inline constexpr int64_t kNoTime = INT64_MIN;  // AV_NOPTS_VALUE
inline constexpr int kTextSize = 512;

// The bytes of a file. read() returns how many it wrote, 0 at the end and -1 if it failed.
struct Source {
  void* user = nullptr;
  int (*read)(void* user, int64_t offset, uint8_t* to, int count) = nullptr;
  int64_t size = 0;
};

struct Ratio {
  int32_t num = 0, den = 1;
};

// What is needed to decode a stream. Numbers are FFmpeg's, names where they may differ between its
// versions.
struct Facts {
  char codec[32] = {};
  char container[64] = {};
  char pixel_format[32] = {};  // empty if unknown
  int32_t tag = 0, profile = 0, level = 0, bits_per_sample = 0, reorder = 0;
  int32_t width = 0, height = 0, rotation = 0;  // degrees clockwise
  int32_t range = 0, primaries = 0, transfer = 0, matrix = 0, field_order = 0;
  Ratio time_base, average_rate;
  int64_t start = kNoTime, duration = kNoTime, frames = 0;  // as the container says
  const uint8_t* extradata = nullptr;                       // valid as long as the demuxer
  int32_t extradata_size = 0;
  bool intra_only = false;
};

// A packet of the stream; its bytes are valid until the next call.
struct Packet {
  const uint8_t* data = nullptr;
  int32_t size = 0;
  int64_t pts = kNoTime, dts = kNoTime, duration = 0, position = -1;
  bool key = false, discard = false, corrupt = false;
  bool side_data = false;  // that the decoder needs, so that the bytes alone do not do
};

struct Demuxer;
struct Decoder;
struct Filter;

// The results of functions that may fail are 0 or more, or FFmpeg's error number.
inline constexpr int kDone = 1, kMore = 0, kEnd = 2;

struct Api {
  int version = kApiVersion;

  const char* (*release)() = nullptr;  // "5.1.6"
  const char* (*license)() = nullptr;
  // Calls each(user, name) with the names of codecs that can be decoded.
  void (*decoders)(void* user, void (*each)(void* user, const char* name)) = nullptr;
  // Writes the meaning of an error, and the last message that FFmpeg gave this thread, if any.
  void (*error_text)(int error, char* text, size_t size) = nullptr;

  // Opens the file and chooses its best video stream. `probe`: looks into packets for what the
  // header does not say. `source` is copied; its user must outlive the demuxer.
  int (*open_demuxer)(const Source* source, bool probe, Demuxer** out) = nullptr;
  void (*close_demuxer)(Demuxer*) = nullptr;
  void (*facts)(const Demuxer*, Facts* out) = nullptr;
  // kDone or kEnd.
  int (*next_packet)(Demuxer*, Packet* out) = nullptr;
  // To the last key frame before a time, or to a position in the file.
  int (*seek_time)(Demuxer*, int64_t time) = nullptr;
  int (*seek_position)(Demuxer*, int64_t position) = nullptr;

  int (*open_decoder)(const Facts* facts, int threads, Decoder** out) = nullptr;
  void (*close_decoder)(Decoder*) = nullptr;
  // Memory for the bytes of the next packet; null if there is none.
  uint8_t* (*packet_buffer)(Decoder*, int size) = nullptr;
  // Decodes that packet. `mark` is of the picture. `key`: as of Packet.
  int (*send)(Decoder*, int64_t mark, bool key) = nullptr;
  int (*send_end)(Decoder*) = nullptr;
  // kDone: a picture, valid until the next call; kMore: none before the next packet; kEnd.
  // `format` is the name of the pixel format; a model that Picture lacks has `supported` = false.
  int (*receive)(Decoder*, kernels::Picture* out, int64_t* mark, const char** format,
                 bool* supported) = nullptr;
  void (*flush)(Decoder*) = nullptr;

  // For other decoders: gives packets of H.264 and HEVC start codes. The filter is null if they
  // need no change.
  int (*open_filter)(const Facts* facts, Filter** out) = nullptr;
  void (*close_filter)(Filter*) = nullptr;
  // The changed extradata, valid as long as the filter.
  void (*filter_header)(const Filter*, const uint8_t** data, int* size) = nullptr;
  // kDone: a changed packet, valid until the next call.
  int (*filter_packet)(Filter*, const uint8_t* data, int size, bool key, Packet* out) = nullptr;
};

}  // namespace torchdali::io::video::libav

// The one function of the library.
inline constexpr const char* kTorchdaliVideoApi = "torchdali_video_api";
using TorchdaliVideoApi = const torchdali::io::video::libav::Api*();
