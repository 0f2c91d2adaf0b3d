// SPDX-License-Identifier: Apache-2.0
// Stands in for libnvcuvid.so in tests/gpu/test_nvdec.py, where there is no GPU: decodes with
// libavcodec into NV12 and P016 pictures in host memory, larger than what is shown of them, whose
// bytes change when they are unmapped. Writes a line for each call to the file $FAKE_NVCUVID_LOG,
// and ends the process if calls come in an order that the library does not permit. $FAKE_NVCUVID
// names what fails.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

extern "C" {
#include <libavcodec/avcodec.h>
}

#include "gpu/nvdec/cuvid_api.h"

namespace cuvid = torchdali::gpu::cuvid;
namespace {

constexpr int kInvalid = 1, kUnsupported = 801;
constexpr int kLeft = 2, kTop = 4;  // of what is shown
constexpr unsigned kSurfaces = 5;

void log_line(const char* name, long a = 0, long b = 0, long c = 0) {
  const char* path = std::getenv("FAKE_NVCUVID_LOG");
  FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "%s %ld %ld %ld\n", name, a, b, c);
  std::fclose(file);
}

bool fails(const char* what) {
  const char* chosen = std::getenv("FAKE_NVCUVID");
  return chosen != nullptr && std::string_view(chosen) == what;
}

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "fake_nvcuvid: %s\n", what);
  std::abort();
}

// What the parser passes to cuvidDecodePicture, through the engine.
struct Picture {
  cuvid::PictureParams params;
  AVFrame* frame;
};

struct Decoder {
  cuvid::CreateInfo info;
  std::vector<AVFrame*> surfaces;
  std::map<unsigned long long, size_t> mapped;  // sizes
};

struct Shown {
  int index;
  long long time;
};
struct Parser {
  cuvid::ParserParams params;
  AVCodecContext* context;
  AVPacket* packet;
  AVFrame* frame;
  int surfaces = 0, next = 0;
  std::deque<Shown> delayed = {};
};

const char* name_of(cuvid::Codec codec) {
  switch (codec) {
    case cuvid::Codec::kMpeg4: return "mpeg4";
    case cuvid::Codec::kH264: return "h264";
    case cuvid::Codec::kHevc: return "hevc";
    case cuvid::Codec::kVp8: return "vp8";
    case cuvid::Codec::kVp9: return "vp9";
    case cuvid::Codec::kAv1: return "av1";
  }
  return "?";
}

bool is_deep(const AVFrame& frame) { return frame.format == AV_PIX_FMT_YUV420P10LE; }

cuvid::Format format_of(const Parser& parser) {
  const AVFrame& frame = *parser.frame;
  cuvid::Format f{.codec = parser.params.codec, .progressive = 1};
  f.luma_bits_minus_8 = f.chroma_bits_minus_8 = is_deep(frame) ? 2 : 0;
  f.min_surfaces = kSurfaces;
  f.coded_width = static_cast<unsigned>((frame.width + kLeft + 31) / 16 * 16);
  f.coded_height = static_cast<unsigned>((frame.height + kTop + 31) / 16 * 16);
  f.display = {kLeft, kTop, kLeft + frame.width, kTop + frame.height};
  f.chroma = cuvid::kChroma420;
  return f;
}

bool display(Parser& parser, size_t most) {
  while (parser.delayed.size() > most) {
    const Shown shown = parser.delayed.front();
    parser.delayed.pop_front();
    if (fails("missing") && shown.time % 2 == 0) continue;
    cuvid::DisplayInfo info{.index = shown.index, .progressive = 1, .timestamp = shown.time};
    if (parser.params.on_display(parser.params.user, &info) == 0) return false;
  }
  return true;
}

bool receive(Parser& parser) {
  while (avcodec_receive_frame(parser.context, parser.frame) == 0) {
    if (parser.surfaces == 0) {
      cuvid::Format format = format_of(parser);
      if (fails("size")) format.display.right -= 2;
      parser.surfaces = parser.params.on_sequence(parser.params.user, &format);
      if (parser.surfaces == 0) return false;
      require(parser.surfaces >= static_cast<int>(kSurfaces), "too few surfaces");
    }
    Picture picture{
        .params = {.width_in_macroblocks = 0, .height_in_macroblocks = 0, .index = parser.next},
        .frame = parser.frame};
    if (parser.params.on_decode(parser.params.user, &picture.params) == 0) return false;
    parser.delayed.push_back({parser.next, static_cast<long long>(parser.frame->pts)});
    parser.next = (parser.next + 1) % parser.surfaces;
    if (!display(parser, parser.params.display_delay)) return false;
  }
  return true;
}

// Two planes of samples of 1 or 2 bytes; what is not shown is noise.
void write_planes(const AVFrame& frame, const cuvid::CreateInfo& info, uint8_t* to, size_t pitch) {
  const size_t bytes = is_deep(frame) ? 2 : 1;
  const auto rows = info.target_height;
  const auto put = [&](size_t row, size_t column, const uint8_t* from) {
    uint16_t sample = 0;
    std::memcpy(&sample, from, bytes);
    if (bytes == 2) sample = static_cast<uint16_t>(sample << 6);
    std::memcpy(to + row * pitch + column * bytes, &sample, bytes);
  };
  for (int y = 0; y < frame.height; ++y)
    for (int x = 0; x < frame.width; ++x)
      put(static_cast<size_t>(y + kTop), static_cast<size_t>(x + kLeft),
          frame.data[0] + y * frame.linesize[0] + x * static_cast<int>(bytes));
  for (int y = 0; y < (frame.height + 1) / 2; ++y)
    for (int x = 0; x < (frame.width + 1) / 2; ++x)
      for (int k = 0; k < 2; ++k)
        put(rows + static_cast<size_t>(y + kTop / 2), static_cast<size_t>(2 * x + kLeft + k),
            frame.data[k + 1] + y * frame.linesize[k + 1] + x * static_cast<int>(bytes));
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cuvidGetDecoderCaps(cuvid::Caps* caps) {
  log_line("caps", static_cast<long>(caps->codec), caps->bits_minus_8);
  require(caps->chroma == cuvid::kChroma420, "caps of another chroma");
  if (fails("caps")) return kInvalid;
  caps->is_supported = !fails("codec");
  caps->engines = 1;
  caps->surface_formats = 3;
  caps->max_width = caps->max_height = 4096;
  caps->max_macroblocks = 65536;
  caps->min_width = caps->min_height = 32;
  return cuvid::kSuccess;
}

EXPORT int cuvidCreateDecoder(cuvid::Decoder* decoder, cuvid::CreateInfo* info) {
  log_line("create", static_cast<long>(info->width), static_cast<long>(info->height),
           static_cast<long>(info->surfaces));
  require(info->surfaces >= kSurfaces && info->output_surfaces > 0, "too few surfaces");
  require(info->width == info->target_width && info->height == info->target_height, "scaled");
  require(info->max_width >= info->width && info->max_height >= info->height, "too large");
  const bool deep = info->bits_minus_8 > 0;
  require(info->surface_format == (deep ? cuvid::kSurfaceP016 : cuvid::kSurfaceNv12), "format");
  if (fails("create")) return kUnsupported;
  *decoder = new Decoder{*info, std::vector<AVFrame*>(info->surfaces), {}};
  return cuvid::kSuccess;
}

EXPORT int cuvidReconfigureDecoder(cuvid::Decoder handle, cuvid::ReconfigureInfo* info) {
  auto& decoder = *static_cast<Decoder*>(handle);
  log_line("reconfigure", info->width, info->height, info->surfaces);
  require(decoder.mapped.empty(), "reconfigured with mapped pictures");
  require(info->width <= decoder.info.max_width && info->height <= decoder.info.max_height, "size");
  require(info->surfaces <= decoder.info.surfaces, "more surfaces");
  decoder.info.width = decoder.info.target_width = info->width;
  decoder.info.height = decoder.info.target_height = info->height;
  return cuvid::kSuccess;
}

EXPORT int cuvidDestroyDecoder(cuvid::Decoder handle) {
  auto* decoder = static_cast<Decoder*>(handle);
  log_line("destroy", static_cast<long>(decoder->mapped.size()));
  for (AVFrame*& frame : decoder->surfaces) av_frame_free(&frame);
  delete decoder;
  return cuvid::kSuccess;
}

EXPORT int cuvidDecodePicture(cuvid::Decoder handle, cuvid::PictureParams* params) {
  auto& decoder = *static_cast<Decoder*>(handle);
  const auto& picture = *reinterpret_cast<Picture*>(params);
  if (fails("decode")) return kInvalid;
  AVFrame*& surface = decoder.surfaces.at(static_cast<size_t>(params->index));
  av_frame_free(&surface);
  surface = av_frame_clone(picture.frame);
  return cuvid::kSuccess;
}

EXPORT int cuvidGetDecodeStatus(cuvid::Decoder, int, cuvid::Status* status) {
  status->status = fails("damaged") ? cuvid::kDecodeErrorConcealed : 2;
  return cuvid::kSuccess;
}

EXPORT int cuvidMapVideoFrame64(cuvid::Decoder handle, int index, unsigned long long* address,
                                unsigned* pitch, cuvid::MapParams* params) {
  auto& decoder = *static_cast<Decoder*>(handle);
  log_line("map", index, params->progressive);
  require(decoder.mapped.size() < decoder.info.output_surfaces, "too many mapped pictures");
  if (fails("map")) return kInvalid;
  const AVFrame* frame = decoder.surfaces.at(static_cast<size_t>(index));
  require(frame != nullptr, "a picture that was not decoded");
  const size_t bytes = is_deep(*frame) ? 2 : 1;
  *pitch = static_cast<unsigned>((decoder.info.width * bytes + 255) / 256 * 256);
  const size_t size = *pitch * (decoder.info.target_height * 3 / 2);
  auto* memory = static_cast<uint8_t*>(std::malloc(size));
  for (size_t i = 0; i < size; ++i) memory[i] = static_cast<uint8_t>(i * 37);
  write_planes(*frame, decoder.info, memory, *pitch);
  *address = reinterpret_cast<uintptr_t>(memory);
  decoder.mapped[*address] = size;
  return cuvid::kSuccess;
}

EXPORT int cuvidUnmapVideoFrame64(cuvid::Decoder handle, unsigned long long address) {
  auto& decoder = *static_cast<Decoder*>(handle);
  const auto found = decoder.mapped.find(address);
  require(found != decoder.mapped.end(), "unmapped twice");
  auto* memory = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(address));
  std::memset(memory, 0xEE, found->second);
  std::free(memory);
  decoder.mapped.erase(found);
  return cuvid::kSuccess;
}

EXPORT int cuvidCreateVideoParser(cuvid::Parser* out, cuvid::ParserParams* params) {
  log_line("parser", static_cast<long>(params->codec), params->display_delay,
           params->header == nullptr ? 0 : params->header->format.header_size);
  if (fails("parser")) return kInvalid;
  require(params->on_sequence && params->on_decode && params->on_display, "callbacks");
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(name_of(params->codec));
  auto* context = avcodec_alloc_context3(avcodec_find_decoder(descriptor->id));
  context->thread_count = 1;
  if (const auto* header = params->header; header != nullptr) {
    const size_t size = header->format.header_size;
    context->extradata = static_cast<uint8_t*>(av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE));
    std::memcpy(context->extradata, header->header, size);
    context->extradata_size = static_cast<int>(size);
  }
  require(avcodec_open2(context, nullptr, nullptr) == 0, "no decoder");
  *out = new Parser{*params, context, av_packet_alloc(), av_frame_alloc()};
  return cuvid::kSuccess;
}

EXPORT int cuvidParseVideoData(cuvid::Parser handle, cuvid::Packet* packet) {
  auto& parser = *static_cast<Parser*>(handle);
  if ((packet->flags & cuvid::kEndOfStream) != 0) {
    log_line("end");
    avcodec_send_packet(parser.context, nullptr);
    return receive(parser) && display(parser, 0) ? cuvid::kSuccess : kInvalid;
  }
  require(packet->flags == (cuvid::kHasTimestamp | cuvid::kEndOfPicture), "flags of a packet");
  if (fails("parse")) return kInvalid;
  const cuvid::Codec codec = parser.params.codec;
  if (codec == cuvid::Codec::kH264 || codec == cuvid::Codec::kHevc)
    require(packet->data[0] == 0 && packet->data[1] == 0 && packet->data[2] <= 1,
            "a packet without start code");
  require(av_new_packet(parser.packet, static_cast<int>(packet->size)) == 0, "memory");
  std::memcpy(parser.packet->data, packet->data, packet->size);
  parser.packet->pts = packet->timestamp;
  avcodec_send_packet(parser.context, parser.packet);
  av_packet_unref(parser.packet);
  return receive(parser) ? cuvid::kSuccess : kInvalid;
}

EXPORT int cuvidDestroyVideoParser(cuvid::Parser handle) {
  auto* parser = static_cast<Parser*>(handle);
  log_line("parser_end");
  avcodec_free_context(&parser->context);
  av_packet_free(&parser->packet);
  av_frame_free(&parser->frame);
  delete parser;
  return cuvid::kSuccess;
}
