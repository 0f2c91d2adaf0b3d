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
