// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder/plane.h"

#include <algorithm>
#include <cstring>

#include "kernels/jpeg/jpeg_idct.h"

namespace torchdali::io::jpeg {

namespace {

constexpr int kHalves = 2;  // MCU rows with coefficients

}  // namespace

// As in libjpeg: smooth for factors of two, but not for pictures with few columns, nor if a block
// becomes one pixel.
kernels::JpegUpsampling choose_upsampling(int across, int down, int width, int block) {
  const bool smooth =
      block > 1 && ((across == 2 && down <= 2 && width > 2) || (across == 1 && down == 2));
  return {.across = across, .down = down, .smooth = smooth};
}

Plane::Plane(const Header& header, int component, int scale, bool stored, const Region& region,
             ScratchMemory& scratch) {
  const Component& c = header.component[static_cast<size_t>(component)];
  h_ = c.h;
  v_ = c.v;
  // The width of a block of the finest component in pixels. Blocks of a coarser one are transformed
  // to more samples if the factor allows it, and upsampled less.
  const int block = 8 / scale;
  size_ = block;
  while (size_ < 8 && header.max_h * block % (h_ * size_ * 2) == 0 &&
         header.max_v * block % (v_ * size_ * 2) == 0)
    size_ *= 2;
  width_ = divide_up(header.width * h_ * size_, header.max_h * 8);
  height_ = divide_up(header.height * v_ * size_, header.max_v * 8);
  up_ = choose_upsampling(header.max_h * block / (h_ * size_), header.max_v * block / (v_ * size_),
                          width_, block);

  const auto x = static_cast<int>(region.x), y = static_cast<int>(region.y);
  const auto end_x = static_cast<int>(region.x + region.width);
  const auto end_y = static_cast<int>(region.y + region.height);
  const int margin_x = up_.smooth && up_.across == 2, margin_y = has_context();
  begin_ = x / up_.across;
  count_ = divide_up(end_x, up_.across) - begin_;
  skip_ = x - begin_ * up_.across;
  first_block_ = std::max(begin_ - margin_x, 0) / size_;
  if (stored) first_block_ -= first_block_ % kernels::kJpegGroup;
  blocks_ = divide_up(std::min(begin_ + count_ + margin_x, width_), size_) - first_block_;
  first_row_ = std::max(y / up_.down - margin_y, 0);
  end_row_ = std::min(divide_up(end_y, up_.down) + margin_y, height_);

  groups_ = divide_up(blocks_, kernels::kJpegGroup);
  stride_ = groups_ * size_ * kernels::kJpegGroup + 2 * kPad;
  const auto groups = static_cast<size_t>(groups_ * v_);
  if (!stored) {
    const size_t coefficients = kHalves * groups * kernels::kJpegGroupSize * sizeof(int16_t);
    coefficients_ = static_cast<int16_t*>(scratch.allocate(coefficients));
    std::memset(coefficients_, 0, coefficients);
  }
  last_ = static_cast<uint8_t*>(scratch.allocate(kHalves * groups * kernels::kJpegGroup));
  std::memset(last_, 0, kHalves * groups * kernels::kJpegGroup);
  samples_ = static_cast<uint8_t*>(
      scratch.allocate(static_cast<size_t>(stride_ * (kContext + rows_per_mcu()))));
  if (up_.across == 1 && !up_.smooth) return;
  upsampled_ = static_cast<uint8_t*>(
      scratch.allocate(static_cast<size_t>(count_ * up_.across + kernels::kJpegRowSlack)));
  sums_ =
      static_cast<int16_t*>(scratch.allocate(static_cast<size_t>(count_ + 2) * sizeof(int16_t)));
}

void Plane::describe(int column, int row, int half, kernels::JpegMcuBlock& block) const {
  block.coefficients = coefficients_ + (half * v_ + row) * groups_ * kernels::kJpegGroupSize;
  block.last = last_ + (half * v_ + row) * groups_ * kernels::kJpegGroup;
  block.per_mcu = h_;
  block.column = column;
  block.first = first_block_;
  block.dc_only = dc_only();
}

int Plane::wanted(int mcu_row, int row) const {
  const int first = (mcu_row * v_ + row) * size_;
  return first < end_row_ && first + size_ > first_row_ ? blocks_ : 0;
}

void Plane::transform_row(int row, const int16_t* quant, int16_t* coefficients,
                          const uint8_t* last) {
  uint8_t* out = sample_row((mcu_row_ * v_ + row) * size_);
  if (size_ == 8) kernels::jpeg_idct(coefficients, last, groups_, quant, out, stride_);
  else kernels::jpeg_idct_scaled(size_, coefficients, last, groups_, quant, out, stride_);
}

void Plane::transform(int mcu_row, int half, const int16_t* quant) {
  mcu_row_ = mcu_row;
  for (int row = 0; row < v_; ++row) {
    const int64_t group = (half * v_ + row) * groups_;
    if (wanted(mcu_row, row))
      transform_row(row, quant, coefficients_ + group * kernels::kJpegGroupSize,
                    last_ + group * kernels::kJpegGroup);
  }
}

void Plane::transform_stored(int mcu_row, int row, const int16_t* quant, int16_t* coefficients,
                             const uint64_t* present) {
  mcu_row_ = mcu_row;
  if (!wanted(mcu_row, row)) return;
  for (int i = 0; i < groups_ * kernels::kJpegGroup; ++i) last_[i] = present[first_block_ + i] != 0;
  transform_row(row, quant, coefficients + kernels::jpeg_block_offset(first_block_), last_);
}

// Samples outside the picture repeat its edge.
uint8_t* Plane::padded_row(int64_t row) const {
  uint8_t* samples = sample_row(std::clamp<int64_t>(row, 0, height_ - 1));
  const int64_t end = width_ - int64_t{first_block_} * size_;
  if (first_block_ == 0) samples[-1] = samples[0];
  if (end <= int64_t{blocks_} * size_) samples[end] = samples[end - 1];
  return samples + (begin_ - first_block_ * size_);
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
