// SPDX-License-Identifier: Apache-2.0
// fn.bbox_rotate: bounding boxes of an image that fn.rotate rotates.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"
#include "ops/boxes/box_columns.h"
#include "ops/warp/rotated_canvas.h"

namespace torchdali {
namespace {

using XY = std::array<double, 2>;  // x and y
struct RotatedBox {
  XY start, end;
  double area() const { return (end[0] - start[0]) * (end[1] - start[1]); }
};

enum class BoxRotateMode { kExpand, kHalfway, kFixed };

// From an image to its rotation, in pixels.
struct BoxRotation {
  double cosine, sine;
  XY from, to;  // extents

  // The axis-parallel box for a rotated one, which may reach outside.
  RotatedBox operator()(const RotatedBox& box, BoxRotateMode mode) const {
    XY center, half;
    for (size_t d = 0; d < 2; ++d) {
      center[d] = 0.5 * (box.start[d] + box.end[d] - from[d]);
      half[d] = 0.5 * (box.end[d] - box.start[d]);
    }
    // Counterclockwise with y pointing down.
    const XY turned = {cosine * center[0] + sine * center[1],
                       cosine * center[1] - sine * center[0]};
    const double c = std::abs(cosine), s = std::abs(sine);
    const XY around = {c * half[0] + s * half[1], s * half[0] + c * half[1]};
    RotatedBox result;
    for (size_t d = 0; d < 2; ++d) {
      const double extent = mode == BoxRotateMode::kExpand  ? around[d]
                            : mode == BoxRotateMode::kFixed ? half[d]
                                                            : 0.5 * (around[d] + half[d]);
      const double middle = turned[d] + 0.5 * to[d];
      result.start[d] = middle - extent;
      result.end[d] = middle + extent;
    }
    return result;
  }
};

class BboxRotate final : public Operator {
 public:
  explicit BboxRotate(const OpSpec& spec)
      : angle_(spec, "angle"),
        input_shape_(spec, "input_shape"),
        size_(spec, "size"),
        columns_(BoxColumns::of(spec.get<Layout>("bbox_layout"), 2)),
        shape_layout_(spec.get<Layout>("shape_layout")),
        threshold_(spec.get<float>("remove_threshold")),
        normalized_(spec.get<bool>("bbox_normalized")),
        keep_size_(spec.get<bool>("keep_size")) {
    const auto mode = spec.get<std::string>("mode");
    TORCHDALI_CHECK(mode == "expand" || mode == "halfway" || mode == "fixed", "`mode` is \"", mode,
                    "\", expected \"expand\", \"halfway\" or \"fixed\"");
    mode_ = mode == "expand"  ? BoxRotateMode::kExpand
            : mode == "fixed" ? BoxRotateMode::kFixed
                              : BoxRotateMode::kHalfway;
    TORCHDALI_CHECK(threshold_ >= 0 && threshold_ <= 1, "`remove_threshold` is ", threshold_,
                    ", expected 0 to 1");
    TORCHDALI_CHECK_KIND(kLayout, shape_layout_.find('H') >= 0 && shape_layout_.find('W') >= 0,
                         "`shape_layout` is ", shape_layout_, ", expected one with H and W");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `bboxes` is ",
                         dtype_name(in.dtype), ", expected float32", to_fix("use fn.cast"));
    TORCHDALI_CHECK(in.shape.ndim() == 2 && in.shape[1] == 4, "input `bboxes` has shape ", in.shape,
                    ", expected (boxes, 4)");
    const BoxRotation rotation = rotation_of(ctx);
    std::vector<RotatedBox> boxes;
    std::vector<int32_t> kept;
    for (int64_t i = 0; i < in.shape[0]; ++i) {
      const RotatedBox whole = rotation(read(in, i, rotation.from), mode_);
      RotatedBox visible;
      for (size_t d = 0; d < 2; ++d) {
        visible.start[d] = std::clamp(whole.start[d], 0.0, rotation.to[d]);
        visible.end[d] = std::clamp(whole.end[d], 0.0, rotation.to[d]);
      }
      if (!stays(whole, visible)) continue;
      boxes.push_back(visible);
      kept.push_back(static_cast<int32_t>(i));
    }
    write(ctx, boxes, rotation.to);
    if (ctx.num_inputs() > 1) keep_labels(ctx, 1, kept, static_cast<size_t>(in.shape[0]));
  }

 private:
  BoxRotation rotation_of(SampleContext& ctx) const {
    static thread_local std::vector<int64_t> shape_buffer;
    static thread_local std::vector<float> size_buffer;
    const auto shape = input_shape_(ctx, shape_buffer);
    TORCHDALI_CHECK(static_cast<int>(shape.size()) == shape_layout_.size(), "`input_shape` has ",
                    shape.size(), shape.size() == 1 ? " value" : " values",
                    ", and `shape_layout` is ", shape_layout_);
    const int64_t height = shape[static_cast<size_t>(shape_layout_.find('H'))];
    const int64_t width = shape[static_cast<size_t>(shape_layout_.find('W'))];
    for (const int64_t extent : {height, width})
      TORCHDALI_CHECK(extent > 0 && extent < (int64_t{1} << 31), "`input_shape` has ", extent,
                      ", expected 1 to 2^31 - 1");
    const auto radians = static_cast<double>(radians_of(angle_(ctx)));
    BoxRotation r{.cosine = std::cos(radians),
                  .sine = std::sin(radians),
                  .from = {static_cast<double>(width), static_cast<double>(height)},
                  .to = {}};
    const auto size = size_(ctx, size_buffer);
    if (!size.empty()) {
      // In the order of `shape_layout`, without its other axes.
      const bool width_first = shape_layout_.find('W') < shape_layout_.find('H');
      TORCHDALI_CHECK(size.size() == 2, "`size` has ", size.size(),
                      size.size() == 1 ? " value" : " values", ", expected 2");
      r.to = {std::round(size[width_first ? 0 : 1]), std::round(size[width_first ? 1 : 0])};
      for (const double extent : r.to)
        TORCHDALI_CHECK(extent > 0 && extent < 0x1p31, "`size` has ", extent,
                        ", expected 1 to 2^31 - 1");
    } else if (keep_size_) {
      r.to = r.from;
    } else {
      const Matrix3 m = {{{r.cosine, -r.sine, 0}, {r.sine, r.cosine, 0}, {0, 0, 1}}};
      RotatedCanvas canvas({1, height, width});
      canvas.add(m);
      const auto extents = canvas.extents();
      r.to = {static_cast<double>(extents[2]), static_cast<double>(extents[1])};
    }
    return r;
  }

  RotatedBox read(const SampleView& in, int64_t index, const XY& image) const {
    const float* row = in.as<const float>() + index * 4;
    RotatedBox box;
    for (size_t d = 0; d < 2; ++d) {
      const double start = row[columns_.start[d]];
      const double end = row[columns_.end[d]] + (columns_.sizes ? start : 0.0);
      TORCHDALI_CHECK(std::isfinite(start) && std::isfinite(end) && start <= end, "box ", index,
                      " goes from ", start, " to ", end, " in ", kBoxStarts[d]);
      const double unit = normalized_ ? image[d] : 1;
      box.start[d] = start * unit;
      box.end[d] = end * unit;
    }
    return box;
  }

  // A box without an area stays if it is inside.
  bool stays(const RotatedBox& whole, const RotatedBox& visible) const {
    const double area = whole.area();
    if (area > 0) return visible.area() >= threshold_ * area;
    return threshold_ == 0 || (whole.start == visible.start && whole.end == visible.end);
  }

  void write(SampleContext& ctx, const std::vector<RotatedBox>& boxes, const XY& canvas) const {
    float* row = ctx.output(0, DType::kFloat, {static_cast<int64_t>(boxes.size()), 4}).as<float>();
    for (const RotatedBox& box : boxes) {
      for (size_t d = 0; d < 2; ++d) {
        const double unit = normalized_ ? canvas[d] : 1;
        const double end = columns_.sizes ? box.end[d] - box.start[d] : box.end[d];
        row[columns_.start[d]] = static_cast<float>(box.start[d] / unit);
        row[columns_.end[d]] = static_cast<float>(end / unit);
      }
      row += 4;
    }
  }

  Arg<float> angle_;
  ListArg<int64_t> input_shape_;
  ListArg<float> size_;
  BoxColumns columns_;
  Layout shape_layout_;
  float threshold_;
  bool normalized_, keep_size_;
  BoxRotateMode mode_ = BoxRotateMode::kExpand;
};

TORCHDALI_OPERATOR("bbox_rotate")
    .doc(
        "Moves the bounding boxes of an image that fn.rotate rotates, with the same `angle`, "
        "`keep_size` and `size`. Boxes end at the edge of the rotated image, and those of which "
        "too little remains are removed.")
    .input("bboxes", "Boxes in the order of `bbox_layout`; float32, shape (boxes, 4).")
    .optional_input("labels", "One for each box, any element type; further dimensions are kept.")
    .output("rotated", "The boxes that remain, in the units and the order of the input.")
    .output("rotated_labels", "Their labels; only if labels are given.")
    .num_outputs([](const OpSpec& spec) { return spec.num_inputs > 1 ? 2 : 1; })
    .required_arg("angle", ArgType::kFloat, "Angle in degrees; counterclockwise.",
                  Arity::kPerSample)
    .required_arg("input_shape", ArgType::kIntVec,
                  "Shape of the image before the rotation, in `shape_layout`.", Arity::kPerSample)
    .arg("bbox_layout", Layout("xyXY"),
         "Order of the coordinates of a box: x, y for its start, X, Y for its end, or W, H for its "
         "extents.")
    .arg("bbox_normalized", true,
         "Coordinates are fractions of the image, before and after; otherwise pixels.")
    .arg("keep_size", false, "The rotated image has the size of the image, if there is no `size`.")
    .arg("mode", "expand",
         "The extents of a rotated box: \"expand\" (of the smallest box around it), \"fixed\" (as "
         "before, about the rotated center), or \"halfway\" between the two.")
    .arg("remove_threshold", 0.1f,
         "Boxes are removed if less than this part of their rotated area is inside the rotated "
         "image.")
    .arg("shape_layout", Layout("HW"),
         "Order of `input_shape` and `size`. Axes other than H and W are ignored: \"HWC\" takes "
         "the shape of an image.")
    .arg("size", std::vector<float>{},
         "Height and width of the rotated image in pixels, in the order in which `shape_layout` "
         "has them, without further axes. By default, it contains the whole image.",
         Arity::kPerSample)
    .cpu<BboxRotate>();

}  // namespace
}  // namespace torchdali
