// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/decoder.h"

#include <algorithm>
#include <array>

#include "io/jpeg_decoder/header.h"
#include "io/jpeg_decoder/planes.h"
#include "io/jpeg_decoder/scan/scan_reader.h"
#include "io/jpeg_decoder/scan/several_scans.h"
#include "io/jpeg_decoder/tables.h"

namespace torchdali::io::jpeg {
namespace {

bool is_part(const Header& header, int scale, const PixelTarget& target) {
  return target.region().width < divide_up(header.width, scale) ||
         target.region().height < divide_up(header.height, scale);
}

class Decoder final : public ScanReader {
 public:
  Decoder(const Header& header, PixelModel model, int scale, PixelTarget& target, SeekPoints* seek)
      : ScanReader(header, target.scratch(), seek),
        planes_(header, model, scale, false, target),
        skips_(is_part(header, scale, target)),
        first_column_(mcus_per_row() - 1) {
    for (size_t c = 0; c < planes_.size(); ++c) {
      first_column_ = std::min(first_column_, planes_[c].first_mcu_column());
      last_column_ = std::max(last_column_, planes_[c].last_mcu_column());
    }
  }

  bool run();

 private:
  bool plan();
  void begin_row(int mcu_row) override;
  int read_mcus(int begin, int end) override {
    return kernels::decode_jpeg_mcus(source_.bits(), {blocks_.data(), block_count_}, begin, end,
                                     source_.limit());
  }

  Planes planes_;
  const bool skips_;  // some blocks are outside the region

  // The blocks of one MCU. For each: its plane, null if it is not needed, and its row in the plane.
  std::array<kernels::JpegMcuBlock, kernels::kJpegMaxBlocksPerMcu> blocks_;
  struct Place {
    const Plane* plane;
    int row;
  };
  std::array<Place, kernels::kJpegMaxBlocksPerMcu> places_;
  size_t block_count_ = 0;
  int first_column_, last_column_ = 0;  // of MCUs that become pixels
};

bool Decoder::plan() {
  for (size_t c = 0; c < static_cast<size_t>(header_.components); ++c) {
    const Component& component = header_.component[c];
    const kernels::JpegDcTable* dc = dc_table(header_.dc[component.dc]);
    const Plane* plane = c < planes_.size() ? &planes_[c] : nullptr;
    const bool skips = skips_ || !plane || plane->dc_only();
    const kernels::JpegAcTable* ac = ac_table(header_.ac[component.ac], skips);
    if (!dc || !ac) return false;
    for (int row = 0; row < component.v; ++row) {
      for (int column = 0; column < component.h; ++column) {
        places_[block_count_] = {plane, row};
        kernels::JpegMcuBlock& block = blocks_[block_count_++];
        block.dc = dc;
        block.ac = ac;
        block.predictor = &predictors_[c];
        if (plane) plane->describe(column, row, block);
      }
    }
  }
  return true;
}

void Decoder::begin_row(int mcu_row) {
  for (size_t i = 0; i < block_count_; ++i) {
    const auto [plane, row] = places_[i];
    blocks_[i].wanted = plane ? plane->wanted(mcu_row, row) : 0;
  }
}

bool Decoder::run() {
  if (!plan()) return false;
  for (int mcu_row = planes_.first_mcu_row(); mcu_row <= planes_.last_mcu_row(); ++mcu_row) {
    if (!read_row(mcu_row, first_column_, last_column_)) return false;
    for (size_t c = 0; c < planes_.size(); ++c)
      planes_[c].transform(mcu_row, header_.quant[header_.component[c].quant].data());
    planes_.write(mcu_row);
  }
  return true;
}

}  // namespace

bool decode(Bytes bytes, const ImageInfo& info, PixelModel model, int scale, PixelTarget& target,
            Index* index) {
  Header header;
  if (!read_header(bytes, header)) return false;
  if (header.width != info.width || header.height != info.height ||
      header.components != info.channels)
    return false;
  // libjpeg uses another formula for these.
  if (header.rgb && model == PixelModel::kGray) return false;
  if (header.several_scans) return decode_several_scans(bytes, header, model, scale, target);
  return read_with_index(
      bytes, header, is_part(header, scale, target), index, target.scratch(),
      [&](SeekPoints* seek) { return Decoder(header, model, scale, target, seek).run(); });
}

}  // namespace torchdali::io::jpeg
