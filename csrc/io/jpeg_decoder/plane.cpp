// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/plane.h"

#include <algorithm>
#include <cstring>

#include "kernels/jpeg_idct.h"

namespace torchdali::io::jpeg {
namespace {

// The choices of libjpeg: smooth for factors of two, but not for pictures of a few columns.
kernels::JpegUpsampling choose(int across, int down, int width) {
  const bool smooth = (across == 2 && down <= 2 && width > 2) || (across == 1 && down == 2);
  return {.across = across, .down = down, .smooth = smooth};
}

}  // namespace

Plane::Plane(const Header& header, int component, const Region& region, ScratchMemory& scratch) {
  const Component& c = header.component[static_cast<size_t>(component)];
  h_ = c.h;
  v_ = c.v;
  width_ = divide_up(header.width * h_, header.max_h);
  height_ = divide_up(header.height * v_, header.max_v);
  up_ = choose(header.max_h / h_, header.max_v / v_, width_);

  const auto x = static_cast<int>(region.x), y = static_cast<int>(region.y);
  const auto end_x = static_cast<int>(region.x + region.width);
  const auto end_y = static_cast<int>(region.y + region.height);
  const int margin_x = up_.smooth && up_.across == 2, margin_y = has_context();
  begin_ = x / up_.across;
  count_ = divide_up(end_x, up_.across) - begin_;
  skip_ = x - begin_ * up_.across;
  first_block_ = std::max(begin_ - margin_x, 0) / 8;
  blocks_ = divide_up(std::min(begin_ + count_ + margin_x, width_), 8) - first_block_;
  first_row_ = std::max(y / up_.down - margin_y, 0);
  end_row_ = std::min(divide_up(end_y, up_.down) + margin_y, height_);

  groups_ = divide_up(blocks_, kernels::kJpegGroup);
  stride_ = groups_ * 8 * kernels::kJpegGroup + 2 * kPad;
  const auto groups = static_cast<size_t>(groups_ * v_);
  const size_t coefficients = groups * kernels::kJpegGroupSize * sizeof(int16_t);
  coefficients_ = static_cast<int16_t*>(scratch.allocate(coefficients));
  std::memset(coefficients_, 0, coefficients);
  last_ = static_cast<uint8_t*>(scratch.allocate(groups * kernels::kJpegGroup));
  std::memset(last_, 0, groups * kernels::kJpegGroup);
  samples_ = static_cast<uint8_t*>(
      scratch.allocate(static_cast<size_t>(stride_ * (kContext + rows_per_mcu()))));
  if (up_.across == 1 && !up_.smooth) return;
  upsampled_ = static_cast<uint8_t*>(
      scratch.allocate(static_cast<size_t>(count_ * up_.across + kernels::kJpegRowSlack)));
  sums_ =
      static_cast<int16_t*>(scratch.allocate(static_cast<size_t>(count_ + 2) * sizeof(int16_t)));
}

void Plane::describe(int column, int row, kernels::JpegMcuBlock& block) const {
  block.coefficients = coefficients_ + row * groups_ * kernels::kJpegGroupSize;
  block.last = last_ + row * groups_ * kernels::kJpegGroup;
  block.per_mcu = h_;
  block.column = column;
  block.first = first_block_;
}

int Plane::wanted(int mcu_row, int row) const {
  const int first = (mcu_row * v_ + row) * 8;
  return first < end_row_ && first + 8 > first_row_ ? blocks_ : 0;
}

void Plane::transform(int mcu_row, const int16_t* quant) {
  mcu_row_ = mcu_row;
  for (int row = 0; row < v_; ++row) {
    if (!wanted(mcu_row, row)) continue;
    kernels::jpeg_idct(coefficients_ + row * groups_ * kernels::kJpegGroupSize,
                       last_ + row * groups_ * kernels::kJpegGroup, groups_, quant,
                       sample_row((int64_t{mcu_row} * v_ + row) * 8), stride_);
  }
}

// A sample beside the picture is the one at its edge.
uint8_t* Plane::padded_row(int64_t row) const {
  uint8_t* samples = sample_row(std::clamp<int64_t>(row, 0, height_ - 1));
  const int64_t end = width_ - int64_t{first_block_} * 8;
  if (first_block_ == 0) samples[-1] = samples[0];
  if (end <= int64_t{blocks_} * 8) samples[end] = samples[end - 1];
  return samples + (begin_ - first_block_ * 8);
}

const uint8_t* Plane::row(int64_t y) {
  const int64_t row = y / up_.down;
  const uint8_t* near = padded_row(row);
  if (!upsampled_) return near + skip_;
  const bool above = y % 2 == 0;
  const uint8_t* far = has_context() ? padded_row(above ? row - 1 : row + 1) : near;
  kernels::jpeg_upsample(up_, near, far, above, count_, sums_, upsampled_);
  return upsampled_ + skip_;
}

void Plane::keep_context() {
  std::memcpy(samples_, samples_ + rows_per_mcu() * stride_,
              static_cast<size_t>(kContext * stride_));
}

}  // namespace torchdali::io::jpeg
