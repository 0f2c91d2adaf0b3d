// SPDX-License-Identifier: Apache-2.0
#include "ops/decoders/jpeg_tasks.h"

#include <cstring>
#include <iterator>

namespace torchdali {

int64_t packing_bytes(const io::PackedJpeg& jpeg) {
  const size_t bytes = jpeg.bases.size_bytes() + jpeg.starts.size_bytes() + jpeg.units.size_bytes();
  // Samples are contiguous, so the size is padded to keep the lists of the next one aligned.
  constexpr size_t kAlign = alignof(decltype(jpeg.bases)::value_type);
  return static_cast<int64_t>((bytes + kAlign - 1) / kAlign * kAlign);
}

void write_packing(DeviceImage& image, std::byte* to) {
  io::PackedJpeg& jpeg = image.jpeg;
  image.kind = DeviceImage::Kind::kPacked;
  image.blocks = std::ssize(jpeg.starts) - 1;
  image.unit_count = std::ssize(jpeg.units);
  int64_t at = 0;
  const auto add = [&](auto& list, int64_t& place) {
    place = at;
    std::memcpy(to + at, list.data(), list.size_bytes());
    at += static_cast<int64_t>(list.size_bytes());
    list = {};
  };
  add(jpeg.bases, image.bases);
  add(jpeg.starts, image.starts);
  add(jpeg.units, image.units);
}

namespace {

// Samples are contiguous, so sizes are padded to keep the lists of the next one aligned.
constexpr size_t kWord = sizeof(uint32_t);
size_t pad(size_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }

size_t bytes_of(std::span<const io::Bytes> pieces) {
  size_t bytes = 0;
  for (const io::Bytes piece : pieces) bytes += piece.size();
  return bytes;
}

// The tasks that leave coefficients to that of the blocks, whose other fields are set.
void add_codes(const DeviceImage& image, const void* in,
               const std::function<uint8_t*(int64_t)>& reserve, JpegTasks& tasks) {
  const io::JpegCodes& codes = image.codes;
  const io::PackedJpeg& jpeg = image.jpeg;
  gpu::JpegSegmentsTask& segments = tasks.segments;
  gpu::JpegBlocksTask& blocks = tasks.blocks;
  blocks.size = int64_t{jpeg.mcus_across} * jpeg.mcus_down * blocks.blocks_per_mcu;
  const int64_t bytes = blocks.size * int64_t{64} * static_cast<int64_t>(sizeof(int16_t));
  uint8_t* const coefficients = reserve(bytes);
  blocks.coefficients = reinterpret_cast<const int16_t*>(coefficients);
  tasks.zeros.out = segments.out = coefficients;
  tasks.zeros.size = bytes / static_cast<int64_t>(sizeof(gpu::SixteenBytes));
  segments.in = in;
  segments.size = image.segment_count;
  segments.bytes = static_cast<uint32_t>(image.code_bytes);
  segments.segments = image.segments;
  segments.tables = image.tables;
  segments.segments_across = codes.segments_across;
  segments.columns = codes.segment_mcus;
  segments.first_column = codes.first_column;
  segments.first_row = static_cast<int>(jpeg.mcu_y);
  segments.begin = static_cast<int>(jpeg.mcu_x);
  segments.end = segments.begin + jpeg.mcus_across;
  segments.mcus_per_row = codes.mcus_per_row;
  segments.restart_interval = codes.restart_interval;
  segments.blocks = codes.blocks;
  segments.wanted_blocks = blocks.blocks_per_mcu;
  for (int block = 0; block < codes.blocks; ++block) {
    const uint8_t c = codes.component[static_cast<size_t>(block)];
    segments.component |= uint64_t{c} << 4 * block;
    segments.dc |= uint64_t{codes.dc[c]} << 4 * block;
    segments.ac |= uint64_t{codes.ac[c]} << 4 * block;
  }
}

}  // namespace

int64_t codes_bytes(const io::JpegCodes& codes) {
  return static_cast<int64_t>(pad(bytes_of(codes.pieces)) + codes.tables.size_bytes() +
                              pad(codes.segments.size_bytes()));
}

void write_codes(DeviceImage& image, std::byte* to) {
  io::JpegCodes& codes = image.codes;
  image.kind = DeviceImage::Kind::kCodes;
  size_t at = 0;
  const auto add = [&](const void* list, size_t bytes) {
    if (bytes > 0) std::memcpy(to + at, list, bytes);
    at += bytes;
  };
  // What is between the lists is read as a part of words.
  const auto fill = [&] {
    const size_t end = pad(at);
    std::memset(to + at, 0, end - at);
    at = end;
  };
  for (const io::Bytes piece : codes.pieces) add(piece.data(), piece.size());
  image.code_bytes = static_cast<int64_t>(at);
  fill();
  image.tables = static_cast<int64_t>(at);
  add(codes.tables.data(), codes.tables.size_bytes());
  image.segments = static_cast<int64_t>(at);
  image.segment_count = std::ssize(codes.segments);
  add(codes.segments.data(), codes.segments.size_bytes());
  fill();
  codes.pieces = {};
  codes.tables = {};
  codes.segments = {};
}

JpegTasks make_jpeg_tasks(const DeviceImage& image, const void* in, void* out,
                          const std::function<uint8_t*(int64_t)>& reserve,
                          const std::function<gpu::BlobOffset(std::span<const int16_t>)>& keep) {
  const io::PackedJpeg& jpeg = image.jpeg;
  JpegTasks tasks;
  gpu::JpegBlocksTask& blocks = tasks.blocks;
  gpu::JpegPixelsTask& pixels = tasks.pixels;
  blocks.in = in;
  blocks.size = image.blocks;
  blocks.bases = image.bases;
  blocks.starts = image.starts;
  blocks.units = image.units;
  blocks.unit_count = image.unit_count;
  blocks.mcus_across = jpeg.mcus_across;
  blocks.mcus_down = jpeg.mcus_down;
  blocks.blocks_per_mcu = 0;
  for (int c = 0; c < jpeg.components; ++c) {
    const io::PackedJpegComponent& from = jpeg.component[static_cast<size_t>(c)];
    const int64_t stride = int64_t{8} * from.h * jpeg.mcus_across;
    const int64_t rows = int64_t{8} * from.v * jpeg.mcus_down;
    blocks.h[c] = from.h;
    blocks.v[c] = from.v;
    blocks.samples[c] = reserve(stride * rows);
    blocks.quant[c] = keep(from.quant);
    for (int i = 0; i < from.h * from.v; ++i)
      blocks.places[blocks.blocks_per_mcu++] = {static_cast<uint8_t>(c),
                                                static_cast<uint8_t>(i % from.h),
                                                static_cast<uint8_t>(i / from.h)};
    pixels.component[c] = {.samples = blocks.samples[c],
                           .stride = stride,
                           .rows = rows,
                           .x = static_cast<int>(jpeg.mcu_x) * 8 * from.h,
                           .y = static_cast<int>(jpeg.mcu_y) * 8 * from.v,
                           .width = static_cast<int>(from.width),
                           .height = static_cast<int>(from.height),
                           .across = from.up.across,
                           .down = from.up.down,
                           .smooth = from.up.smooth};
  }
  if (image.kind == DeviceImage::Kind::kCodes) add_codes(image, in, reserve, tasks);
  pixels.out = out;
  pixels.width = image.width;
  pixels.channels = static_cast<int>(image.channels);
  pixels.components = jpeg.components;
  pixels.rgb = jpeg.rgb;
  pixels.bgr = jpeg.bgr;
  pixels.x = static_cast<int>(jpeg.region.x);
  pixels.y = static_cast<int>(jpeg.region.y);
  pixels.region_width = static_cast<int>(jpeg.region.width);
  pixels.region_height = static_cast<int>(jpeg.region.height);
  pixels.transpose = jpeg.transpose;
  pixels.flip_rows = jpeg.flip_rows;
  pixels.flip_columns = jpeg.flip_columns;
  pixels.size = image.height * ((image.width + gpu::kJpegRun - 1) / gpu::kJpegRun);
  return tasks;
}

}  // namespace torchdali
