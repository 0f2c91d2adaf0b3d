// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/scan/several_scans.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "io/jpeg_decoder/planes.h"
#include "io/jpeg_decoder/scan/scan_segments.h"
#include "io/jpeg_decoder/tables.h"
#include "kernels/jpeg/jpeg_progressive.h"

namespace torchdali::io::jpeg {
namespace {

// As for libjpeg-turbo (io/formats/jpeg.cpp): files with more would be a denial of service.
constexpr int kMaxScans = 500;
constexpr int8_t kUnknown = -1;

// The coefficients of one component.
struct Store {
  int blocks_across, blocks_down;  // that the picture has
  int64_t groups;                  // in a row, with the padding of the last MCU
  int16_t* coefficients;
  uint64_t* present;        // as in JpegBlockRow; of sequential files, whether there is AC
  uint8_t* last = nullptr;  // as in JpegMcuBlock, of one row of MCUs; of sequential files
  std::array<int8_t, 64> bits_known;  // down to which bit each coefficient is known
  bool has_quant = false;
  std::array<int16_t, 64> quant;  // as of its first scan

  kernels::JpegBlockRow row(int64_t y) const {
    return {coefficients + y * groups * kernels::kJpegGroupSize,
            present + y * groups * kernels::kJpegGroup};
  }
};

class SeveralScans {
 public:
  SeveralScans(Bytes bytes, Header& header, ScratchMemory& scratch)
      : bytes_(bytes),
        header_(header),
        scratch_(scratch),
        mcus_per_row_(divide_up(header.width, 8 * header.max_h)),
        mcu_rows_(divide_up(header.height, 8 * header.max_v)) {}

  bool make_stores();
  bool read_scans();
  void write(PixelModel model, int scale, PixelTarget& target);

 private:
  bool begin_scan();
  bool scan(ScanSegments& source);
  bool scan_band(ScanSegments& source);
  bool scan_dc(ScanSegments& source);
  bool scan_blocks(ScanSegments& source);
  void describe_mcu();
  template <class DecodeRow>
  bool read_rows(ScanSegments& source, int rows, int per_row, DecodeRow&& decode);

  Bytes bytes_;
  Header& header_;
  ScratchMemory& scratch_;
  const int mcus_per_row_, mcu_rows_;
  std::array<Store, 3> stores_;
  // Of the current scan.
  std::array<int, 3> predictors_;
  kernels::JpegBand band_;
  struct Place {
    uint8_t component;
    int row, rows;  // of blocks in an MCU
  };
  struct Mcu {
    int rows, per_row;
    size_t count = 0;
    std::array<kernels::JpegMcuBlock, kernels::kJpegMaxBlocksPerMcu> blocks = {};
    std::array<Place, kernels::kJpegMaxBlocksPerMcu> places = {};
  } mcu_;
  kernels::JpegBlockRow row_of(const Place& place, int mcu_row) const {
    return stores_[place.component].row(int64_t{mcu_row} * place.rows + place.row);
  }
};

bool SeveralScans::make_stores() {
  int64_t total = 0;
  for (int c = 0; c < header_.components; ++c) {
    const Component& component = header_.component[c];
    Store& s = stores_[c];
    s.blocks_across = divide_up(divide_up(header_.width * component.h, header_.max_h), 8);
    s.blocks_down = divide_up(divide_up(header_.height * component.v, header_.max_v), 8);
    s.groups = divide_up(mcus_per_row_ * component.h, kernels::kJpegGroup);
    s.bits_known.fill(kUnknown);
    total += int64_t{mcus_per_row_} * component.h * mcu_rows_ * component.v;
  }
  // Every block has a DC code of at least one bit. Larger pictures cannot be in the file and must
  // not take memory.
  if (total > static_cast<int64_t>(bytes_.size()) * 8) return false;
  for (int c = 0; c < header_.components; ++c) {
    Store& s = stores_[c];
    const auto blocks =
        static_cast<size_t>(s.groups * kernels::kJpegGroup * mcu_rows_ * header_.component[c].v);
    const size_t bytes = blocks * 64 * sizeof(int16_t);
    s.coefficients = static_cast<int16_t*>(scratch_.allocate(bytes));
    std::memset(s.coefficients, 0, bytes);
    s.present = static_cast<uint64_t*>(scratch_.allocate(blocks * sizeof(uint64_t)));
    std::memset(s.present, 0, blocks * sizeof(uint64_t));
    if (!header_.progressive)
      s.last = static_cast<uint8_t*>(scratch_.allocate(blocks / static_cast<size_t>(mcu_rows_)));
  }
  return true;
}

// Coefficients come from their highest bits down, DC first, and nothing comes twice.
bool SeveralScans::begin_scan() {
  const Scan& scan = header_.scan_kind;
  for (int i = 0; i < scan.components; ++i) {
    const Component& component = header_.component[scan.component[i]];
    Store& s = stores_[scan.component[i]];
    if (scan.first > 0 && s.bits_known[0] == kUnknown) return false;
    const int expected = scan.high ? scan.high : kUnknown;
    for (int k = scan.first; k <= scan.last; ++k) {
      if (s.bits_known[k] != expected) return false;
      s.bits_known[k] = static_cast<int8_t>(scan.low);
    }
    if (!s.has_quant) s.quant = header_.quant[component.quant];
    s.has_quant = true;
  }
  return true;
}

// Calls decode(row, begin, end) for parts of rows of MCUs.
template <class DecodeRow>
bool SeveralScans::read_rows(ScanSegments& source, int rows, int per_row, DecodeRow&& decode) {
  const int interval = header_.restart_interval;
  int to_restart = interval, restarts = 0;
  for (int row = 0; row < rows; ++row) {
    for (int at = 0; at < per_row;) {
      if (interval && to_restart == 0) {
        if (!source.restart(restarts++ % 8)) return false;
        to_restart = interval;
        predictors_ = {};
        band_.run = 0;
      }
      const int end = interval ? std::min(per_row, at + to_restart) : per_row;
      const int next = decode(row, at, end);
      if (next < 0 || !source.sound()) return false;
      if (interval) to_restart -= next - at;
      at = next;
    }
  }
  return true;
}

// The blocks of an MCU of the current scan. The MCUs of a single component are its blocks (T.81,
// A.2.2).
void SeveralScans::describe_mcu() {
  const Scan& scan = header_.scan_kind;
  const bool single = scan.components == 1;
  mcu_ = {.rows = single ? stores_[scan.component[0]].blocks_down : mcu_rows_,
          .per_row = single ? stores_[scan.component[0]].blocks_across : mcus_per_row_};
  for (int i = 0; i < scan.components; ++i) {
    const uint8_t c = scan.component[i];
    const Component& component = header_.component[c];
    const int across = single ? 1 : component.h, down = single ? 1 : component.v;
    for (int k = 0; k < across * down; ++k) {
      mcu_.places[mcu_.count] = {.component = c, .row = k / across, .rows = down};
      mcu_.blocks[mcu_.count++] = {.predictor = &predictors_[static_cast<size_t>(i)],
                                   .per_mcu = across,
                                   .column = k % across};
    }
  }
}

bool SeveralScans::scan_band(ScanSegments& source) {
  const Scan& scan = header_.scan_kind;
  const size_t only = scan.component[0];
  const Store& s = stores_[only];
  band_ = {.table = band_table(header_.ac[header_.component[only].ac]),
           .first = scan.first,
           .last = scan.last,
           .low = scan.low};
  if (!band_.table) return false;
  const auto decode = scan.high ? kernels::refine_jpeg_band : kernels::decode_jpeg_band;
  return read_rows(source, s.blocks_down, s.blocks_across, [&](int row, int begin, int end) {
    return decode(source.bits(), band_, s.row(row), begin, end, source.limit());
  });
}

bool SeveralScans::scan_dc(ScanSegments& source) {
  const Scan& scan = header_.scan_kind;
  describe_mcu();
  for (size_t b = 0; b < mcu_.count && !scan.high; ++b) {
    const Component& component = header_.component[mcu_.places[b].component];
    mcu_.blocks[b].dc = dc_table(header_.dc[component.dc]);
    if (!mcu_.blocks[b].dc) return false;
  }
  const auto decode = scan.high ? kernels::refine_jpeg_dc : kernels::decode_jpeg_dc;
  return read_rows(source, mcu_.rows, mcu_.per_row, [&](int row, int begin, int end) {
    for (size_t b = 0; b < mcu_.count; ++b)
      mcu_.blocks[b].coefficients = row_of(mcu_.places[b], row).coefficients;
    return decode(source.bits(), {mcu_.blocks.data(), mcu_.count}, scan.low, begin, end,
                  source.limit());
  });
}

// Decodes whole blocks of a sequential file.
bool SeveralScans::scan_blocks(ScanSegments& source) {
  describe_mcu();
  for (size_t b = 0; b < mcu_.count; ++b) {
    const Place& place = mcu_.places[b];
    const Component& component = header_.component[place.component];
    const Store& s = stores_[place.component];
    const int64_t blocks = s.groups * kernels::kJpegGroup;
    kernels::JpegMcuBlock& block = mcu_.blocks[b];
    block.dc = dc_table(header_.dc[component.dc]);
    block.ac = ac_table(header_.ac[component.ac], false);
    if (!block.dc || !block.ac) return false;
    block.last = s.last + place.row * blocks;
    block.wanted = static_cast<int>(blocks);
  }
  return read_rows(source, mcu_.rows, mcu_.per_row, [&](int row, int begin, int end) {
    for (size_t b = 0; b < mcu_.count; ++b)
      mcu_.blocks[b].coefficients = row_of(mcu_.places[b], row).coefficients;
    const int next = kernels::decode_jpeg_mcus(source.bits(), {mcu_.blocks.data(), mcu_.count},
                                               begin, end, source.limit());
    for (size_t b = 0; b < mcu_.count; ++b) {
      const kernels::JpegMcuBlock& block = mcu_.blocks[b];
      uint64_t* present = row_of(mcu_.places[b], row).present;
      for (int mcu = begin; mcu < next; ++mcu) {
        const int at = mcu * block.per_mcu + block.column;
        present[at] = block.last[at] != 0;
      }
    }
    return next;
  });
}

bool SeveralScans::scan(ScanSegments& source) {
  predictors_ = {};
  if (!header_.progressive) return scan_blocks(source);
  return header_.scan_kind.first > 0 ? scan_band(source) : scan_dc(source);
}

bool SeveralScans::read_scans() {
  ScanSegments source(bytes_.size(), scratch_);
  for (int number = 1;; ++number) {
    if (number > kMaxScans || !begin_scan()) return false;
    source.start(header_.scan);
    Bytes rest;
    if (!scan(source) || !source.finish(rest)) return false;
    const Next next = read_next(rest, header_);
    if (next == Next::kOdd) return false;
    if (next == Next::kEnd) break;
  }
  // libjpeg-turbo smooths incomplete pictures, so it decodes them.
  return std::all_of(stores_.begin(), stores_.begin() + header_.components, [](const Store& s) {
    return std::all_of(s.bits_known.begin(), s.bits_known.end(), [](int b) { return b == 0; });
  });
}

void SeveralScans::write(PixelModel model, int scale, PixelTarget& target) {
  Planes planes(header_, model, scale, true, target);
  for (int mcu_row = planes.first_mcu_row(); mcu_row <= planes.last_mcu_row(); ++mcu_row) {
    for (size_t c = 0; c < planes.size(); ++c) {
      const Store& s = stores_[c];
      const int v = header_.component[c].v;
      for (int row = 0; row < v; ++row) {
        const kernels::JpegBlockRow blocks = s.row(int64_t{mcu_row} * v + row);
        planes[c].transform_stored(mcu_row, row, s.quant.data(), blocks.coefficients,
                                   blocks.present);
      }
    }
    planes.write(mcu_row);
  }
}

}  // namespace

bool decode_several_scans(Bytes bytes, Header& header, PixelModel model, int scale,
                          PixelTarget& target) {
  SeveralScans file(bytes, header, target.scratch());
  if (!file.make_stores() || !file.read_scans()) return false;
  file.write(model, scale, target);
  return true;
}

}  // namespace torchdali::io::jpeg
