// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/decoder.h"

#include <algorithm>
#include <array>
#include <optional>

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
        model_(model),
        target_(target),
        source_(header.scan, target.scratch()),
        planes_(model == PixelModel::kGray ? 1 : header.components) {
    for (int c = 0; c < planes_; ++c)
      plane_[c].emplace(header, c, target.region(), target.scratch());
  }

  bool run();

 private:
  bool plan();
  bool decode_row(int mcu_row);
  void write(int64_t end);

  const Header& header_;
  PixelModel model_;
  PixelTarget& target_;
  ScanBytes source_;
  int planes_;  // that become pixels
  std::array<std::optional<Plane>, 3> plane_;

  std::array<kernels::JpegMcuBlock, kernels::kJpegMaxBlocksPerMcu> blocks_;
  struct Place {
    int component, row;
  };
  std::array<Place, kernels::kJpegMaxBlocksPerMcu> places_;
  size_t block_count_ = 0;
  std::array<int, 3> predictors_ = {};
  int mcus_ = 0;  // in a row
  int to_restart_ = 0, restarts_ = 0;
  int64_t written_ = 0;  // rows of the region
  uint8_t* line_ = nullptr;
};

bool Decoder::plan() {
  mcus_ = (header_.width + 8 * header_.max_h - 1) / (8 * header_.max_h);
  to_restart_ = header_.restart_interval;
  const Region& region = target_.region();
  const bool whole = region.width == header_.width && region.height == header_.height;
  for (int c = 0; c < header_.components; ++c) {
    const Component& component = header_.component[c];
    const kernels::JpegDcTable* dc = dc_table(header_.dc[component.dc]);
    const kernels::JpegAcTable* ac = ac_table(header_.ac[component.ac], !whole);
    if (!dc || !ac) return false;
    for (int row = 0; row < component.v; ++row) {
      for (int column = 0; column < component.h; ++column) {
        places_[block_count_] = {c, row};
        kernels::JpegMcuBlock& block = blocks_[block_count_++];
        block.dc = dc;
        block.ac = ac;
        block.predictor = &predictors_[c];
        if (c < planes_) plane_[c]->describe(column, row, block);
      }
    }
  }
  return true;
}

bool Decoder::decode_row(int mcu_row) {
  for (size_t i = 0; i < block_count_; ++i) {
    const auto [c, row] = places_[i];
    blocks_[i].wanted = c < planes_ ? plane_[c]->wanted(mcu_row, row) : 0;
  }
  for (int at = 0; at < mcus_;) {
    int end = mcus_;
    if (header_.restart_interval) {
      if (to_restart_ == 0) {
        if (!source_.restart(restarts_++ % 8)) return false;
        predictors_ = {};
        to_restart_ = header_.restart_interval;
      }
      end = std::min(end, at + to_restart_);
    }
    if (!source_.prepare()) return false;
    const int next = kernels::decode_jpeg_mcus(source_.bits(), {blocks_.data(), block_count_}, at,
                                               end, source_.limit());
    if (next < 0) return false;
    to_restart_ -= next - at;
    at = next;
  }
  return source_.prepare();
}

// Rows of the region before row `end` of the picture.
void Decoder::write(int64_t end) {
  const Region& region = target_.region();
  const bool bgr = model_ == PixelModel::kBGR;
  for (; written_ < region.height && region.y + written_ < end; ++written_) {
    const uint8_t* rows[3] = {};
    for (int c = 0; c < planes_; ++c) rows[c] = plane_[c]->row(region.y + written_);
    if (planes_ == 1) {
      target_.write(written_, rows[0]);
      continue;
    }
    void* direct = target_.direct(written_);
    auto* out = direct ? static_cast<uint8_t*>(direct) : line_;
    (header_.rgb ? kernels::jpeg_planes_to_rgb : kernels::jpeg_ycc_to_rgb)(
        rows[0], rows[1], rows[2], region.width, bgr, out);
    if (!direct) target_.write(written_, out);
  }
}

bool Decoder::run() {
  if (!plan()) return false;
  const Region& region = target_.region();
  line_ = static_cast<uint8_t*>(target_.scratch().allocate(static_cast<size_t>(region.width) * 3));
  int first = plane_[0]->first_mcu_row(), last = plane_[0]->last_mcu_row();
  bool context = false;
  for (int c = 0; c < planes_; ++c) {
    first = std::min(first, plane_[c]->first_mcu_row());
    last = std::max(last, plane_[c]->last_mcu_row());
    context = context || plane_[c]->has_context();
  }
  for (int mcu_row = 0; mcu_row <= last; ++mcu_row) {
    if (!decode_row(mcu_row)) return false;
    if (mcu_row < first) continue;
    for (int c = 0; c < planes_; ++c)
      plane_[c]->transform(mcu_row, header_.quant[header_.component[c].quant].data());
    // The last row of an MCU row waits for the samples below it.
    const int64_t rows = int64_t{mcu_row + 1} * header_.max_v * 8;
    write(mcu_row == last ? region.y + region.height : rows - context);
    if (context && mcu_row < last)
      for (int c = 0; c < planes_; ++c) plane_[c]->keep_context();
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
