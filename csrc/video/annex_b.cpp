// SPDX-License-Identifier: Apache-2.0
// Packets of H.264 and HEVC with start codes, as decoders other than FFmpeg's take them, by
// libavcodec's bitstream filters.
#include <new>

#include "video/common.h"

extern "C" {
#include <libavcodec/bsf.h>
}

namespace torchdali::io::video::libav {

struct Filter {
  AVBSFContext* context = nullptr;
  AVPacket* packet = nullptr;
};

namespace {

// Null if packets have start codes already, or need none.
const char* filter_of(const Facts& facts) {
  const std::string_view codec = facts.codec;
  if (facts.extradata_size < 1 || facts.extradata[0] != 1) return nullptr;
  return codec == "h264" ? "h264_mp4toannexb" : codec == "hevc" ? "hevc_mp4toannexb" : nullptr;
}

int open(Filter& filter, const Facts& facts, const char* name) {
  const AVBitStreamFilter* kind = av_bsf_get_by_name(name);
  if (kind == nullptr) return AVERROR_BSF_NOT_FOUND;
  filter.packet = av_packet_alloc();
  if (filter.packet == nullptr) return AVERROR(ENOMEM);
  int error = av_bsf_alloc(kind, &filter.context);
  if (error < 0) return error;
  error = set_parameters(facts, *filter.context->par_in);
  return error < 0 ? error : av_bsf_init(filter.context);
}

}  // namespace

int open_filter(const Facts* facts, Filter** out) {
  const QuietLog quiet;
  *out = nullptr;
  const char* name = filter_of(*facts);
  if (name == nullptr) return 0;
  auto* filter = new (std::nothrow) Filter;
  if (filter == nullptr) return AVERROR(ENOMEM);
  const int error = open(*filter, *facts, name);
  if (error < 0) {
    close_filter(filter);
    return error;
  }
  *out = filter;
  return 0;
}

void close_filter(Filter* filter) {
  const QuietLog quiet;
  av_bsf_free(&filter->context);
  av_packet_free(&filter->packet);
  delete filter;
}

void filter_header(const Filter* filter, const uint8_t** data, int* size) {
  *data = filter->context->par_out->extradata;
  *size = filter->context->par_out->extradata_size;
}

int filter_packet(Filter* filter, const uint8_t* data, int size, bool key, Packet* out) {
  const QuietLog quiet;
  av_packet_unref(filter->packet);
  int error = av_new_packet(filter->packet, size);
  if (error < 0) return error;
  std::memcpy(filter->packet->data, data, static_cast<size_t>(size));
  filter->packet->flags = key ? AV_PKT_FLAG_KEY : 0;
  error = av_bsf_send_packet(filter->context, filter->packet);
  if (error < 0) return error;
  error = av_bsf_receive_packet(filter->context, filter->packet);
  if (error < 0) return error;  // these filters make one packet of each
  *out = {.data = filter->packet->data, .size = filter->packet->size, .key = key};
  return kDone;
}

}  // namespace torchdali::io::video::libav
