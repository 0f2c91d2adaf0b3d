// SPDX-License-Identifier: Apache-2.0
// What operators say about themselves so that the engine can run several of them over one image
// without making the whole images between them (executor/chain/chain.h, docs/design/fusion.md). An
// image is a sample of layout "HWC" here; what is no image is left to Operator::run().
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "core/operator.h"

namespace torchdali {

// A window of an image, which is then mirrored.
struct ImagePart {
  struct Axis {
    int64_t begin = 0, extent = 0;
    bool mirror = false;
    int64_t end() const { return begin + extent; }
    // What `inner`, an axis of this part, is of the image.
    Axis of(const Axis& inner) const {
      return {.begin = mirror ? end() - inner.end() : begin + inner.begin,
              .extent = inner.extent,
              .mirror = mirror != inner.mirror};
    }
  };
  Axis rows, columns;

  static ImagePart whole(const Shape& image) {
    return {.rows = {.extent = image[0]}, .columns = {.extent = image[1]}};
  }
  ImagePart of(const ImagePart& inner) const {
    return {.rows = rows.of(inner.rows), .columns = columns.of(inner.columns)};
  }
  bool empty() const { return rows.extent == 0 || columns.extent == 0; }
};

// An image of the sample in hand before any of its pixels is made. One worker thread.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  // Of the whole image; without data.
  const SampleView& image() const { return image_; }
  // Makes the image 1 / 2, 1 / 4 or 1 / 8 of its size from now on, extents rounded up, where the
  // user allows that for one whose pixels are averaged, `reduction` to one along each axis. Returns
  // the divisor: 1 where nothing changes. Before make().
  virtual int reduce(float /*reduction*/) { return 1; }
  // Writes a window, which is neither mirrored nor empty, dense, to `out`.
  virtual void make(SampleContext& ctx, const ImagePart& window, void* out) = 0;

 protected:
  SampleView image_;
};

// A resampling of the sample in hand before any of its pixels is made. One worker thread.
class ImageResampling {
 public:
  virtual ~ImageResampling() = default;
  // Of the result; without data.
  virtual SampleView image() const = 0;
  // Only this part of the result is wanted: it is the result from now on. The same pixels, to the
  // bit. Before start().
  virtual void narrow(const ImagePart& part) = 0;
  // How many pixels of the input are averaged to one, along the axis where they are fewest.
  virtual float reduction() const = 0;
  // The input is `smaller` from now on, of an image at 1 / `scale`; it was `window` of that image.
  // Before start().
  virtual void reduce(int scale, const ImagePart& window, const ImagePart& smaller) = 0;
  // What of the input is read, as far as the result needs it; not mirrored, may be empty.
  virtual ImagePart source() const = 0;
  // `pixels` is where the input's window `stored` lies, which contains source(); rows are
  // `row_stride` elements apart.
  virtual void start(SampleContext& ctx, const void* pixels, const ImagePart& stored,
                     int64_t row_stride) = 0;
  // Writes rows [begin, end) of the result, dense. It costs least from the first to the last.
  virtual void make_rows(int64_t begin, int64_t end, void* out) = 0;
};

// Output 0 of the sample in hand, being filled from rows of an image. One worker thread.
class ImageRowSink {
 public:
  virtual ~ImageRowSink() = default;
  // Rows [begin, end) of the image, `row_stride` elements apart.
  virtual void take_rows(int64_t begin, int64_t end, const void* rows, int64_t row_stride) = 0;
};

// ImageRole::kDecoder.
class MakesImage {
 public:
  virtual ~MakesImage() = default;
  virtual std::unique_ptr<ImageSource> open(SampleContext& ctx) const = 0;
};

// ImageRole::kResampler. `in`, of layout "HWC", stands for input 0 and has no data.
class ResamplesImage {
 public:
  virtual ~ResamplesImage() = default;
  virtual std::unique_ptr<ImageResampling> plan(SampleContext& ctx, const SampleView& in) const = 0;
};

// ImageRole::kWindow, kFlip and kNormalizer. `in` is as above.
class TakesImagePart {
 public:
  virtual ~TakesImagePart() = default;
  // The part of `in` that is the result, or (kNormalizer) that it is computed from pixel by pixel.
  // Nothing where the result has anything else, such as padding.
  virtual std::optional<ImagePart> part(SampleContext& ctx, const SampleView& in) const = 0;
};

// ImageRole::kNormalizer.
class NormalizesRows : public TakesImagePart {
 public:
  // Makes output 0 for an image like `in`, which part() was taken of; `mirror`: its columns still
  // have to be mirrored.
  virtual std::unique_ptr<ImageRowSink> start(SampleContext& ctx, const SampleView& in,
                                              bool mirror) const = 0;
};

}  // namespace torchdali
