// SPDX-License-Identifier: Apache-2.0
// fn.random_bbox_crop: crops bounding boxes with a random window, which crop_search.h finds.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/argument.h"
#include "core/operator.h"
#include "ops/boxes/box_columns.h"
#include "ops/boxes/crop_search.h"

namespace torchdali {
namespace {

class RandomBboxCrop final : public Operator {
 public:
  explicit RandomBboxCrop(const OpSpec& spec)
      : crop_shape_(spec, "crop_shape"), input_shape_(spec, "input_shape") {
    search_.thresholds = spec.get<std::vector<float>>("thresholds");
    TORCHDALI_CHECK(!search_.thresholds.empty(), "`thresholds` is empty, expected at least one");
    for (const float t : search_.thresholds)
      TORCHDALI_CHECK(t >= 0 && t <= 1, "`thresholds` has ", t, ", expected 0 to 1");
    const auto type = spec.get<std::string>("threshold_type");
    TORCHDALI_CHECK(type == "iou" || type == "overlap", "`threshold_type` is \"", type,
                    "\", expected \"iou\" or \"overlap\"");
    search_.intersection_over_union = type == "iou";
    search_.all_boxes = spec.get<bool>("all_boxes_above_threshold");
    search_.allow_no_crop = spec.get<bool>("allow_no_crop");
    search_.num_attempts = spec.get<int>("num_attempts");
    TORCHDALI_CHECK(search_.num_attempts > 0, "`num_attempts` is ", search_.num_attempts,
                    ", expected 1 or more");
    search_.total_num_attempts = spec.get<int64_t>("total_num_attempts");
    TORCHDALI_CHECK(!spec.has("total_num_attempts") || search_.total_num_attempts != 0,
                    "`total_num_attempts` is 0, expected 1 or more, or -1 for no end");
    const auto scaling = spec.get<std::vector<float>>("scaling");
    TORCHDALI_CHECK(scaling.size() == 2 && scaling[0] >= 0 && scaling[0] <= scaling[1] &&
                        std::isfinite(scaling[1]),
                    "`scaling` must be two numbers (min, max) with 0 <= min <= max");
    search_.scaling = {scaling[0], scaling[1]};
    const auto ratios = spec.get<std::vector<float>>("aspect_ratio");
    TORCHDALI_CHECK(ratios.size() == 2 || ratios.size() == 6, "`aspect_ratio` has ", ratios.size(),
                    " values, expected (min, max), or three such pairs for boxes in space");
    for (size_t i = 0; i < ratios.size(); i += 2) {
      TORCHDALI_CHECK(ratios[i] >= 0 && ratios[i] <= ratios[i + 1] && ratios[i + 1] > 0,
                      "`aspect_ratio` has the range ", ratios[i], " to ", ratios[i + 1],
                      ", expected 0 <= min <= max");
      search_.aspect_ratios.push_back({ratios[i], ratios[i + 1]});
    }
    search_.aspect_ratios.resize(3, search_.aspect_ratios[0]);
    if (spec.has("bbox_prune_threshold"))
      search_.prune_threshold = spec.get<float>("bbox_prune_threshold");
    TORCHDALI_CHECK(!crop_shape_.given() || input_shape_.given(),
                    "`crop_shape` needs `input_shape`");
    for (const char* name : {"scaling", "aspect_ratio"})
      TORCHDALI_CHECK(!crop_shape_.given() || !spec.has(name), "`crop_shape` excludes `", name,
                      "`");
    TORCHDALI_CHECK(!crop_shape_.given() || !spec.has("allow_no_crop") || !search_.allow_no_crop,
                    "`crop_shape` excludes `allow_no_crop`");
    TORCHDALI_CHECK(!spec.has("ltrb") || !spec.has("bbox_layout"),
                    "`ltrb` excludes `bbox_layout`: give one or the other");
    if (spec.has("bbox_layout")) layout_ = spec.get<Layout>("bbox_layout");
    if (spec.has("shape_layout")) shape_layout_ = spec.get<Layout>("shape_layout");
    ltrb_ = spec.get<bool>("ltrb");
    quiet_ = spec.get<bool>("quiet");
    output_indices_ = spec.get<bool>("output_bbox_indices");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `boxes` is ",
                         dtype_name(in.dtype), ", expected float32");
    TORCHDALI_CHECK(in.shape.ndim() == 2 && (in.shape[1] == 4 || in.shape[1] == 6),
                    "input `boxes` has shape ", in.shape,
                    ", expected (boxes, 4), or (boxes, 6) in space");
    CropSearch search = search_;
    search.ndim = static_cast<int>(in.shape[1] / 2);
    const BoxColumns columns = BoxColumns::of(layout_, search.ndim, !ltrb_);
    const std::vector<Extent> boxes = read_boxes(in, columns);
    set_shapes(ctx, search);
    RandomStream random = ctx.random();
    const CropSearch::Result result = search.run(boxes, random);
    if (!result.found && !quiet_)
      std::fprintf(stderr,
                   "torchdali: fn.random_bbox_crop found no window that fits the boxes of a sample "
                   "and uses the best one that it tried. Relax the constraints or allow more "
                   "attempts; quiet=True silences this warning.\n");
    write(ctx, search, result, boxes, columns);
  }

 private:
  static std::vector<Extent> read_boxes(const SampleView& in, const BoxColumns& columns) {
    std::vector<Extent> boxes(static_cast<size_t>(in.shape[0]));
    const float* row = in.as<const float>();
    for (size_t i = 0; i < boxes.size(); ++i, row += in.shape[1]) {
      for (int d = 0; d < columns.ndim; ++d) {
        const float start = row[columns.start[d]];
        const float end = row[columns.end[d]] + (columns.sizes ? start : 0.0f);
        TORCHDALI_CHECK(start >= 0 && start <= 1 && end >= 0 && end <= 1, "box ", i, " goes from ",
                        start, " to ", end, " in ", kBoxStarts[d],
                        ", expected fractions of the image, 0 to 1");
        boxes[i].start[d] = start;
        boxes[i].end[d] = end;
      }
    }
    return boxes;
  }

  void set_shapes(SampleContext& ctx, CropSearch& search) const {
    static thread_local std::vector<int64_t> buffer;
    const Layout standard{std::string_view(kBoxSizes, static_cast<size_t>(search.ndim))};
    const Layout layout = shape_layout_.empty() ? standard : shape_layout_;
    TORCHDALI_CHECK_KIND(kLayout, is_order_of(layout, standard.str()), "`shape_layout` is ", layout,
                         ", expected an order of ", standard);
    const auto read = [&](const ListArg<int64_t>& arg, const char* name) {
      const auto values = arg(ctx, buffer);
      TORCHDALI_CHECK(static_cast<int>(values.size()) == search.ndim, "`", name, "` has ",
                      values.size(), values.size() == 1 ? " value" : " values", ", expected ",
                      search.ndim);
      std::array<int64_t, 3> shape{1, 1, 1};
      for (int d = 0; d < search.ndim; ++d) {
        shape[d] = values[static_cast<size_t>(layout.find(kBoxSizes[d]))];
        TORCHDALI_CHECK(shape[d] > 0 && shape[d] < (int64_t{1} << 31), "`", name, "` has ",
                        shape[d], ", expected 1 or more");
      }
      return shape;
    };
    if (input_shape_.given()) {
      const auto shape = read(input_shape_, "input_shape");
      for (int d = 0; d < search.ndim; ++d) search.input_shape[d] = static_cast<float>(shape[d]);
    }
    if (crop_shape_.given()) search.crop_shape = read(crop_shape_, "crop_shape");
  }

  void write(SampleContext& ctx, const CropSearch& search, const CropSearch::Result& result,
             std::span<const Extent> boxes, const BoxColumns& columns) const {
    const int ndim = search.ndim;
    float* anchor = ctx.output(0, DType::kFloat, {ndim}).as<float>();
    float* shape = ctx.output(1, DType::kFloat, {ndim}).as<float>();
    const Extent& window = result.window;
    for (int d = 0; d < ndim; ++d) {
      const bool fixed = search.crop_shape.has_value();
      anchor[d] = fixed ? static_cast<float>(result.start[d]) : window.start[d];
      shape[d] =
          fixed ? static_cast<float>((*search.crop_shape)[d]) : window.end[d] - window.start[d];
    }
    const int64_t count = static_cast<int64_t>(result.kept.size());
    float* row = ctx.output(2, DType::kFloat, {count, 2 * ndim}).as<float>();
    for (const int32_t i : result.kept) {
      const Extent& box = boxes[static_cast<size_t>(i)];
      for (int d = 0; d < ndim; ++d) {
        const float size = window.end[d] - window.start[d];
        const auto map = [&](float x) {
          return size > 0 ? std::clamp((x - window.start[d]) / size, 0.0f, 1.0f) : 0.0f;
        };
        const float start = map(box.start[d]), end = map(box.end[d]);
        row[columns.start[d]] = start;
        row[columns.end[d]] = columns.sizes ? end - start : end;
      }
      row += 2 * ndim;
    }
    int next = 3;
    if (ctx.num_inputs() > 1) keep_labels(ctx, next++, result.kept, boxes.size());
    if (output_indices_)
      std::copy(result.kept.begin(), result.kept.end(),
                ctx.output(next, DType::kInt32, {count}).as<int32_t>());
  }

  CropSearch search_{};
  ListArg<int64_t> crop_shape_, input_shape_;
  Layout layout_, shape_layout_;
  bool ltrb_, quiet_, output_indices_;
};

TORCHDALI_OPERATOR("random_bbox_crop")
    .doc(
        "Draws windows of an image until one keeps enough of its bounding boxes, and crops the "
        "boxes with it. A threshold is drawn from `thresholds` for every `num_attempts` windows, "
        "and "
        "after a window that meets it but keeps no box. A window has random extents in `scaling` "
        "with an aspect ratio in `aspect_ratio`, or the "
        "extents `crop_shape`.")
    .input("boxes",
           "Boxes in the order of `bbox_layout`, fractions of the image, 0 to 1; float32, shape "
           "(boxes, 4), or (boxes, 6) for volumes.")
    .optional_input("labels", "One for each box, any element type; further dimensions are kept.")
    .output("anchor",
            "Start of the window: x, y (, z); float32, fractions of the image, or pixels with "
            "`crop_shape`.")
    .output("shape", "Extents of the window, like `anchor`.")
    .output("cropped_boxes", "The boxes kept, as fractions of the window, in `bbox_layout`.")
    .output("cropped_labels", "Their labels; only if labels are given.")
    .output("indices", "Their indices in `boxes`, int32; only with `output_bbox_indices`.")
    .num_outputs([](const OpSpec& spec) {
      return 3 + (spec.num_inputs > 1) + spec.get<bool>("output_bbox_indices");
    })
    .arg("all_boxes_above_threshold", true,
         "All boxes must reach the threshold; otherwise one of them.")
    .arg("allow_no_crop", true,
         "The whole image is a further possible result, as likely as each threshold. Has no effect "
         "with `crop_shape`.")
    .arg("aspect_ratio", std::vector<float>{1.0f, 1.0f},
         "Range of the window's width / height, in pixels if `input_shape` is given, else in "
         "fractions of the image. For volumes: one range for all, or x/y, x/z, y/z.")
    .optional_arg("bbox_layout", ArgType::kLayout,
                  "Order of the coordinates of a box: x, y, z for its start, X, Y, Z for its end, "
                  "or W, H, D for its extents; \"xyXY\" (\"xyzXYZ\") by default.")
    .optional_arg("bbox_prune_threshold", ArgType::kFloat,
                  "Boxes of which at most this part is inside the window are dropped. By default, "
                  "boxes whose center is outside are dropped.")
    .optional_arg("crop_shape", ArgType::kIntVec,
                  "Extents of the window in pixels, in `shape_layout`. Needs `input_shape`, "
                  "excludes `scaling` and `aspect_ratio`.",
                  Arity::kPerSample)
    .optional_arg("input_shape", ArgType::kIntVec,
                  "Extents of the image in pixels, in `shape_layout`.", Arity::kPerSample)
    .arg("ltrb", true,
         "Older form of `bbox_layout`: \"xyXY\" if true, \"xyWH\" if false. Excludes it.")
    .arg("num_attempts", 1, "Number of windows that are tried with each threshold.")
    .arg("output_bbox_indices", false, "Return the indices of the boxes kept.")
    .arg("quiet", false, "Print no warning if no window was found.")
    .arg("scaling", std::vector<float>{1.0f, 1.0f},
         "Range of the window's extents, as fractions of the image. A window that is larger than "
         "the image is placed around it.")
    .optional_arg("shape_layout", ArgType::kLayout,
                  "Order of `crop_shape` and `input_shape`; \"WH\" (\"WHD\") by default.")
    .arg("threshold_type", "iou",
         "The measure that thresholds are for: \"iou\", the intersection over union of box and "
         "window, or \"overlap\", the part of the box inside the window.")
    .arg("thresholds", std::vector<float>{0.0f}, "Thresholds to draw from, 0 to 1.")
    .arg("total_num_attempts", -1,
         "Total number of windows to try, at most 1,000,000; then the best one is used. Each drawn "
         "threshold counts as `num_attempts`. -1: the best of 100,000 is used.")
    .random()
    .cpu<RandomBboxCrop>();

}  // namespace
}  // namespace torchdali
