// SPDX-License-Identifier: Apache-2.0
// fn.multi_paste: regions of several images on one canvas.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "core/operator.h"
#include "kernels/convert.h"
#include "kernels/window.h"
#include "ops/input_layout.h"
#include "ops/whole_batch.h"

namespace torchdali {
namespace {

// Two numbers for each pasted region: a tensor of shape [regions, 2], one for all frames or (its
// layout begins with F) one a frame; or a constant for all.
class Coordinates {
 public:
  Coordinates(const OpSpec& spec, const char* name)
      : name_(name), constant_(spec, name), given_(spec.has(name)) {
    if (spec.has_tensor(name)) slot_ = spec.tensors.at(name);
  }
  bool given() const { return given_; }
  const char* name() const { return name_; }
  // Of all regions in one frame, two a region.
  void read(const SampleContext& ctx, int64_t frame, int64_t frames, size_t regions,
            std::vector<double>& out) const {
    out.resize(2 * regions);
    if (slot_ < 0) {
      std::fill(out.begin(), out.end(), constant_(ctx));
      return;
    }
    const SampleView& value = ctx.argument_input(slot_);
    const bool sequence = !value.layout.empty() && value.layout[0] == 'F';
    const int ndim = value.shape.ndim();
    TORCHDALI_CHECK(!sequence || value.shape[0] == frames || value.shape[0] == 1, "`", name_,
                    "` has values for ", value.shape[0], " frames, and the sequence has ", frames);
    TORCHDALI_CHECK(ndim == 2 + sequence && value.shape[ndim - 1] == 2 &&
                        value.shape[ndim - 2] == static_cast<int64_t>(regions),
                    "`", name_, "` takes two numbers for each of the ", regions,
                    " regions (a tensor of shape [", regions, ", 2]), got one of shape ",
                    value.shape);
    const bool moves = sequence && value.shape[0] > 1;
    dispatch_dtype(value.dtype, [&]<class T>() {
      const T* from = value.as<const T>() + (moves ? frame : 0) * static_cast<int64_t>(out.size());
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(from[i]);
    });
  }

 private:
  const char* name_;
  Arg<double> constant_;
  bool given_;
  int slot_ = -1;
};

// Absolute coordinates, fractions of an extent, or neither.
class Place {
 public:
  Place(const OpSpec& spec, const char* absolute, const char* relative)
      : absolute_(spec, absolute), relative_(spec, relative) {
    TORCHDALI_CHECK(!absolute_.given() || !relative_.given(), "`", absolute, "` and `", relative,
                    "` exclude each other");
  }
  bool given() const { return absolute_.given() || relative_.given(); }
  bool relative() const { return relative_.given(); }
  const char* name() const { return relative() ? relative_.name() : absolute_.name(); }
  void read(const SampleContext& ctx, int64_t frame, int64_t frames, size_t regions,
            std::vector<double>& out) const {
    if (given()) (relative() ? relative_ : absolute_).read(ctx, frame, frames, regions, out);
    else out.assign(2 * regions, 0.0);
  }

 private:
  Coordinates absolute_, relative_;
};

// A pasted image, taken apart into frames.
struct Pasted {
  SampleView view;
  int64_t frames = 1, h = 0, w = 0, c = 0, frame_step = 0;  // step in bytes
};

class MultiPaste final : public Operator {
 public:
  explicit MultiPaste(const OpSpec& spec)
      : layout_(spec, 0),
        in_ids_(spec, "in_ids"),
        output_size_(spec, "output_size"),
        in_anchors_(spec, "in_anchors", "in_anchors_rel"),
        out_anchors_(spec, "out_anchors", "out_anchors_rel"),
        shapes_(spec, "shapes", "shapes_rel") {
    if (spec.has("dtype")) dtype_ = spec.get<DType>("dtype");
    TORCHDALI_CHECK(!in_ids_.given() || spec.num_inputs == 1,
                    "`in_ids` chooses among the samples of one input, and there are ",
                    spec.num_inputs);
  }

  std::optional<BatchTraits> batch_traits() const override {
    return in_ids_.given() ? std::optional(BatchTraits{}) : std::nullopt;
  }
  std::unique_ptr<BatchState> prepare_batch(BatchContext& ctx) override {
    return WholeBatch::of(ctx, 0);
  }

  void run(SampleContext& ctx) const override {
    static thread_local std::vector<Pasted> images;
    find_images(ctx, images);
    const Pasted own = taken_apart(ctx.input(0));
    const Pasted& first = images.empty() ? own : images[0];
    const Layout layout = layout_(first.view);
    int64_t frames = 1;
    bool sequence = images.empty() && layout.size() == 4;
    for (const Pasted& image : images) {
      TORCHDALI_CHECK(image.c == first.c, "the pasted images have ", first.c, " and ", image.c,
                      " channels");
      TORCHDALI_CHECK_KIND(kType, image.view.dtype == first.view.dtype, "the pasted images are of ",
                           dtype_name(first.view.dtype), " and ", dtype_name(image.view.dtype));
      if (image.view.shape.ndim() != 4) continue;
      TORCHDALI_CHECK(!sequence || image.frames == frames, "the pasted sequences have ", frames,
                      " and ", image.frames, " frames");
      sequence = true;
      frames = image.frames;
    }
    if (images.empty()) frames = own.frames;
    const DType dtype = dtype_ == DType::kNone ? first.view.dtype : dtype_;
    const auto [height, width] = canvas(ctx, images, own);
    const Shape frame_shape{height, width, first.c};
    Shape shape = frame_shape;
    if (sequence) shape = Shape{frames, height, width, first.c};
    checked_size_bytes({.data = nullptr, .dtype = dtype, .shape = shape, .layout = {}});
    const SampleView& out = ctx.output(0, dtype, shape, sequence ? "FHWC" : "HWC");
    if (out.volume() == 0 && images.empty()) return;
    SampleView frame = out;
    frame.shape = frame_shape;
    for (int64_t f = 0; f < frames; ++f) {
      paste_frame(ctx, images, f, frames, frame);
      frame.data = frame.as<char>() + frame.size_bytes();
    }
  }

 private:
  Pasted taken_apart(const SampleView& view) const {
    layout_(view);
    const int first = view.shape.ndim() - 3;
    Pasted p{.view = view,
             .h = view.shape[first],
             .w = view.shape[first + 1],
             .c = view.shape[first + 2]};
    if (first > 0) {
      p.frames = view.shape[0];
      p.frame_step = p.h * p.w * p.c * itemsize(view.dtype);
    }
    return p;
  }

  void find_images(SampleContext& ctx, std::vector<Pasted>& images) const {
    images.clear();
    if (!in_ids_.given()) {
      for (int i = 0; i < ctx.num_inputs(); ++i) images.push_back(taken_apart(ctx.input(i)));
      return;
    }
    static thread_local std::vector<int64_t> buffer;
    const WholeBatch& batch = ctx.batch_state<WholeBatch>();
    for (const int64_t id : in_ids_(ctx, buffer))
      images.push_back(taken_apart(batch.sample(id, "in_ids")));
  }

  std::pair<int64_t, int64_t> canvas(const SampleContext& ctx, const std::vector<Pasted>& images,
                                     const Pasted& own) const {
    if (!output_size_.given()) {
      const Pasted& first = images.empty() ? own : images[0];
      for (const Pasted& image : images)
        TORCHDALI_CHECK(image.h == first.h && image.w == first.w,
                        "the canvas has no size: the pasted images differ, ", first.h, " x ",
                        first.w, " and ", image.h, " x ", image.w,
                        ". To fix it: pass output_size=(height, width)");
      return {first.h, first.w};
    }
    static thread_local std::vector<int64_t> buffer;
    const auto size = output_size_(ctx, buffer);
    TORCHDALI_CHECK(size.size() == 2, "`output_size` takes (height, width), got ", size.size(),
                    " values");
    TORCHDALI_CHECK(size[0] >= 0 && size[1] >= 0, "`output_size` is (", size[0], ", ", size[1],
                    ")");
    return {size[0], size[1]};
  }

  // A coordinate that is near enough for the arithmetic behind it.
  static int64_t whole(double x, const char* name) {
    constexpr double kMax = 1e15;  // NaN fails too
    TORCHDALI_CHECK(x >= -kMax && x <= kMax, "`", name, "` has ", x);
    return static_cast<int64_t>(std::round(x));
  }

  void paste_frame(SampleContext& ctx, const std::vector<Pasted>& images, int64_t f, int64_t frames,
                   const SampleView& out) const {
    static thread_local std::vector<double> from, to, extents;
    in_anchors_.read(ctx, f, frames, images.size(), from);
    out_anchors_.read(ctx, f, frames, images.size(), to);
    shapes_.read(ctx, f, frames, images.size(), extents);
    for (size_t i = 0; i < images.size(); ++i) {
      const Pasted& image = images[i];
      Shape source{image.h, image.w, image.c}, anchor = source, extent = source, place = source;
      anchor[2] = place[2] = 0;
      for (int k = 0; k < 2; ++k) {
        const size_t at = 2 * i + static_cast<size_t>(k);
        const auto in_extent = static_cast<double>(source[k]);
        const double begin = from[at] * (in_anchors_.relative() ? in_extent : 1.0);
        anchor[k] = whole(begin, in_anchors_.name());
        if (!shapes_.given()) extent[k] = source[k] - anchor[k];
        else if (!shapes_.relative()) extent[k] = whole(extents[at], shapes_.name());
        // Both ends are rounded, so that neighbours meet.
        else extent[k] = whole(begin + extents[at] * in_extent, shapes_.name()) - anchor[k];
        place[k] = whole(to[at] * (out_anchors_.relative() ? static_cast<double>(out.shape[k]) : 1),
                         out_anchors_.name());
        check_inside(i, "image", anchor[k], extent[k], source[k]);
        check_inside(i, "canvas", place[k], extent[k], out.shape[k]);
      }
      // What the first one leaves free is black.
      if (i == 0) clear(out, place, extent);
      paste(image.view.as<const char>() + (image.frames > 1 ? f : 0) * image.frame_step,
            image.view.dtype, source, anchor, extent, out, place);
    }
    if (images.empty()) std::memset(out.data, 0, static_cast<size_t>(out.size_bytes()));
  }
  static void check_inside(size_t region, const char* of, int64_t begin, int64_t extent,
                           int64_t limit) {
    TORCHDALI_CHECK_KIND(kIndex, begin >= 0 && extent >= 0 && extent <= limit - begin, "region ",
                         region, " reaches outside the ", of, ": from ", begin, ", ", extent,
                         " pixels, of ", limit);
  }

  static void clear(const SampleView& out, const Shape& place, const Shape& extent) {
    if (extent.volume() == 0) {
      if (out.volume() > 0) std::memset(out.data, 0, static_cast<size_t>(out.size_bytes()));
      return;
    }
    dispatch_dtype(out.dtype, [&]<class T>() {
      kernels::fill_outside(out.as<T>(), out.shape, place, extent, T{});
    });
  }
  static void paste(const char* image, DType dtype, const Shape& source, const Shape& anchor,
                    const Shape& extent, const SampleView& out, const Shape& place) {
    if (extent.volume() == 0) return;
    const int64_t in_size = itemsize(dtype), out_size = itemsize(out.dtype);
    const bool same = dtype == out.dtype;
    const kernels::ConvertFn convert = same ? nullptr : kernels::converter(out.dtype, dtype);
    kernels::for_each_run(source, anchor, out.shape, place, extent,
                          [&](int64_t i, int64_t o, int64_t count) {
                            char* to = out.as<char>() + o * out_size;
                            const char* from = image + i * in_size;
                            if (same) std::memcpy(to, from, static_cast<size_t>(count * in_size));
                            else convert(to, from, count);
                          });
  }

  InputLayout layout_;
  ListArg<int64_t> in_ids_, output_size_;
  Place in_anchors_, out_anchors_, shapes_;
  DType dtype_ = DType::kNone;
};

constexpr int kMaxInputs = 64;  // DALI's

TORCHDALI_OPERATOR("multi_paste")
    .doc(
        "Pastes regions of several images on a black canvas, later ones over earlier ones. With "
        "`in_ids` they are samples of the whole batch of one input; without, sample i of each "
        "input is pasted on canvas i. Anchors and shapes are tensors with two numbers, height and "
        "width, for each region: [regions, 2]. Sequences are pasted frame by frame; fn.per_frame "
        "gives each frame its own numbers, and an image is the same in all frames.")
    .input("images", "Images or sequences; any element type.", {"HWC", "FHWC"})
    .variadic_input("more_images", "More of them, of the same type.", kMaxInputs)
    .output("canvas", "Layout \"HWC\" or \"FHWC\", of `dtype`.")
    .optional_arg("dtype", ArgType::kDType,
                  "Element type of the output, by default that of the images. Values are converted "
                  "as by fn.cast.")
    .optional_arg("in_ids", ArgType::kIntVec, "Numbers of the pasted samples in their batch.",
                  Arity::kPerSample)
    .optional_arg("output_size", ArgType::kIntVec,
                  "Height and width of the canvas; by default those of the images, which then "
                  "have one size.",
                  Arity::kPerSample)
    .optional_arg("in_anchors", ArgType::kInt,
                  "First row and column of the regions in their images; by default 0.",
                  Arity::kPerSample)
    .optional_arg("in_anchors_rel", ArgType::kFloat,
                  "`in_anchors` as fractions of the image, rounded to the nearest.",
                  Arity::kPerSample)
    .optional_arg("shapes", ArgType::kInt,
                  "Height and width of the regions; by default all of the image from the anchor.",
                  Arity::kPerSample)
    .optional_arg("shapes_rel", ArgType::kFloat,
                  "`shapes` as fractions of the image; where a region ends is rounded to the "
                  "nearest.",
                  Arity::kPerSample)
    .optional_arg("out_anchors", ArgType::kInt,
                  "Row and column of the canvas where the regions begin; by default 0.",
                  Arity::kPerSample)
    .optional_arg("out_anchors_rel", ArgType::kFloat,
                  "`out_anchors` as fractions of the canvas, rounded to the nearest.",
                  Arity::kPerSample)
    .sequences()
    .cpu<MultiPaste>();

}  // namespace
}  // namespace torchdali
