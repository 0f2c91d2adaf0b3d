// SPDX-License-Identifier: Apache-2.0
// The interfaces of operators that can be fused into a chain over one image, without whole images
// between them (executor/chain/chain.h, docs/design/fusion.md). An image is a sample of layout
// "HWC"; for all other samples the chain calls Operator::run().
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "core/image/pairable_decode.h"
#include "core/operator.h"

namespace torchdali {

// A window of an image, mirrored or not.
struct ImagePart {
  struct Axis {
    int64_t begin = 0, extent = 0;
    bool mirror = false;
    int64_t end() const { return begin + extent; }
    // Converts `inner`, an axis of this part, to an axis of the image.
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

// The image of the current sample before it is decoded. One worker thread.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  // Describes the whole image; has no data.
  const SampleView& image() const { return image_; }
  // Reduces the image to 1/2, 1/4 or 1/8 of its size, extents rounded up, if the user allows it for
  // an image of which `reduction` pixels along each axis are averaged to one. Returns the divisor,
  // 1 if nothing changes. Called before make().
  virtual int reduce(float /*reduction*/) { return 1; }
  // Prepares make() with the same arguments, so that most of it can be done together with that of
  // another image. Null if that gains nothing. The result belongs to this.
  virtual PairableDecode* prepare(SampleContext& /*ctx*/, const ImagePart& /*window*/,
                                  void* /*out*/) {
    return nullptr;
  }
  // Writes a window densely to `out`. It is neither mirrored nor empty.
  virtual void make(SampleContext& ctx, const ImagePart& window, void* out) = 0;

 protected:
  SampleView image_;
};

// The resampling of the current sample before it runs. One worker thread.
class ImageResampling {
 public:
  virtual ~ImageResampling() = default;
  // Describes the result; has no data.
  virtual SampleView image() const = 0;
  // Restricts the result to a part of it. The pixels are bit-identical. Called before start().
  virtual void narrow(const ImagePart& part) = 0;
  // How many pixels of the input are averaged to one, along the axis where that is the least.
  virtual float reduction() const = 0;
  // Replaces the input, which was `window` of an image, by `smaller` of that image at 1 / `scale`.
  // Called before start().
  virtual void reduce(int scale, const ImagePart& window, const ImagePart& smaller) = 0;
  // The part of the input that the result depends on. Not mirrored; may be empty.
  virtual ImagePart source() const = 0;
  // `pixels` points to the window `stored` of the input, which contains source(). Rows are
  // `row_stride` elements apart. Called again for other images of which all else is equal, as long
  // as the scratch memory of the first call is there.
  virtual void start(SampleContext& ctx, const void* pixels, const ImagePart& stored,
                     int64_t row_stride) = 0;
  // Writes rows [begin, end) of the result densely. Fastest in order, from the first row on.
  virtual void make_rows(int64_t begin, int64_t end, void* out) = 0;
};

// Writes output 0 of the current sample from rows of an image. One worker thread.
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

// ImageRole::kResampler. `in` describes input 0, which has layout "HWC"; it has no data.
class ResamplesImage {
 public:
  virtual ~ResamplesImage() = default;
  virtual std::unique_ptr<ImageResampling> plan(SampleContext& ctx, const SampleView& in) const = 0;
};

// ImageRole::kWindow, kFlip and kNormalizer. `in` as above.
class TakesImagePart {
 public:
  virtual ~TakesImagePart() = default;
  // The part of `in` that is the result or, for kNormalizer, that the result is computed from pixel
  // by pixel. nullopt if the result has anything else, such as padding.
  virtual std::optional<ImagePart> part(SampleContext& ctx, const SampleView& in) const = 0;
  // Called before all others in a chain over frames of sequences: they are the images that this and
  // start() are given. Returns false if the result is not made of those of frames.
  virtual bool take_frames() { return true; }
};

// ImageRole::kNormalizer.
class NormalizesRows : public TakesImagePart {
 public:
  // Allocates output 0 for an image like `in`, the result of part(). `mirror`: the columns are not
  // mirrored yet.
  virtual std::unique_ptr<ImageRowSink> start(SampleContext& ctx, const SampleView& in,
                                              bool mirror) const = 0;
};

}  // namespace torchdali
