// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/decoder.h"

#include <algorithm>
#include <array>
#include <optional>

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

// Whether two rows of MCUs may be decoded at the same time: if all of their codes are wanted.
bool pairs_rows(const Header& header, PixelModel model, int scale) {
  const bool all = model != PixelModel::kGray || header.components == 1;
  return header.restart_interval == 0 && all && scale < 8;
}

class Decoder final : public ScanReader {
 public:
  Decoder(const Header& header, PixelModel model, int scale, PixelTarget& target, SeekPoints* seek)
      : ScanReader(header, target.scratch(), seek),
        scan_(header.scan),
        scratch_(target.scratch()),
        planes_(header, model, scale, false, target),
        skips_(is_part(header, scale, target)),
        pairs_rows_(pairs_rows(header, model, scale)),
        first_column_(mcus_per_row() - 1) {
    for (size_t c = 0; c < planes_.size(); ++c) {
      first_column_ = std::min(first_column_, planes_[c].first_mcu_column());
      last_column_ = std::max(last_column_, planes_[c].last_mcu_column());
    }
  }

  bool run();

 private:
  using Blocks = std::array<kernels::JpegMcuBlock, kernels::kJpegMaxBlocksPerMcu>;
  // What reads the second row of a pair.
  struct Second {
    ScanBytes source;
    std::array<int, 3> predictors = {};
    Blocks blocks = {};
  };

  bool plan();
  void begin_row(int mcu_row) override { set_wanted(mcu_row, blocks_); }
  int read_mcus(int begin, int end) override {
    return kernels::decode_jpeg_mcus(source_.bits(), {blocks_.data(), block_count_}, begin, end,
                                     source_.limit());
  }
  void set_wanted(int mcu_row, Blocks& blocks) const;
  bool can_pair(int mcu_row) const;
  bool read_pair(int mcu_row);
  bool read_to(int end, int& column, ScanBytes& source, const Blocks& blocks) const;
  void finish_row(int mcu_row, int half);

  const Bytes scan_;
  ScratchMemory& scratch_;
  Planes planes_;
  const bool skips_;  // some blocks are outside the region
  const bool pairs_rows_;

  // The blocks of one MCU. For each: its plane, null if it is not needed, and its row in the plane.
  Blocks blocks_;
  struct Place {
    const Plane* plane;
    int column, row;
  };
  std::array<Place, kernels::kJpegMaxBlocksPerMcu> places_;
  size_t block_count_ = 0;
  int first_column_, last_column_ = 0;  // of MCUs that become pixels
  std::optional<Second> second_;
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
        places_[block_count_] = {plane, column, row};
        kernels::JpegMcuBlock& block = blocks_[block_count_++];
        block.dc = dc;
        block.ac = ac;
        block.predictor = &predictors_[c];
        if (plane) plane->describe(column, row, 0, block);
      }
    }
  }
  return true;
}

void Decoder::set_wanted(int mcu_row, Blocks& blocks) const {
  for (size_t i = 0; i < block_count_; ++i) {
    const Place& place = places_[i];
    blocks[i].wanted = place.plane ? place.plane->wanted(mcu_row, place.row) : 0;
  }
}

bool Decoder::can_pair(int mcu_row) const {
  return pairs_rows_ && mcu_row < planes_.last_mcu_row() && is_known(mcu_row + 1);
}

// Reads MCUs up to column `end`.
bool Decoder::read_to(int end, int& column, ScanBytes& source, const Blocks& blocks) const {
  while (column < end) {
    if (!source.prepare()) return false;
    column = kernels::decode_jpeg_mcus(source.bits(), {blocks.data(), block_count_}, column, end,
                                       source.limit());
    if (column < 0) return false;
  }
  return true;
}

// Reads a row and the next one, whose points are known, a symbol of each in turn.
bool Decoder::read_pair(int mcu_row) {
  if (!second_) {
    second_.emplace(Second{.source = ScanBytes(scan_, scratch_)});
    second_->source.follow();
    second_->blocks = blocks_;
    for (size_t i = 0; i < block_count_; ++i) {
      const Place& place = places_[i];
      kernels::JpegMcuBlock& block = second_->blocks[i];
      block.predictor = second_->predictors.data() + (blocks_[i].predictor - predictors_.data());
      place.plane->describe(place.column, place.row, 1, block);
    }
  }
  ScanBytes& source = second_->source;
  int a = first_column_, b = first_column_;
  if (!seek_row(mcu_row, a, source_, predictors_)) return false;
  if (!seek_row(mcu_row + 1, b, source, second_->predictors)) return false;
  set_wanted(mcu_row, blocks_);
  set_wanted(mcu_row + 1, second_->blocks);
  // What is before the region is skipped, which is faster than decoding two.
  if (!read_to(first_column_, a, source_, blocks_)) return false;
  if (!read_to(first_column_, b, source, second_->blocks)) return false;
  const int end = last_column_ + 1;
  while (a < end && b < end) {
    if (!source_.prepare() || !source.prepare()) return false;
    kernels::JpegRowPart first{.bits = &source_.bits(),
                               .blocks = {blocks_.data(), block_count_},
                               .next = a,
                               .end = end,
                               .limit = source_.limit()};
    kernels::JpegRowPart second{.bits = &source.bits(),
                                .blocks = {second_->blocks.data(), block_count_},
                                .next = b,
                                .end = end,
                                .limit = source.limit()};
    if (!kernels::decode_two_jpeg_rows(first, second)) return false;
    a = first.next;
    b = second.next;
  }
  return read_to(end, a, source_, blocks_) && read_to(end, b, source, second_->blocks) &&
         source_.prepare() && source.prepare();
}

void Decoder::finish_row(int mcu_row, int half) {
  for (size_t c = 0; c < planes_.size(); ++c)
    planes_[c].transform(mcu_row, half, header_.quant[header_.component[c].quant].data());
  planes_.write(mcu_row);
}

bool Decoder::run() {
  if (!plan()) return false;
  const int last = planes_.last_mcu_row();
  for (int mcu_row = planes_.first_mcu_row(); mcu_row <= last; ++mcu_row) {
    if (can_pair(mcu_row)) {
      if (!read_pair(mcu_row)) return false;
      finish_row(mcu_row, 0);
      finish_row(++mcu_row, 1);
    } else {
      if (!read_row(mcu_row, first_column_, last_column_)) return false;
      finish_row(mcu_row, 0);
    }
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
  const bool useful = is_part(header, scale, target) || pairs_rows(header, model, scale);
  return read_with_index(bytes, header, useful, index, target.scratch(), [&](SeekPoints* seek) {
    return Decoder(header, model, scale, target, seek).run();
  });
}

}  // namespace torchdali::io::jpeg
