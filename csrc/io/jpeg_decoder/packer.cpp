// SPDX-License-Identifier: Apache-2.0
// Reads the codes of a JPEG and packs the coefficients. (decoder.cpp computes pixels from them.)
#include <algorithm>
#include <array>

#include "io/jpeg_decoder/header.h"
#include "io/jpeg_decoder/picture.h"
#include "io/jpeg_decoder/scan/scan_reader.h"
#include "io/jpeg_decoder/tables.h"
#include "io/packed_jpeg.h"

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
  // After run(): reads the codes after the region, as far as they are valid, for their points.
  void note_rest() {
    const int end = mcus_per_row() - 1;
    packed_all_ = true;
    (void)read_row(divide_up(header_.height, 8 * header_.max_v) - 1, end, end);
  }

 private:
  bool plan();
  void reserve();
  void begin_row(int mcu_row) override {
    wanted_ = !packed_all_ && mcu_row >= packed_.mcu_y ? packed_.mcus_across : 0;
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
  bool packed_all_ = false;
  kernels::JpegPacking packing_;
};

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

bool pack_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
               ScratchMemory& scratch, PackedJpeg& packed) {
  jpeg::Header header;
  if (!jpeg::read_picture(bytes, info, options, scratch, packed, header)) return false;
  jpeg::describe_mcus(header, packed);
  const bool part = packed.region.width < header.width || packed.region.height < header.height;
  return jpeg::read_with_index(bytes, header, part || options.all_points, options.jpeg_index,
                               scratch, [&](jpeg::SeekPoints* seek) {
                                 jpeg::Packer packer(header, packed, scratch, seek);
                                 if (!packer.run()) return false;
                                 if (options.all_points && seek != nullptr) packer.note_rest();
                                 return true;
                               });
}

bool describe_jpeg(Bytes bytes, const ImageInfo& info, const DecodeOptions& options,
                   ScratchMemory& scratch, PackedJpeg& packed) {
  jpeg::Header header;
  return jpeg::read_picture(bytes, info, options, scratch, packed, header) && !packed.rgb &&
         !packed.transpose && !packed.flip_rows && !packed.flip_columns &&
         (packed.channels == 1 ? options.type == ImageType::kGray : packed.components == 3);
}

}  // namespace torchdali::io
