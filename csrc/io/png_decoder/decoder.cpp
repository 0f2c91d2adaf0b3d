// SPDX-License-Identifier: Apache-2.0
// The data of the chunks is joined, decompressed to memory for all rows that are needed, and then
// unfiltered a few rows at a time, in place if nothing has to be converted.
#include "io/png_decoder/decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "io/png_decoder/chunks.h"
#include "kernels/png/checksums.h"
#include "kernels/png/inflate.h"
#include "kernels/png/unfilter.h"

namespace torchdali::io::png {
namespace {

constexpr int kRowsAtOnce = kernels::kPngRowsAtOnce;
// Larger images are left to libpng, which needs memory for two rows only.
constexpr size_t kMostUnpacked = size_t{1} << 28;

uint8_t* allocate(PixelTarget& target, size_t bytes) {
  return static_cast<uint8_t*>(target.scratch().allocate(bytes));
}

// Decompresses the rows before row `end`; nullptr if libpng has to decide. RFC 1950.
const uint8_t* decompress(const Chunks& chunks, int64_t end, PixelTarget& target) {
  constexpr size_t kHeader = 2, kTrailer = 4;
  constexpr int kDeflate = 8, kMostWindowBits = 15;
  if (chunks.data_size < kHeader + kTrailer) return nullptr;
  uint8_t* const data = allocate(target, chunks.data_size + kernels::kInflateInputSlack);
  join_data(chunks, data);
  std::memset(data + chunks.data_size, 0, kernels::kInflateInputSlack);
  const int window_bits = (data[0] >> 4) + 8;
  if ((data[0] & 0xF) != kDeflate || window_bits > kMostWindowBits || (data[1] & 0x20) != 0 ||
      (data[0] << 8 | data[1]) % 31 != 0)
    return nullptr;

  const size_t wanted = static_cast<size_t>(end) * (1 + row_size(chunks));
  uint8_t* const rows = allocate(target, wanted + kernels::kInflateOutputSlack);
  auto* const tables =
      reinterpret_cast<kernels::InflateTables*>(allocate(target, sizeof(kernels::InflateTables)));
  const size_t deflated = chunks.data_size - kHeader - kTrailer;
  const bool partial = end < chunks.height;
  const kernels::Inflated result =
      kernels::inflate_to({data + kHeader, deflated}, {rows, wanted}, partial, *tables);
  if (!result.good || result.max_distance > 1u << window_bits) return nullptr;
  if (partial) return rows;
  const uint8_t* const sum = data + kHeader + deflated;
  const uint32_t expected =
      static_cast<uint32_t>(sum[0]) << 24 | sum[1] << 16 | sum[2] << 8 | sum[3];
  const bool same =
      result.ended && result.used == deflated && kernels::adler32({rows, wanted}) == expected;
  return same ? rows : nullptr;
}

// Makes the samples that PixelTarget takes from those of a row.
class Expansion {
 public:
  explicit Expansion(const Chunks& chunks)
      : depth_(chunks.depth), is_palette_(chunks.type == ColorType::kPalette) {
    // Entries that are missing are black, as with libpng.
    if (is_palette_)
      for (size_t i = 0; i < chunks.palette.size() / 3; ++i)
        std::copy_n(chunks.palette.begin() + static_cast<ptrdiff_t>(3 * i), 3, colors_[i].begin());
  }
  bool is_needed() const { return is_palette_ || depth_ != 8; }

  // `count` samples, or indices of a palette, from the `first`-th of the row on.
  void run(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const {
    if (depth_ == 16) {
      const uint8_t* from = row + 2 * first;
      for (int64_t i = 0; i < count; ++i, from += 2) {
        const auto sample = static_cast<uint16_t>(from[0] << 8 | from[1]);
        std::memcpy(to + 2 * i, &sample, sizeof(sample));
      }
      return;
    }
    if (is_palette_ && depth_ == 8) {
      // A color is written with a byte more, which is then overwritten, except the last one.
      for (int64_t i = 0; i + 1 < count; ++i)
        std::memcpy(to + 3 * i, colors_[row[first + i]].data(), 4);
      std::memcpy(to + 3 * (count - 1), colors_[row[first + count - 1]].data(), 3);
      return;
    }
    const int mask = (1 << depth_) - 1, scale = 255 / mask;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t bit = (first + i) * depth_;
      const int sample = row[bit / 8] >> (8 - depth_ - bit % 8) & mask;
      if (is_palette_) std::memcpy(to + 3 * i, colors_[static_cast<size_t>(sample)].data(), 3);
      else to[i] = static_cast<uint8_t>(sample * scale);
    }
  }

 private:
  int depth_;
  bool is_palette_;
  std::array<std::array<uint8_t, 4>, 256> colors_{};
};

// Undoes the filters of rows and hands them to the target.
class Rows {
 public:
  Rows(const Chunks& chunks, PixelTarget& target)
      : target_(target),
        expansion_(chunks),
        samples_(samples_of(chunks.type)),
        stride_(1 + row_size(chunks)),
        pixel_bytes_(std::max(1, samples_ * chunks.depth / 8)) {
    const Region& region = target.region();
    in_place_ = !expansion_.is_needed() && region.width == chunks.width;
    // Columns after the region are not needed.
    const int64_t bits = int64_t{samples_} * chunks.depth;
    size_ = static_cast<size_t>(((region.x + region.width) * bits + 7) / 8);
    const size_t room = (size_ + kernels::kPngRowSlack + 63) / 64 * 64;
    for (auto& group : unfiltered_)
      for (uint8_t*& row : group) row = allocate(target, room);
    zeros_ = allocate(target, room);
    std::memset(zeros_, 0, room);
    if (expansion_.is_needed())
      expanded_ = allocate(
          target, static_cast<size_t>(region.width * samples_) * (chunks.depth == 16 ? 2 : 3));
  }

  // Returns false if a filter is unknown.
  bool run(const uint8_t* data) {
    const Region& region = target_.region();
    const int64_t end = region.y + region.height;
    int64_t begin = 0;
    for (int64_t y = 0; y < end; ++y) {
      const uint8_t filter = data[static_cast<size_t>(y) * stride_];
      if (filter >= kernels::kPngFilters) return false;
      // Rows before one that needs no row above it are not needed.
      if (y <= region.y && filter <= static_cast<uint8_t>(kernels::PngFilter::kSub)) begin = y;
    }
    const uint8_t* above = zeros_;
    for (int group = 0; begin < end; begin += kRowsAtOnce, group ^= 1) {
      const int count = static_cast<int>(std::min<int64_t>(kRowsAtOnce, end - begin));
      kernels::PngRow rows[kRowsAtOnce];
      for (int i = 0; i < count; ++i) {
        const int64_t row = begin + i - region.y;
        const uint8_t* const from = data + static_cast<size_t>(begin + i) * stride_;
        void* const direct = row >= 0 && in_place_ ? target_.direct(row) : nullptr;
        rows[i] = {static_cast<kernels::PngFilter>(from[0]), from + 1,
                   direct ? static_cast<uint8_t*>(direct) : unfiltered_[group][i]};
      }
      kernels::unfilter_png(rows, count, above, size_, pixel_bytes_);
      for (int i = 0; i < count; ++i)
        if (rows[i].to == unfiltered_[group][i] && begin + i >= region.y)
          write(begin + i - region.y, rows[i].to);
      above = rows[count - 1].to;
    }
    return true;
  }

 private:
  void write(int64_t row, const uint8_t* pixels) {
    const Region& region = target_.region();
    if (!expansion_.is_needed())
      return target_.write(row, pixels + region.x * int64_t{pixel_bytes_});
    auto* const direct = static_cast<uint8_t*>(target_.direct(row));
    expansion_.run(pixels, region.x * samples_, region.width * samples_,
                   direct ? direct : expanded_);
    if (!direct) target_.write(row, expanded_);
  }

  PixelTarget& target_;
  Expansion expansion_;
  int samples_;
  size_t stride_;    // from row to row
  size_t size_ = 0;  // of the needed part of a row
  int pixel_bytes_;  // from a sample to that on its left, for the filters
  bool in_place_ = false;
  uint8_t* unfiltered_[2][kRowsAtOnce] = {};  // the last row of a group is above the next
  uint8_t* zeros_ = nullptr;                  // above the first row
  uint8_t* expanded_ = nullptr;
};

}  // namespace

bool decode(Bytes bytes, const ImageInfo& info, PixelTarget& target) {
  // Bits are read as words of this byte order.
  if constexpr (std::endian::native != std::endian::little) return false;
  const auto chunks = read_chunks(bytes);
  if (!chunks || chunks->width != info.width || chunks->height != info.height) return false;
  if (unpacked_size(*chunks) > kMostUnpacked) return false;
  const Region& region = target.region();
  const uint8_t* const data = decompress(*chunks, region.y + region.height, target);
  return data && Rows(*chunks, target).run(data);
}

}  // namespace torchdali::io::png
