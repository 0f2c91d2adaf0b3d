// SPDX-License-Identifier: Apache-2.0
// The table of functions of torchdali/_video.so, and FFmpeg's messages.
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "video/common.h"

namespace torchdali::io::video::libav {
namespace {

thread_local int quiet = 0;
thread_local char message[kTextSize];

void on_log(void* of, int level, const char* format, va_list arguments) {
  if (quiet == 0) {
    av_log_default_callback(of, level, format, arguments);
    return;
  }
  if (level > AV_LOG_ERROR) return;
  char text[kTextSize];
  const int size = std::vsnprintf(text, sizeof text, format, arguments);
  int end = std::clamp(size, 0, static_cast<int>(sizeof text) - 1);
  while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' ' || text[end - 1] == '.')) --end;
  text[end] = '\0';
  if (end > 0) std::memcpy(message, text, static_cast<size_t>(end) + 1);
}

const char* release() { return av_version_info(); }
const char* license() { return avcodec_license(); }

void decoders(void* user, void (*each)(void* user, const char* name)) {
  const AVCodecDescriptor* descriptor = nullptr;
  while ((descriptor = avcodec_descriptor_next(descriptor)) != nullptr)
    if (descriptor->type == AVMEDIA_TYPE_VIDEO && avcodec_find_decoder(descriptor->id) != nullptr)
      each(user, descriptor->name);
}

void error_text(int error, char* text, size_t size) {
  char meaning[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(error, meaning, sizeof meaning);
  const std::string_view last = last_message();
  if (last.empty()) std::snprintf(text, size, "%s", meaning);
  else std::snprintf(text, size, "%s (%.*s)", meaning, static_cast<int>(last.size()), last.data());
}

}  // namespace

QuietLog::QuietLog() {
  static std::once_flag once;
  // Messages of others go to the default function, as before.
  std::call_once(once, [] { av_log_set_callback(on_log); });
  if (quiet++ == 0) message[0] = '\0';
}
QuietLog::~QuietLog() { --quiet; }

std::string_view last_message() { return message; }

}  // namespace torchdali::io::video::libav

extern "C" __attribute__((visibility("default"))) const torchdali::io::video::libav::Api*
torchdali_video_api() {
  namespace libav = torchdali::io::video::libav;
  static const libav::Api api{
      .release = libav::release,
      .license = libav::license,
      .decoders = libav::decoders,
      .error_text = libav::error_text,
      .open_demuxer = libav::open_demuxer,
      .close_demuxer = libav::close_demuxer,
      .facts = libav::get_facts,
      .next_packet = libav::next_packet,
      .seek_time = libav::seek_time,
      .seek_position = libav::seek_position,
      .open_decoder = libav::open_decoder,
      .close_decoder = libav::close_decoder,
      .packet_buffer = libav::packet_buffer,
      .send = libav::send,
      .send_end = libav::send_end,
      .receive = libav::receive,
      .flush = libav::flush,
      .open_filter = libav::open_filter,
      .close_filter = libav::close_filter,
      .filter_header = libav::filter_header,
      .filter_packet = libav::filter_packet,
  };
  return &api;
}
