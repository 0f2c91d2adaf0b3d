// SPDX-License-Identifier: Apache-2.0
// Pictures of packets, by libavcodec.
#include <new>

#include "video/common.h"

namespace torchdali::io::video::libav {

struct Decoder {
  AVCodecContext* context = nullptr;
  AVPacket* packet = nullptr;
  AVFrame* frame = nullptr;
};

namespace {

int open(Decoder& decoder, const Facts& facts, int threads) {
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(facts.codec);
  if (descriptor == nullptr) return AVERROR_DECODER_NOT_FOUND;
  const AVCodec* codec = avcodec_find_decoder(descriptor->id);
  if (codec == nullptr) return AVERROR_DECODER_NOT_FOUND;
  decoder.context = avcodec_alloc_context3(codec);
  decoder.packet = av_packet_alloc();
  decoder.frame = av_frame_alloc();
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  if (decoder.context == nullptr || decoder.packet == nullptr || decoder.frame == nullptr ||
      parameters == nullptr) {
    avcodec_parameters_free(&parameters);
    return AVERROR(ENOMEM);
  }
  int error = set_parameters(facts, *parameters);
  if (error >= 0) error = avcodec_parameters_to_context(decoder.context, parameters);
  avcodec_parameters_free(&parameters);
  if (error < 0) return error;
  decoder.context->thread_count = threads;
  decoder.context->thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
  // What threads of FFmpeg say is not printed.
  if (threads > 1) decoder.context->log_level_offset = AV_LOG_TRACE;
  decoder.context->max_pixels = kMaxPixels;
  // Pictures that are cut at the left have the exact size.
  decoder.context->flags |= AV_CODEC_FLAG_UNALIGNED;
  return avcodec_open2(decoder.context, codec, nullptr);
}

}  // namespace

int set_parameters(const Facts& facts, AVCodecParameters& parameters) {
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(facts.codec);
  if (descriptor == nullptr) return AVERROR_DECODER_NOT_FOUND;
  parameters.codec_type = AVMEDIA_TYPE_VIDEO;
  parameters.codec_id = descriptor->id;
  parameters.codec_tag = static_cast<uint32_t>(facts.tag);
  parameters.format = facts.pixel_format[0] == '\0' ? -1 : av_get_pix_fmt(facts.pixel_format);
  parameters.profile = facts.profile;
  parameters.level = facts.level;
  parameters.bits_per_coded_sample = facts.bits_per_sample;
  parameters.video_delay = facts.reorder;
  parameters.width = facts.width;
  parameters.height = facts.height;
  parameters.color_range = static_cast<AVColorRange>(facts.range);
  parameters.color_primaries = static_cast<AVColorPrimaries>(facts.primaries);
  parameters.color_trc = static_cast<AVColorTransferCharacteristic>(facts.transfer);
  parameters.color_space = static_cast<AVColorSpace>(facts.matrix);
  parameters.field_order = static_cast<AVFieldOrder>(facts.field_order);
  if (facts.extradata_size > 0) {
    const auto size = static_cast<size_t>(facts.extradata_size);
    parameters.extradata = static_cast<uint8_t*>(av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE));
    if (parameters.extradata == nullptr) return AVERROR(ENOMEM);
    std::memcpy(parameters.extradata, facts.extradata, size);
    parameters.extradata_size = facts.extradata_size;
  }
  return 0;
}

int open_decoder(const Facts* facts, int threads, Decoder** out) {
  const QuietLog quiet;
  auto* decoder = new (std::nothrow) Decoder;
  if (decoder == nullptr) return AVERROR(ENOMEM);
  const int error = open(*decoder, *facts, threads);
  if (error < 0) {
    close_decoder(decoder);
    return error;
  }
  *out = decoder;
  return 0;
}

void close_decoder(Decoder* decoder) {
  const QuietLog quiet;
  avcodec_free_context(&decoder->context);
  av_packet_free(&decoder->packet);
  av_frame_free(&decoder->frame);
  delete decoder;
}

uint8_t* packet_buffer(Decoder* decoder, int size) {
  av_packet_unref(decoder->packet);
  return av_new_packet(decoder->packet, size) < 0 ? nullptr : decoder->packet->data;
}

int send(Decoder* decoder, int64_t mark, bool key) {
  const QuietLog quiet;
  decoder->packet->pts = mark;
  decoder->packet->dts = AV_NOPTS_VALUE;
  decoder->packet->flags = key ? AV_PKT_FLAG_KEY : 0;
  const int error = avcodec_send_packet(decoder->context, decoder->packet);
  if (error != AVERROR(EAGAIN)) av_packet_unref(decoder->packet);
  return error == AVERROR(EAGAIN) ? kEnd : std::min(error, 0);
}

int send_end(Decoder* decoder) {
  const QuietLog quiet;
  const int error = avcodec_send_packet(decoder->context, nullptr);
  return error == AVERROR_EOF ? 0 : error;
}

int receive(Decoder* decoder, kernels::Picture* out, int64_t* mark, const char** format,
            bool* supported) {
  const QuietLog quiet;
  const int error = avcodec_receive_frame(decoder->context, decoder->frame);
  if (error == AVERROR(EAGAIN)) return kMore;
  if (error == AVERROR_EOF) return kEnd;
  if (error < 0) return error;
  *mark = decoder->frame->pts;
  *format = av_get_pix_fmt_name(static_cast<AVPixelFormat>(decoder->frame->format));
  if (*format == nullptr) *format = "unknown";
  *supported = describe(*decoder->frame, *out);
  return kDone;
}

void flush(Decoder* decoder) {
  const QuietLog quiet;
  av_packet_unref(decoder->packet);
  av_frame_unref(decoder->frame);
  avcodec_flush_buffers(decoder->context);
}

}  // namespace torchdali::io::video::libav
