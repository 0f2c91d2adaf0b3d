// SPDX-License-Identifier: Apache-2.0
// Reads the codes of a JPEG and packs the coefficients. (decoder.cpp computes pixels from them.)
#include <algorithm>
#include <array>

#include "io/jpeg_decoder/choice.h"
#include "io/jpeg_decoder/header.h"
#include "io/jpeg_decoder/plane.h"
#include "io/jpeg_decoder/scan/scan_reader.h"
#include "io/jpeg_decoder/tables.h"
#include "io/packed_jpeg.h"
#include "io/pixel_target.h"

namespace torchdali::io {
namespace jpeg {
namespace {

class Packer final : public ScanReader {
 public:
  Packer(const Header& header, PackedJpeg& packed, ScratchMemory& scratch, SeekPoints* seek)
      : ScanReader(header, scratch, seek), packed_(packed), scratch_(scratch) {}
  bool run() {
    if (!plan()) return false;
    reserve();
    const auto first = static_cast<int>(packed_.mcu_x), top = static_cast<int>(packed_.mcu_y);
    for (int row = top; row < top + packed_.mcus_down; ++row)
      if (!read_row(row, first, first + packed_.mcus_across - 1)) return false;
    finish();
    return true;
  }

 private:
  bool plan();
  void reserve();
  void begin_row(int mcu_row) override {
    wanted_ = mcu_row >= packed_.mcu_y ? packed_.mcus_across : 0;
  }
  int read_mcus(int begin, int end) override {
    return kernels::pack_jpeg_mcus(source_.bits(), {blocks_.data(), block_count_}, begin, end,
                                   source_.limit(), static_cast<int>(packed_.mcu_x), wanted_,
                                   packing_);
  }
  void finish();

  PackedJpeg& packed_;
  ScratchMemory& scratch_;
  std::array<kernels::JpegMcuBlock, kernels::kJpegMaxBlocksPerMcu> blocks_;
  size_t block_count_ = 0;
  int wanted_ = 0;  // MCUs of the current row that are packed
  kernels::JpegPacking packing_;
};

// Which MCUs the region needs: smooth upsampling looks at a sample around it.
void describe(const Header& header, PackedJpeg& packed) {
  const Region& r = packed.region;
  int64_t begin_x = header.width, begin_y = header.height, end_x = 0, end_y = 0;  // MCUs
  for (int c = 0; c < packed.components; ++c) {
    const Component& from = header.component[static_cast<size_t>(c)];
    PackedJpegComponent& to = packed.component[static_cast<size_t>(c)];
    to.h = from.h;
    to.v = from.v;
    to.width = divide_up(header.width * to.h, header.max_h);
    to.height = divide_up(header.height * to.v, header.max_v);
    to.up =
        choose_upsampling(header.max_h / to.h, header.max_v / to.v, static_cast<int>(to.width), 8);
    to.quant = header.quant[from.quant];
    const int margin_x = to.up.smooth && to.up.across == 2;
    const int margin_y = to.up.smooth && to.up.down == 2;
    const auto last = [](int64_t end, int factor, int margin, int64_t extent) {
      return std::min((end - 1) / factor + margin, extent - 1);
    };
    begin_x = std::min(begin_x, std::max<int64_t>(r.x / to.up.across - margin_x, 0) / (8 * to.h));
    begin_y = std::min(begin_y, std::max<int64_t>(r.y / to.up.down - margin_y, 0) / (8 * to.v));
    end_x = std::max(end_x, last(r.x + r.width, to.up.across, margin_x, to.width) / (8 * to.h) + 1);
    end_y = std::max(end_y, last(r.y + r.height, to.up.down, margin_y, to.height) / (8 * to.v) + 1);
  }
  packed.mcu_x = begin_x;
  packed.mcu_y = begin_y;
  packed.mcus_across = static_cast<int>(end_x - begin_x);
  packed.mcus_down = static_cast<int>(end_y - begin_y);
}

bool Packer::plan() {
  for (size_t c = 0; c < static_cast<size_t>(header_.components); ++c) {
    const Component& component = header_.component[c];
    const kernels::JpegDcTable* dc = dc_table(header_.dc[component.dc]);
    const kernels::JpegAcTable* ac = ac_table(header_.ac[component.ac], true);
    if (!dc || !ac) return false;
    for (int i = 0; i < component.h * component.v; ++i) {
      kernels::JpegMcuBlock& block = blocks_[block_count_++];
      block.dc = dc;
      block.ac = ac;
      block.predictor = &predictors_[c];
      block.wanted = static_cast<int>(c) < packed_.components;
    }
  }
  return true;
}

void Packer::reserve() {
  size_t per_mcu = 0;
  for (int c = 0; c < packed_.components; ++c) {
    const PackedJpegComponent& component = packed_.component[static_cast<size_t>(c)];
    per_mcu += static_cast<size_t>(component.h * component.v);
  }
  const size_t blocks =
      per_mcu * static_cast<size_t>(packed_.mcus_across) * static_cast<size_t>(packed_.mcus_down);
  // A unit takes at least two bits of the file, except for a block's DC and its runs of zeros.
  // Missing bits are detected after an MCU is read, so one MCU may be read from zeros at the end of
  // the file.
  const size_t units =
      std::min(blocks * kernels::kJpegMaxUnits, 5 * blocks + 4 * header_.scan.size()) +
      kernels::kJpegMaxBlocksPerMcu * kernels::kJpegMaxUnits;
  packing_.bases = static_cast<uint32_t*>(
      scratch_.allocate((blocks / kernels::kJpegBlocksPerBase + 1) * sizeof(uint32_t)));
  packing_.starts = static_cast<uint16_t*>(scratch_.allocate((blocks + 1) * sizeof(uint16_t)));
  packing_.begin = packing_.end =
      static_cast<kernels::JpegUnit*>(scratch_.allocate(units * sizeof(kernels::JpegUnit)));
}

// Where a block after the last one would begin.
void Packer::finish() {
  const auto end = static_cast<uint32_t>(packing_.end - packing_.begin);
  const size_t base = packing_.blocks / kernels::kJpegBlocksPerBase;
  if (packing_.blocks % kernels::kJpegBlocksPerBase == 0) packing_.bases[base] = end;
  packing_.starts[packing_.blocks] = static_cast<uint16_t>(end - packing_.bases[base]);
  packed_.bases = {packing_.bases, base + 1};
  packed_.starts = {packing_.starts, packing_.blocks + 1};
  packed_.units = {packing_.begin, end};
}

}  // namespace
}  // namespace jpeg

namespace {

// Determines the pixels to decode. Returns false if the built-in decoder cannot decode them.
bool read(Bytes bytes, const ImageInfo& info, const DecodeOptions& options, ScratchMemory& scratch,
          PackedJpeg& packed, jpeg::Header& header) {
  if (info.format != ImageFormat::kJpeg || options.dtype != DType::kUInt8 || options.fast_idct ||
      info.cmyk || options.type == ImageType::kYCbCr || options.scale != 1 ||
      jpeg::active_choice() != jpeg::Choice::kOwn)
    return false;
  const PixelTarget target(info, options, nullptr, 0, scratch);
  packed = {.region = target.region(),
            .transpose = target.transposes(),
            .flip_rows = target.flips_rows(),
            .flip_columns = target.flips_columns(),
            .bgr = options.type == ImageType::kBGR,
            .channels = decoded_shape(info, options.type, false).channels};
  if (packed.region.height == 0 || packed.region.width == 0) return false;
  if (!read_header(bytes, header) || header.several_scans) return false;
  const bool gray = packed.channels == 1;
  if (header.width != info.width || header.height != info.height ||
      header.components != info.channels || (header.rgb && gray))
    return false;
  packed.components = gray ? 1 : header.components;
  packed.picture_width = header.width;
  packed.picture_height = header.height;
  packed.rgb = header.rgb;
  return true;
}

}  // namespace

bool pack_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
               ScratchMemory& scratch, PackedJpeg& packed) {
  jpeg::Header header;
  if (!read(bytes, info, options, scratch, packed, header)) return false;
  jpeg::describe(header, packed);
  const bool part = packed.region.width < header.width || packed.region.height < header.height;
  return jpeg::read_with_index(
      bytes, header, part, options.jpeg_index, scratch,
      [&](jpeg::SeekPoints* seek) { return jpeg::Packer(header, packed, scratch, seek).run(); });
}

bool describe_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                   ScratchMemory& scratch, PackedJpeg& packed) {
  jpeg::Header header;
  return read(bytes, info, options, scratch, packed, header) && !packed.rgb && !packed.transpose &&
         !packed.flip_rows && !packed.flip_columns &&
         (packed.channels == 1 ? options.type == ImageType::kGray : packed.components == 3);
}

}  // namespace torchdali::io
