// SPDX-License-Identifier: Apache-2.0
// What the files of torchdali/_video.so share.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "io/video/libav_api.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace torchdali::io::video::libav {

// More pixels than that are refused.
inline constexpr int64_t kMaxPixels = int64_t{1} << 28;

// While it exists, FFmpeg's messages of this thread are kept rather than printed.
class QuietLog {
 public:
  QuietLog();
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

// The last error that FFmpeg told this thread; may be empty.
std::string_view last_message();

template <size_t n>
void copy_text(char (&to)[n], const char* from) {
  const size_t size = from == nullptr ? 0 : std::min(n - 1, std::strlen(from));
  if (size > 0) std::memcpy(to, from, size);
  to[size] = '\0';
}

int open_demuxer(const Source* source, bool probe, Demuxer** out);
void close_demuxer(Demuxer* demuxer);
void get_facts(const Demuxer* demuxer, Facts* out);
int next_packet(Demuxer* demuxer, Packet* out);
int seek_time(Demuxer* demuxer, int64_t time);
int seek_position(Demuxer* demuxer, int64_t position);

// Copies the facts. Returns 0 or an error.
int set_parameters(const Facts& facts, AVCodecParameters& parameters);

int open_decoder(const Facts* facts, int threads, Decoder** out);
void close_decoder(Decoder* decoder);
uint8_t* packet_buffer(Decoder* decoder, int size);
int send(Decoder* decoder, int64_t mark, bool key);
int send_end(Decoder* decoder);
int receive(Decoder* decoder, kernels::Picture* out, int64_t* mark, const char** format,
            bool* supported);
void flush(Decoder* decoder);

int open_filter(const Facts* facts, Filter** out);
void close_filter(Filter* filter);
void filter_header(const Filter* filter, const uint8_t** data, int* size);
int filter_packet(Filter* filter, const uint8_t* data, int size, bool key, Packet* out);

// Describes the planes of a frame. False if Picture cannot.
bool describe(const AVFrame& frame, kernels::Picture& out);

}  // namespace torchdali::io::video::libav
