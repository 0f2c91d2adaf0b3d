// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/planes.h"

#include <algorithm>
#include <array>

namespace torchdali::io::jpeg {

Planes::Planes(const Header& header, PixelModel model, int scale, bool stored, PixelTarget& target)
    : header_(header),
      bgr_(model == PixelModel::kBGR),
      rows_per_mcu_(header.max_v * (8 / scale)),
      target_(target),
      line_(static_cast<uint8_t*>(
          target.scratch().allocate(static_cast<size_t>(target.region().width) * 3))) {
  const int planes = model == PixelModel::kGray ? 1 : header.components;
  planes_.reserve(static_cast<size_t>(planes));
  for (int c = 0; c < planes; ++c)
    planes_.emplace_back(header, c, scale, stored, target.region(), target.scratch());
  first_ = planes_[0].first_mcu_row();
  last_ = planes_[0].last_mcu_row();
  for (const Plane& plane : planes_) {
    first_ = std::min(first_, plane.first_mcu_row());
    last_ = std::max(last_, plane.last_mcu_row());
    context_ = context_ || plane.has_context();
  }
}

void Planes::write(int mcu_row) {
  const Region& region = target_.region();
  // The last row of an MCU row waits for the samples below it.
  const int64_t end = mcu_row == last_ ? region.y + region.height
                                       : int64_t{mcu_row + 1} * rows_per_mcu_ - (context_ ? 1 : 0);
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
  if (context_ && mcu_row < last_)
    for (Plane& plane : planes_) plane.keep_context();
}

}  // namespace torchdali::io::jpeg
