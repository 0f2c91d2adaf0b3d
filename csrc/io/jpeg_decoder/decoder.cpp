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

// Whether nearly all codes become pixels, so that two streams of them are worth decoding in turn.
bool uses_all_codes(const Header& header, PixelModel model, int scale) {
  return (model != PixelModel::kGray || header.components == 1) && scale < 8;
}

// Whether two rows of one image may be decoded in turn.
bool pairs_rows(const Header& header, PixelModel model, int scale) {
  return uses_all_codes(header, model, scale) && header.restart_interval == 0;
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
        mcu_row_(planes_.first_mcu_row()),
        first_column_(mcus_per_row() - 1) {
    for (size_t c = 0; c < planes_.size(); ++c) {
      first_column_ = std::min(first_column_, planes_[c].first_mcu_column());
      last_column_ = std::max(last_column_, planes_[c].last_mcu_column());
    }
  }

  // Each returns false if anything is broken.
  bool run() { return plan() && run_rows(); }
  bool begin();
  // After begin(), while neither is_done(): both, until one of them is.
  static void run_two(Decoder& a, Decoder& b);
  bool is_done() const { return !more_; }
  // After begin(): the rest.
  bool finish();
  void fail() { good_ = more_ = false; }

 private:
  using Blocks = std::array<kernels::JpegMcuBlock, kernels::kJpegMaxBlocksPerMcu>;
  // What reads the second row of a pair.
  struct Second {
    ScanBytes source;
    std::array<int, 3> predictors = {};
    Blocks blocks = {};
  };

  bool plan();
  bool run_rows();
  void begin_row(int mcu_row) override { set_wanted(mcu_row, blocks_); }
  int read_mcus(int begin, int end) override {
    return kernels::decode_jpeg_mcus(source_.bits(), blocks(), begin, end, source_.limit());
  }
  std::span<const kernels::JpegMcuBlock> blocks() const { return {blocks_.data(), block_count_}; }
  void set_wanted(int mcu_row, Blocks& blocks) const;
  bool can_pair(int mcu_row) const;
  bool read_pair(int mcu_row);
  bool read_to(int end, kernels::JpegLane& lane, ScanBytes& source) const;
  bool next_lane();
  void finish_row(int mcu_row, int half);

  const Bytes scan_;
  ScratchMemory& scratch_;
  Planes planes_;
  const bool skips_;  // some blocks are outside the region
  const bool pairs_rows_;
  int mcu_row_;  // that is being read
  bool good_ = true, complete_ = false;
  bool more_ = false;  // lane_ describes MCUs

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
  kernels::JpegLane lane_;
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

// Reads the rest of a lane, up to column `end`.
bool Decoder::read_to(int end, kernels::JpegLane& lane, ScanBytes& source) const {
  if (!kernels::finish_jpeg_mcu(lane)) return false;
  while (lane.mcu < end) {
    if (!source.prepare()) return false;
    lane.mcu = kernels::decode_jpeg_mcus(source.bits(), lane.blocks, lane.mcu, end, source.limit());
    if (lane.mcu < 0) return false;
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
  const int end = last_column_ + 1;
  kernels::JpegLane a{
      .bits = &source_.bits(), .blocks = blocks(), .mcu = first_column_, .end = end};
  kernels::JpegLane b{.bits = &source.bits(),
                      .blocks = {second_->blocks.data(), block_count_},
                      .mcu = first_column_,
                      .end = end};
  if (!seek_row(mcu_row, a.mcu, source_, predictors_)) return false;
  if (!seek_row(mcu_row + 1, b.mcu, source, second_->predictors)) return false;
  set_wanted(mcu_row, blocks_);
  set_wanted(mcu_row + 1, second_->blocks);
  // What is before the region is skipped, which is faster than decoding two.
  if (!read_to(first_column_, a, source_) || !read_to(first_column_, b, source)) return false;
  while ((a.inside || a.mcu < end) && (b.inside || b.mcu < end)) {
    if ((!a.inside && !source_.prepare()) || (!b.inside && !source.prepare())) return false;
    a.limit = source_.limit();
    b.limit = source.limit();
    if (!kernels::decode_jpeg_lanes(a, b)) return false;
  }
  return read_to(end, a, source_) && read_to(end, b, source) && source_.prepare() &&
         source.prepare();
}

void Decoder::finish_row(int mcu_row, int half) {
  for (size_t c = 0; c < planes_.size(); ++c)
    planes_[c].transform(mcu_row, half, header_.quant[header_.component[c].quant].data());
  planes_.write(mcu_row);
}

bool Decoder::run_rows() {
  const int last = planes_.last_mcu_row();
  for (; mcu_row_ <= last; ++mcu_row_) {
    if (can_pair(mcu_row_)) {
      if (!read_pair(mcu_row_)) return false;
      finish_row(mcu_row_++, 0);
      finish_row(mcu_row_, 1);
    } else {
      if (!read_row(mcu_row_, first_column_, last_column_)) return false;
      finish_row(mcu_row_, 0);
    }
  }
  return true;
}

bool Decoder::begin() {
  if (!plan()) return false;
  start_row(mcu_row_, first_column_, last_column_);
  more_ = next_lane();
  return good_;
}

// Has lane_ describe the next MCUs: either all are outside of the region, or within its columns.
// Returns false after the last row, or if the codes are broken.
bool Decoder::next_lane() {
  while (!has_part()) {
    good_ = !is_broken();
    if (!good_) return false;
    finish_row(mcu_row_, 0);
    complete_ = mcu_row_ == planes_.last_mcu_row();
    if (complete_) return false;
    start_row(++mcu_row_, first_column_, last_column_);
  }
  const auto is_wanted = [](const kernels::JpegMcuBlock& block) { return block.wanted > 0; };
  const auto wanted = blocks();
  const bool skips_row = std::none_of(wanted.begin(), wanted.end(), is_wanted);
  lane_ = {.bits = &source_.bits(),
           .blocks = wanted,
           .mcu = column(),
           .end = part_end(),
           .limit = source_.limit(),
           .skips = skips_row || column() < first_column_ || column() > last_column_};
  if (skips_row) return true;
  if (column() < first_column_) lane_.end = std::min(lane_.end, first_column_);
  else if (column() <= last_column_) lane_.end = std::min(lane_.end, last_column_ + 1);
  return true;
}

bool Decoder::finish() {
  if (complete_ || !good_) return good_;
  if (!kernels::finish_jpeg_mcu(lane_)) return false;
  read(lane_.mcu);
  if (!read_parts()) return false;
  finish_row(mcu_row_++, 0);
  return run_rows();
}

void Decoder::run_two(Decoder& a, Decoder& b) {
  while (a.more_ && b.more_) {
    if (!kernels::decode_jpeg_lanes(a.lane_, b.lane_)) {
      // Which of them is broken, and where the other one has stopped, is not known.
      a.fail();
      b.fail();
    }
    for (Decoder* d : {&a, &b}) {
      if (!d->more_ || !d->lane_.is_done()) continue;
      d->read(d->lane_.mcu);
      d->more_ = d->next_lane();
    }
  }
}

// Whether this decoder decodes the file.
bool can_decode(const Header& header, const ImageInfo& info, PixelModel model) {
  return header.width == info.width && header.height == info.height &&
         header.components == info.channels &&
         // libjpeg uses another formula for these.
         !(header.rgb && model == PixelModel::kGray);
}

class OneOfTwo final : public PairableDecode {
 public:
  OneOfTwo(Bytes bytes, const Header& header, PixelModel model, int scale,
           const PixelTarget& target, Index* index)
      : target_(target),
        header_(header),
        points_(bytes, header_, true, index, target_.scratch()),
        decoder_(header_, model, scale, target_, points_.points()) {}
  // Returns false if anything is broken.
  bool begin() { return decoder_.begin(); }
  bool is_done() const override { return decoder_.is_done(); }
  void run_with(PairableDecode& other) override {
    auto& second = dynamic_cast<OneOfTwo&>(other);
    try {
      Decoder::run_two(decoder_, second.decoder_);
    } catch (const Error&) {  // of memory
      decoder_.fail();
      second.decoder_.fail();
    }
  }
  bool finish() override {
    if (!decoder_.finish()) return false;
    points_.store();
    return true;
  }

 private:
  PixelTarget target_;
  const Header header_;
  IndexedPoints points_;
  Decoder decoder_;
};

}  // namespace

bool decode(Bytes bytes, const ImageInfo& info, PixelModel model, int scale, PixelTarget& target,
            Index* index) {
  Header header;
  if (!read_header(bytes, header) || !can_decode(header, info, model)) return false;
  if (header.several_scans) return decode_several_scans(bytes, header, model, scale, target);
  const bool useful = is_part(header, scale, target) || pairs_rows(header, model, scale);
  return read_with_index(bytes, header, useful, index, target.scratch(), [&](SeekPoints* seek) {
    return Decoder(header, model, scale, target, seek).run();
  });
}

std::unique_ptr<PairableDecode> prepare_decode(Bytes bytes, const ImageInfo& info, PixelModel model,
                                               int scale, const PixelTarget& target, Index* index) {
  Header header;
  if (!read_header(bytes, header) || !can_decode(header, info, model) || header.several_scans ||
      !uses_all_codes(header, model, scale))
    return nullptr;
  auto decode = std::make_unique<OneOfTwo>(bytes, header, model, scale, target, index);
  if (!decode->begin()) return nullptr;
  return decode;
}

}  // namespace torchdali::io::jpeg
