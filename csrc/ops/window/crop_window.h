// SPDX-License-Identifier: Apache-2.0
// Windows of fixed size at a relative position: the arguments `crop`, `crop_h/w/d`,
// `crop_pos_x/y/z` and `rounding`, shared by crop, crop_mirror_normalize and decoders.image_crop.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/argument.h"
#include "core/image/image_part.h"

namespace torchdali {

// A part of a tensor: its start and extent along every axis. It may extend outside the tensor;
// check_inside() or the policy of the operator handles that.
struct Window {
  Shape anchor;
  Shape shape;

  static Window whole(const Shape& shape) {
    Window w{.anchor = shape, .shape = shape};
    for (int i = 0; i < shape.ndim(); ++i) w.anchor[i] = 0;
    return w;
  }
  bool inside(const Shape& of) const {
    for (int i = 0; i < of.ndim(); ++i)
      if (anchor[i] < 0 || shape[i] > of[i] - anchor[i]) return false;
    return true;
  }
  void check_inside(const Shape& of) const {
    TORCHDALI_CHECK_KIND(kIndex, inside(of), "the window of shape ", shape, " at ", anchor,
                         " reaches outside the sample of shape ", of,
                         ". Use a smaller window or another position");
  }
};

// A window of an image for fusion; nothing if it extends outside or lacks channels.
inline std::optional<ImagePart> image_part(const Window& window, const Shape& image) {
  constexpr int kRows = 0, kColumns = 1, kChannels = 2;
  if (!window.inside(image) || window.shape[kChannels] != image[kChannels]) return std::nullopt;
  return ImagePart{.rows = {.begin = window.anchor[kRows], .extent = window.shape[kRows]},
                   .columns = {.begin = window.anchor[kColumns], .extent = window.shape[kColumns]}};
}

// The arguments of CropArgs, for SchemaBuilder::with().
inline SchemaBuilder& add_crop_args(SchemaBuilder& schema) {
  constexpr auto kPerSample = Arity::kPerSample;
  return schema
      .optional_arg("crop", ArgType::kFloatVec,
                    "Size of the window, in pixels: (height, width) or (depth, height, width); "
                    "fractions are truncated. Less than 1 keeps the whole axis. Excludes `crop_h`, "
                    "`crop_w` and `crop_d`.",
                    kPerSample)
      .arg("crop_d", 0.0f,
           "Depth of the window, in slices (or frames, if the sample has no depth); requires "
           "`crop_h` and `crop_w`. 0 keeps the whole axis.",
           kPerSample)
      .arg("crop_h", 0.0f, "Height of the window, in pixels; requires `crop_w`. 0: all.",
           kPerSample)
      .arg("crop_w", 0.0f, "Width of the window, in pixels; requires `crop_h`. 0: all.", kPerSample)
      .arg("crop_pos_x", 0.5f,
           "Horizontal position of the window, 0 (left) to 1 (right): the first column is "
           "crop_pos_x * (width - crop_w), rounded by `rounding`.",
           kPerSample)
      .arg("crop_pos_y", 0.5f, "Vertical position of the window, 0 (top) to 1 (bottom).",
           kPerSample)
      .arg("crop_pos_z", 0.5f, "Position of the window along depth (or frames), 0 to 1.",
           kPerSample)
      .arg("rounding", "round",
           "How the position of the first pixel is rounded: \"round\" (to the nearest, "
           "halves away from zero), \"truncate\" or, torchdali only, \"torchvision\": as "
           "its CenterCrop, halves to even, and toward zero if the window exceeds the sample.");
}

// Reads the arguments of add_crop_args() and places the window. Immutable; any thread.
class CropArgs {
 public:
  explicit CropArgs(const OpSpec& spec)
      : crop_(spec, "crop"),
        d_(spec, "crop_d"),
        h_(spec, "crop_h"),
        w_(spec, "crop_w"),
        x_(spec, "crop_pos_x"),
        y_(spec, "crop_pos_y"),
        z_(spec, "crop_pos_z") {
    const bool sized_by_axis = h_.given() || w_.given() || d_.given();
    TORCHDALI_CHECK(!(crop_.given() && sized_by_axis),
                    "`crop` excludes `crop_h`, `crop_w` and `crop_d`: give one or the other");
    TORCHDALI_CHECK(h_.given() == w_.given(), "`crop_h` and `crop_w` must be given together");
    TORCHDALI_CHECK(!d_.given() || h_.given(),
                    "`crop_d` must be given together with `crop_h` and `crop_w`");
    if (crop_.given() && !crop_.is_tensor())
      check_size(spec.get<std::vector<float>>("crop").size());
    const auto rounding = spec.get<std::string>("rounding");
    if (rounding == "truncate") rounding_ = Rounding::kTruncate;
    else if (rounding == "torchvision") rounding_ = Rounding::kTorchvision;
    else
      TORCHDALI_CHECK(rounding == "round", "`rounding` is \"", rounding,
                      "\", expected \"round\", \"truncate\" or \"torchvision\"");
  }

  // Whether a size was given; without one, the window is the whole sample.
  bool sized() const { return crop_.given() || h_.given(); }

  // The window in a sample of `shape`. Axes H, W and D (F if there is no D) of `layout` are
  // cropped, others kept. Results are those of DALI 1.35 (checked by the tests).
  Window operator()(const SampleContext& ctx, const Shape& shape, const Layout& layout) const {
    Window window = Window::whole(shape);
    float d = 0, h = 0, w = 0;
    if (crop_.given()) {
      static thread_local std::vector<float> buffer;
      const auto sizes = crop_(ctx, buffer);
      check_size(sizes.size());
      if (sizes.size() == 3) d = sizes[0];
      h = sizes[sizes.size() - 2];
      w = sizes[sizes.size() - 1];
    } else if (h_.given()) {
      h = h_(ctx);
      w = w_(ctx);
      if (d_.given()) d = d_(ctx);
    }
    const int depth_axis = layout.find('D') >= 0 ? layout.find('D') : layout.find('F');
    place(window, layout.find('H'), h, y_, ctx);
    place(window, layout.find('W'), w, x_, ctx);
    place(window, depth_axis, d, z_, ctx);
    return window;
  }

 private:
  enum class Rounding : int8_t { kRound, kTruncate, kTorchvision };
  static void check_size(size_t size) {
    TORCHDALI_CHECK(size == 2 || size == 3,
                    "`crop` takes (height, width) or (depth, height, width), got ", size,
                    size == 1 ? " value" : " values");
  }
  void place(Window& window, int axis, float size, const Arg<float>& position,
             const SampleContext& ctx) const {
    if (axis < 0) return;
    const float pos = position(ctx);
    TORCHDALI_CHECK(pos >= 0 && pos <= 1, "the position of the window along axis ", axis, " is ",
                    pos, ", expected 0 to 1 (`crop_pos_x`, `crop_pos_y`, `crop_pos_z`)");
    // Bounded, so that the conversions below are defined for any float, NaN included.
    constexpr float kMaxExtent = 1e15f;
    TORCHDALI_CHECK(size <= kMaxExtent, "the window cannot be ", size, " pixels large");
    const int64_t extent = window.shape[axis];
    if (size >= 1) window.shape[axis] = static_cast<int64_t>(size);
    const double start = double{pos} * static_cast<double>(extent - window.shape[axis]);
    window.anchor[axis] = static_cast<int64_t>(rounded(start));
  }
  double rounded(double start) const {
    switch (rounding_) {
      case Rounding::kTruncate: return start;
      case Rounding::kTorchvision: return start < 0 ? start : std::nearbyint(start);
      default: return std::round(start);
    }
  }

  ListArg<float> crop_;
  Arg<float> d_, h_, w_, x_, y_, z_;
  Rounding rounding_ = Rounding::kRound;
};

}  // namespace torchdali
