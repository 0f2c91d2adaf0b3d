// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/decoder.h"

#include <algorithm>
#include <array>
#include <vector>

#include "io/jpeg_decoder/header.h"
#include "io/jpeg_decoder/plane.h"
#include "io/jpeg_decoder/scan_bytes.h"
#include "io/jpeg_decoder/tables.h"

namespace torchdali::io::jpeg {
namespace {

class Decoder {
 public:
  Decoder(const Header& header, PixelModel model, PixelTarget& target)
      : header_(header),
        bgr_(model == PixelModel::kBGR),
        target_(target),
        source_(header.scan, target.scratch()),
        mcus_per_row_(divide_up(header.width, 8 * header.max_h)),
        to_restart_(header.restart_interval),
        line_(static_cast<uint8_t*>(
            target.scratch().allocate(static_cast<size_t>(target.region().width) * 3))) {
    const int planes = model == PixelModel::kGray ? 1 : header.components;
    planes_.reserve(static_cast<size_t>(planes));
    for (int c = 0; c < planes; ++c)
      planes_.emplace_back(header, c, target.region(), target.scratch());
  }

  bool run();

 private:
  bool plan();
  bool restart();
  bool decode_row(int mcu_row);
  void write(int64_t end);

  const Header& header_;
  const bool bgr_;
  PixelTarget& target_;
  ScanBytes source_;
  std::vector<Plane> planes_;  // of the components that become pixels

  // Blocks of one MCU. Beside each: whose it is, null where nobody wants it, and its row there.
  std::array<kernels::JpegMcuBlock, kernels::kJpegMaxBlocksPerMcu> blocks_;
  struct Place {
    const Plane* plane;
    int row;
  };
  std::array<Place, kernels::kJpegMaxBlocksPerMcu> places_;
  size_t block_count_ = 0;

  std::array<int, 3> predictors_ = {};
  const int mcus_per_row_;
  int to_restart_, restarts_ = 0;
  int64_t written_ = 0;  // rows of the region
  uint8_t* line_;        // a row of pixels that cannot be made in place
};

bool Decoder::plan() {
  const Region& region = target_.region();
  const bool whole = region.width == header_.width && region.height == header_.height;
  for (size_t c = 0; c < static_cast<size_t>(header_.components); ++c) {
    const Component& component = header_.component[c];
    const kernels::JpegDcTable* dc = dc_table(header_.dc[component.dc]);
    const kernels::JpegAcTable* ac = ac_table(header_.ac[component.ac], !whole);
    if (!dc || !ac) return false;
    const Plane* plane = c < planes_.size() ? &planes_[c] : nullptr;
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

bool Decoder::restart() {
  if (!source_.restart(restarts_++ % 8)) return false;
  predictors_ = {};
  to_restart_ = header_.restart_interval;
  return true;
}

bool Decoder::decode_row(int mcu_row) {
  for (size_t i = 0; i < block_count_; ++i) {
    const auto [plane, row] = places_[i];
    blocks_[i].wanted = plane ? plane->wanted(mcu_row, row) : 0;
  }
  const bool restarts = header_.restart_interval > 0;
  for (int at = 0; at < mcus_per_row_;) {
    if (restarts && to_restart_ == 0 && !restart()) return false;
    if (!source_.prepare()) return false;
    const int end = restarts ? std::min(mcus_per_row_, at + to_restart_) : mcus_per_row_;
    const int next = kernels::decode_jpeg_mcus(source_.bits(), {blocks_.data(), block_count_}, at,
                                               end, source_.limit());
    if (next < 0) return false;
    to_restart_ -= restarts ? next - at : 0;
    at = next;
  }
  // Before any of it becomes a pixel: were all these bits there?
  return source_.prepare();
}

// Rows of the region before row `end` of the picture.
void Decoder::write(int64_t end) {
  const Region& region = target_.region();
  for (; written_ < region.height && region.y + written_ < end; ++written_) {
    std::array<const uint8_t*, 3> rows = {};
    for (size_t c = 0; c < planes_.size(); ++c) rows[c] = planes_[c].row(region.y + written_);
    if (planes_.size() == 1) {
      target_.write(written_, rows[0]);
      continue;
    }
    void* direct = target_.direct(written_);
    auto* out = direct ? static_cast<uint8_t*>(direct) : line_;
    (header_.rgb ? kernels::jpeg_planes_to_rgb : kernels::jpeg_ycc_to_rgb)(
        rows[0], rows[1], rows[2], region.width, bgr_, out);
    if (!direct) target_.write(written_, out);
  }
}

bool Decoder::run() {
  if (!plan()) return false;
  const Region& region = target_.region();
  int first = planes_[0].first_mcu_row(), last = planes_[0].last_mcu_row();
  bool context = false;
  for (const Plane& plane : planes_) {
    first = std::min(first, plane.first_mcu_row());
    last = std::max(last, plane.last_mcu_row());
    context = context || plane.has_context();
  }
  for (int mcu_row = 0; mcu_row <= last; ++mcu_row) {
    if (!decode_row(mcu_row)) return false;
    if (mcu_row < first) continue;
    for (size_t c = 0; c < planes_.size(); ++c)
      planes_[c].transform(mcu_row, header_.quant[header_.component[c].quant].data());
    // The last row of an MCU row waits for the samples below it.
    const int64_t rows = int64_t{mcu_row + 1} * header_.max_v * 8;
    write(mcu_row == last ? region.y + region.height : rows - (context ? 1 : 0));
    if (context && mcu_row < last)
      for (Plane& plane : planes_) plane.keep_context();
  }
  return true;
}

}  // namespace

bool decode(Bytes bytes, const ImageInfo& info, PixelModel model, PixelTarget& target) {
  Header header;
  if (!read_header(bytes, header)) return false;
  if (header.width != info.width || header.height != info.height ||
      header.components != info.channels)
    return false;
  // What libjpeg makes of it is another formula.
  if (header.rgb && model == PixelModel::kGray) return false;
  return Decoder(header, model, target).run();
}

}  // namespace torchdali::io::jpeg
