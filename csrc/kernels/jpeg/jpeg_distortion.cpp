// SPDX-License-Identifier: Apache-2.0
// A row of MCUs at a time, 16 rows of pixels, so that all samples stay in the cache. Smooth
// upsampling of the last row of pixels needs chroma of the next, so that row waits for it.
#include "kernels/jpeg/jpeg_distortion.h"

#include <cstring>
#include <memory>

#include "kernels/jpeg/jpeg_rows.h"

namespace torchdali::kernels::jpeg_distortion {
namespace {

constexpr int kMcu = 16, kChroma = kMcu / 2;
// Samples beside a row of chroma: upsampling reads one to the left and one to the right.
constexpr int64_t kMargin = 32;

struct Size {
  int64_t height, width;
  int64_t rows() const { return (height + 1) / 2; }  // of chroma
  int64_t columns() const { return (width + 1) / 2; }
};

// Rows of samples: the last row of the MCUs before, then those of these MCUs.
class Window {
 public:
  explicit Window(const Size& size)
      : size_(size),
        stride_((size.width + kColumns - 1) / kColumns * kColumns),
        chroma_stride_(stride_ / 2 + 2 * kMargin),
        bytes_(new uint8_t[static_cast<size_t>((kMcu + 1) * stride_ +
                                               2 * (kChroma + 1) * chroma_stride_)]()) {}

  // Row -1 and up of the MCUs.
  uint8_t* luma(int64_t row) const { return bytes_.get() + (row + 1) * stride_; }
  uint8_t* chroma(int c, int64_t row) const {
    return luma(kMcu) + (c * (kChroma + 1) + row + 1) * chroma_stride_ + kMargin;
  }

  // Row `mcu` of MCUs of the picture, as a decoder gets it.
  void fill(const uint8_t* in, int64_t mcu, const Quantization quant[2]) {
    keep_last();
    for (int64_t r = 0; r < kChroma; ++r) convert(in, mcu, r);
    for (int block = 0; block < kMcu; block += 8)
      requantize(luma(block), (size_.width + 31) / 32, stride_, quant[0]);
    for (int c = 0; c < 2; ++c) {
      requantize(chroma(c, 0), (size_.columns() + 31) / 32, chroma_stride_, quant[1]);
      for (int64_t r = 0; r < kChroma; ++r) {
        uint8_t* row = chroma(c, r);
        row[-1] = row[0];
        row[size_.columns()] = row[size_.columns() - 1];
      }
    }
  }

 private:
  void keep_last() const {
    std::memcpy(luma(-1), luma(kMcu - 1), static_cast<size_t>(stride_));
    for (int c = 0; c < 2; ++c)
      std::memcpy(chroma(c, -1) - kMargin, chroma(c, kChroma - 1) - kMargin,
                  static_cast<size_t>(chroma_stride_));
  }

  // Row `r` of chroma and its two rows of luma. Below the picture, rows are repeated.
  void convert(const uint8_t* in, int64_t mcu, int64_t r) const {
    uint8_t* const y[2] = {luma(2 * r), luma(2 * r + 1)};
    const int64_t row = mcu * kMcu + 2 * r, below = std::min(row + 1, size_.height - 1);
    if (row < size_.height) {
      const uint8_t* const rgb[2] = {in + row * size_.width * 3, in + below * size_.width * 3};
      components(rgb, size_.width, y, chroma(0, r), chroma(1, r));
      return;
    }
    for (uint8_t* to : y) std::memcpy(to, luma(2 * r - 1), static_cast<size_t>(stride_));
    for (int c = 0; c < 2; ++c)
      std::memcpy(chroma(c, r), chroma(c, r - 1), static_cast<size_t>(stride_ / 2));
  }

  Size size_;
  int64_t stride_, chroma_stride_;
  std::unique_ptr<uint8_t[]> bytes_;
};

}  // namespace

Quantization::Quantization(const uint8_t table[64], int quality) {
  for (int k = 0; k < 64; ++k) {
    quant[k] = scaled_quant(table[k], quality);
    const int divisor = 8 * quant[k];
    half[k] = static_cast<uint16_t>(divisor / 2);
    int bits = 3;
    while (1 << bits < divisor) ++bits;
    reciprocal[k] = static_cast<uint16_t>(((1 << (15 + bits)) + divisor - 1) / divisor);
    scale[k] = static_cast<uint16_t>(1 << (17 - bits));
  }
}

void distort(uint8_t* out, const uint8_t* in, int64_t height, int64_t width, int quality) {
  const Size size{height, width};
  const Quantization quant[2] = {{kQuant[0], quality}, {kQuant[1], quality}};
  Window window(size);
  // libjpeg does not smooth pictures with few columns.
  const JpegUpsampling how{.across = 2, .down = 2, .smooth = size.columns() > 2};
  const auto columns = static_cast<size_t>(size.columns());
  const std::unique_ptr<int16_t[]> sums(new int16_t[columns + 2]);
  const size_t full = 2 * columns + kJpegRowSlack;
  const std::unique_ptr<uint8_t[]> large(new uint8_t[2 * full]());
  for (int64_t first = 0, y = 0; first < height; first += kMcu) {
    window.fill(in, first / kMcu, quant);
    const bool is_last = first + kMcu >= height;
    for (const int64_t end = is_last ? height : first + kMcu - 1; y < end; ++y) {
      const int64_t row = y / 2, offset = first / 2;
      // The edges of the picture are repeated.
      const int64_t far = std::clamp(y % 2 == 0 ? row - 1 : row + 1, int64_t{0}, size.rows() - 1);
      for (int c = 0; c < 2; ++c)
        jpeg_upsample(how, window.chroma(c, row - offset), window.chroma(c, far - offset),
                      y % 2 == 0, size.columns(), sums.get(), large.get() + c * full);
      jpeg_ycc_to_rgb(window.luma(y - first), large.get(), large.get() + full, width, false,
                      out + y * width * 3);
    }
  }
}

}  // namespace torchdali::kernels::jpeg_distortion
