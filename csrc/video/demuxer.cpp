// SPDX-License-Identifier: Apache-2.0
// Packets of the video stream of a file, by libavformat.
#include <cstdio>
#include <new>

#include "video/common.h"

namespace torchdali::io::video::libav {

struct Demuxer {
  Source source;
  int64_t position = 0;  // in the file
  AVIOContext* io = nullptr;
  AVFormatContext* format = nullptr;
  AVPacket* packet = nullptr;
  AVStream* stream = nullptr;
};

namespace {

constexpr int kBufferBytes = 1 << 16;
// Containers that consist of one file. No playlists, which name other files, and no formats that
// match whatever bytes they get.
constexpr const char* kContainers =
    "mov,mp4,matroska,webm,avi,mpegts,mpeg,mpegvideo,h264,hevc,m4v,obu,av1,ivf,flv,live_flv,ogg,"
    "gif,"
    "asf,mjpeg,mxf,nut,dv,vc1,h263,wtv,yuv4mpegpipe,rm,apng,cavsvideo,dirac,y4m,nsv,film_cpk,bink,"
    "smk,flic,webp_pipe";

int read_bytes(void* opaque, uint8_t* to, int count) {
  auto& demuxer = *static_cast<Demuxer*>(opaque);
  const int64_t left = demuxer.source.size - demuxer.position;
  if (left <= 0) return AVERROR_EOF;
  const int wanted = static_cast<int>(std::min<int64_t>(count, left));
  const int got = demuxer.source.read(demuxer.source.user, demuxer.position, to, wanted);
  if (got < 0) return AVERROR(EIO);
  if (got == 0) return AVERROR_EOF;
  demuxer.position += got;
  return got;
}

int64_t seek_bytes(void* opaque, int64_t offset, int whence) {
  auto& demuxer = *static_cast<Demuxer*>(opaque);
  if (whence == AVSEEK_SIZE) return demuxer.source.size;
  whence &= ~AVSEEK_FORCE;
  const int64_t base = whence == SEEK_SET   ? 0
                       : whence == SEEK_CUR ? demuxer.position
                                            : demuxer.source.size;
  int64_t target = 0;
  if (__builtin_add_overflow(base, offset, &target) || target < 0) return AVERROR(EINVAL);
  demuxer.position = target;
  return target;
}

// Files that a file names are never opened.
int refuse_to_open(AVFormatContext* format, AVIOContext** io, const char* url, int flags,
                   AVDictionary** options) {
  (void)format, (void)url, (void)flags, (void)options;
  *io = nullptr;
  return AVERROR(EACCES);
}

int rotation_of(const int32_t* matrix) {
  const double angle = -av_display_rotation_get(matrix);
  if (!(angle >= -360 && angle <= 360)) return 0;
  const int quarters = static_cast<int>(angle / 90 + (angle < 0 ? -0.5 : 0.5));
  return ((quarters % 4) + 4) % 4 * 90;
}

int rotation_of(const AVStream& stream) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVCodecParameters& parameters = *stream.codecpar;
  const AVPacketSideData* data = av_packet_side_data_get(
      parameters.coded_side_data, parameters.nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  if (data == nullptr || data->size < 9 * sizeof(int32_t)) return 0;
  int32_t matrix[9];
  std::memcpy(matrix, data->data, sizeof matrix);
#else
#if LIBAVFORMAT_VERSION_MAJOR >= 59
  size_t size = 0;
#else
  int size = 0;
#endif
  const uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  int32_t matrix[9];
  if (data == nullptr || static_cast<size_t>(size) < sizeof matrix) return 0;
  std::memcpy(matrix, data, sizeof matrix);
#endif
  return rotation_of(matrix);
}

int open(Demuxer& demuxer, bool probe) {
  auto* buffer = static_cast<uint8_t*>(av_malloc(kBufferBytes));
  if (buffer == nullptr) return AVERROR(ENOMEM);
  demuxer.io =
      avio_alloc_context(buffer, kBufferBytes, 0, &demuxer, read_bytes, nullptr, seek_bytes);
  if (demuxer.io == nullptr) {
    av_free(buffer);
    return AVERROR(ENOMEM);
  }
  demuxer.packet = av_packet_alloc();
  demuxer.format = avformat_alloc_context();
  if (demuxer.packet == nullptr || demuxer.format == nullptr) return AVERROR(ENOMEM);
  demuxer.format->pb = demuxer.io;
  demuxer.format->flags |= AVFMT_FLAG_CUSTOM_IO;
  demuxer.format->io_open = refuse_to_open;
  demuxer.format->max_streams = 256;
  AVDictionary* options = nullptr;
  av_dict_set(&options, "format_whitelist", kContainers, 0);
  av_dict_set(&options, "protocol_whitelist", "none", 0);
  // Frees the context if it fails.
  int error = avformat_open_input(&demuxer.format, "", nullptr, &options);
  av_dict_free(&options);
  if (error < 0) return error;
  if (probe) {
    for (unsigned i = 0; i < demuxer.format->nb_streams; ++i)
      if (demuxer.format->streams[i]->codecpar->codec_type != AVMEDIA_TYPE_VIDEO)
        demuxer.format->streams[i]->discard = AVDISCARD_ALL;
    if ((error = avformat_find_stream_info(demuxer.format, nullptr)) < 0) return error;
  }
  const int index = av_find_best_stream(demuxer.format, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (index < 0) return index;
  for (unsigned i = 0; i < demuxer.format->nb_streams; ++i)
    if (static_cast<int>(i) != index) demuxer.format->streams[i]->discard = AVDISCARD_ALL;
  demuxer.stream = demuxer.format->streams[index];
  if ((demuxer.stream->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0)
    return AVERROR_STREAM_NOT_FOUND;
  return 0;
}

}  // namespace

int open_demuxer(const Source* source, bool probe, Demuxer** out) {
  const QuietLog quiet;
  auto* demuxer = new (std::nothrow) Demuxer{.source = *source};
  if (demuxer == nullptr) return AVERROR(ENOMEM);
  const int error = open(*demuxer, probe);
  if (error < 0) {
    close_demuxer(demuxer);
    return error;
  }
  *out = demuxer;
  return 0;
}

void close_demuxer(Demuxer* demuxer) {
  const QuietLog quiet;
  av_packet_free(&demuxer->packet);
  avformat_close_input(&demuxer->format);
  if (demuxer->io != nullptr) av_freep(&demuxer->io->buffer);
  avio_context_free(&demuxer->io);
  delete demuxer;
}

void get_facts(const Demuxer* demuxer, Facts* out) {
  const QuietLog quiet;
  const AVStream& stream = *demuxer->stream;
  const AVCodecParameters& from = *stream.codecpar;
  *out = {};
  const AVCodecDescriptor* codec = avcodec_descriptor_get(from.codec_id);
  copy_text(out->codec, codec == nullptr ? "unknown" : codec->name);
  copy_text(out->container, demuxer->format->iformat->name);
  if (from.format >= 0)
    copy_text(out->pixel_format, av_get_pix_fmt_name(static_cast<AVPixelFormat>(from.format)));
  out->tag = static_cast<int32_t>(from.codec_tag);
  out->profile = from.profile;
  out->level = from.level;
  out->bits_per_sample = from.bits_per_coded_sample;
  out->reorder = from.video_delay;
  out->width = from.width;
  out->height = from.height;
  out->rotation = rotation_of(stream);
  out->range = from.color_range;
  out->primaries = from.color_primaries;
  out->transfer = from.color_trc;
  out->matrix = from.color_space;
  out->field_order = from.field_order;
  out->time_base = {stream.time_base.num, stream.time_base.den};
  const AVRational rate =
      stream.avg_frame_rate.num > 0 ? stream.avg_frame_rate : stream.r_frame_rate;
  if (rate.num > 0 && rate.den > 0) out->average_rate = {rate.num, rate.den};
  out->start = stream.start_time;
  out->duration = stream.duration;
  if (out->duration == AV_NOPTS_VALUE && demuxer->format->duration != AV_NOPTS_VALUE)
    out->duration =
        av_rescale_q(demuxer->format->duration, AVRational{1, AV_TIME_BASE}, stream.time_base);
  out->frames = stream.nb_frames;
  out->extradata = from.extradata;
  out->extradata_size = from.extradata_size;
  out->intra_only = codec != nullptr && (codec->props & AV_CODEC_PROP_INTRA_ONLY) != 0;
}

int next_packet(Demuxer* demuxer, Packet* out) {
  const QuietLog quiet;
  AVPacket& packet = *demuxer->packet;
  // Some demuxers return packets of other streams all the same.
  do {
    av_packet_unref(&packet);
    const int error = av_read_frame(demuxer->format, &packet);
    if (error == AVERROR_EOF) return kEnd;
    if (error < 0) return error;
  } while (packet.stream_index != demuxer->stream->index || packet.size <= 0);
  *out = {.data = packet.data,
          .size = packet.size,
          .pts = packet.pts,
          .dts = packet.dts,
          .duration = packet.duration,
          .position = packet.pos,
          .key = (packet.flags & AV_PKT_FLAG_KEY) != 0,
          .discard = (packet.flags & AV_PKT_FLAG_DISCARD) != 0,
          .corrupt = (packet.flags & AV_PKT_FLAG_CORRUPT) != 0};
  for (int i = 0; i < packet.side_data_elems; ++i) {
    const AVPacketSideDataType type = packet.side_data[i].type;
    if (type == AV_PKT_DATA_NEW_EXTRADATA || type == AV_PKT_DATA_PALETTE ||
        type == AV_PKT_DATA_PARAM_CHANGE)
      out->side_data = true;
  }
  return kDone;
}

int seek_time(Demuxer* demuxer, int64_t time) {
  const QuietLog quiet;
  return av_seek_frame(demuxer->format, demuxer->stream->index, time, AVSEEK_FLAG_BACKWARD);
}

int seek_position(Demuxer* demuxer, int64_t position) {
  const QuietLog quiet;
  return av_seek_frame(demuxer->format, demuxer->stream->index, position, AVSEEK_FLAG_BYTE);
}

}  // namespace torchdali::io::video::libav
