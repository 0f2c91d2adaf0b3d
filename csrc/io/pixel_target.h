// SPDX-License-Identifier: Apache-2.0
// The destination of rows of stored pixels: converts color and type, applies the orientation,
// writes each output pixel once. Internal to io/.
#pragma once

#include "io/image.h"

namespace torchdali::io {

// The samples of a pixel, in the order of the decoder.
enum class PixelModel : int8_t { kGray, kGrayAlpha, kRGB, kBGR, kRGBA, kBGRA, kCMYK };

// How RGB becomes gray. All are BT.601 in fixed point, and equal DALI's results for the formats
// that use them.
enum class GrayRule : int8_t {
  kNearest,      // 14 bits, rounded to nearest: BMP, PNM, TIFF
  kFineNearest,  // 15 bits, rounded to nearest: WebP, JPEG 2000
  kLibpng,       // 15 bits, 8-bit samples rounded down, wider ones to nearest: PNG
};

struct PixelFormat {
  PixelModel model = PixelModel::kRGB;
  bool wide = false;  // uint16_t samples (full range) instead of uint8_t
  GrayRule gray_rule = GrayRule::kNearest;
};
int channels_of(PixelModel model);

// Used for one decode. Not thread-safe; owns nothing.
class PixelTarget {
 public:
  PixelTarget(const ImageInfo& info, const DecodeOptions& options, void* out, int64_t row_stride,
              ScratchMemory& scratch);

  // The region to decode, in stored pixels.
  const Region& region() const { return region_; }
  ImageType type() const { return type_; }
  DType dtype() const { return dtype_; }
  // The orientation: from stored pixels to the output, the axes may be swapped, then each may be
  // reversed.
  bool transposes() const { return transpose_; }
  bool flips_rows() const { return flip_y_; }
  bool flips_columns() const { return flip_x_; }
  ScratchMemory& scratch() const { return scratch_; }

  // Called once, before any row.
  void open(const PixelFormat& format);
  // Row `row` of the region (0: its first), region().width pixels. Any order, each once.
  void write(int64_t row, const void* pixels);
  // The address to decode `row` to in place, instead of write(); nullptr if it must be converted.
  void* direct(int64_t row);

 private:
  using Step = void (*)(const PixelTarget&, const void* from, void* to);
  template <class S>
  void choose_steps();
  template <class S, int kFrom, int kTo>
  static void remap(const PixelTarget& target, const void* from, void* to);
  template <class S>
  static Step remap_step(int from, int to);
  template <class S>
  static void to_gray(const PixelTarget& target, const void* from, void* to);
  template <class S, class T>
  static void scale(const PixelTarget& target, const void* from, void* to);
  template <class S, class T>
  static void to_ycbcr(const PixelTarget& target, const void* from, void* to);
  void convert(const void* from, void* to);
  void place(int64_t row, const uint8_t* pixels);

  ImageType type_;
  DType dtype_;
  uint8_t* out_;
  int64_t row_stride_;
  ScratchMemory& scratch_;
  Region region_;
  bool transpose_ = false, flip_y_ = false, flip_x_ = false;  // stored to output

  PixelFormat format_;
  int8_t order_[4] = {0, 1, 2, 3};  // stored sample that becomes output sample i
  Step steps_[2] = {nullptr, nullptr};
  uint8_t* between_ = nullptr;    // after the first of two steps
  uint8_t* converted_ = nullptr;  // before a flip
  int64_t pixel_bytes_ = 0;       // of the output
};

}  // namespace torchdali::io
