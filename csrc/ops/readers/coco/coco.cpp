// SPDX-License-Identifier: Apache-2.0
// fn.readers.coco: images, boxes, labels and masks of a data set in COCO's format.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/masks/label_mask.h"
#include "ops/readers/coco/annotations.h"
#include "ops/readers/coco/preprocessed.h"
#include "ops/readers/reader.h"

namespace torchdali {
namespace {

class CocoReader final : public Reader {
 public:
  explicit CocoReader(const OpSpec& spec)
      : Reader(spec),
        file_(spec.get<std::string>("annotations_file")),
        folder_(spec.get<std::string>("preprocessed_annotations")),
        saved_to_(spec.get<std::string>("save_preprocessed_annotations_dir")),
        root_(spec.has("file_root") ? spec.get<std::string>("file_root") : ""),
        coordinates_per_vertex_(spec.get<bool>("masks") ? 2 : 1) {
    check_arguments(spec);
    if (!root_.empty() && root_.back() != '/') root_ += '/';
    parts_ = {.image_ids = spec.get<bool>("image_ids"),
              .polygons = spec.get<bool>("polygon_masks") || spec.get<bool>("masks"),
              .masks = spec.get<bool>("pixelwise_masks")};
    options_ = {.ltrb = spec.get<bool>("ltrb"),
                .ratio = spec.get<bool>("ratio"),
                .skip_empty = spec.get<bool>("skip_empty"),
                .include_iscrowd = spec.get<bool>("include_iscrowd"),
                .avoid_class_remapping = spec.get<bool>("avoid_class_remapping"),
                .polygons = parts_.polygons || (parts_.masks && !saved_to_.empty()),
                .masks = parts_.masks,
                .size_threshold = spec.get<float>("size_threshold")};
    if (spec.has("images")) options_.images = spec.get<std::vector<std::string>>("images");
    if (!spec.get<bool>("lazy_init")) prepare();
  }

  void run(SampleContext& ctx) const override {
    const uint32_t image = annotations_.image(index_of(ctx));
    sample_bytes(ctx, request(index_of(ctx))).copy_all([&ctx](int64_t bytes) {
      return ctx.output(0, DType::kUInt8, Shape{bytes}).data;
    });
    write_boxes(ctx, image);
    if (parts_.polygons) write_polygons(ctx, image);
    if (parts_.masks) write_mask(ctx, image);
    if (parts_.image_ids)
      *ctx.output(static_cast<int>(ctx.num_outputs()) - 1, DType::kInt32, Shape{1}).as<int32_t>() =
          static_cast<int32_t>(annotations_.image_ids[image]);
  }

 private:
  static void check_arguments(const OpSpec& spec) {
    const auto given = [&spec](const char* name) { return !spec.get<std::string>(name).empty(); };
    const bool preprocessed = given("preprocessed_annotations");
    TORCHDALI_CHECK(spec.has("file_root"), "`file_root` is not given",
                    to_fix("give the folder that the file names are relative to; \"\" is the "
                           "working directory"));
    TORCHDALI_CHECK(preprocessed || given("annotations_file"), "no annotations are given",
                    to_fix("give `annotations_file` (JSON) or `preprocessed_annotations` (a "
                           "folder)"));
    if (preprocessed)
      for (const char* name : {"annotations_file", "images", "skip_empty", "size_threshold", "ltrb",
                               "ratio", "include_iscrowd", "avoid_class_remapping"})
        TORCHDALI_CHECK(!spec.has(name), "`", name,
                        "` excludes `preprocessed_annotations`, which were made with or without it",
                        to_fix("read the JSON file, `annotations_file`"));
    TORCHDALI_CHECK(spec.get<bool>("save_preprocessed_annotations") ==
                        given("save_preprocessed_annotations_dir"),
                    "`save_preprocessed_annotations` and `save_preprocessed_annotations_dir` need "
                    "each other");
    TORCHDALI_CHECK(!spec.get<bool>("pixelwise_masks") ||
                        !(spec.get<bool>("polygon_masks") || spec.get<bool>("masks")),
                    "`pixelwise_masks` excludes `polygon_masks` and `masks`",
                    to_fix("use one reader for each"));
  }

  int64_t find_samples() override {
    annotations_ =
        folder_.empty() ? read_coco_file(file_, options_) : load_preprocessed(folder_, parts_);
    options_.images = {};
    const std::string& origin = folder_.empty() ? file_ : folder_;
    TORCHDALI_CHECK_KIND(kData, annotations_.size() > 0, "\"", origin, "\" has no images",
                         options_.skip_empty ? " with objects" : "");
    if (parts_.image_ids)
      for (const uint32_t image : annotations_.samples) {
        const int64_t id = annotations_.image_ids[image];
        TORCHDALI_CHECK_KIND(kData, id == static_cast<int32_t>(id), "\"", origin,
                             "\": the id of image ", id,
                             " does not fit into the int32 of the "
                             "output",
                             to_fix("leave out `image_ids`"));
      }
    if (!saved_to_.empty()) save_preprocessed(annotations_, saved_to_, parts_);
    return annotations_.size();
  }

  void append_path(uint32_t image, std::string& to) const {
    const std::string_view name = annotations_.name(image);
    if (!name.starts_with('/') && !io::is_remote(name)) to += root_;
    to += name;
  }

  io::ReadRequest request(int64_t index) const override {
    io::ReadRequest request;
    append_path(annotations_.image(index), request.path);
    return request;
  }

  std::unique_ptr<ReaderBatch> make_batch(std::span<const int64_t> indices) override {
    auto batch = std::make_unique<ReaderBatch>();
    auto names = std::make_shared<SampleNames>(root_);
    for (const int64_t index : indices) {
      const uint32_t image = annotations_.image(index);
      names->add([&](std::string& text) { append_path(image, text); });
      if (image < annotations_.widths.size())
        batch->sizes.push_back(pixels(annotations_.heights[image], annotations_.widths[image]));
    }
    batch->names = std::move(names);
    // Sizes are for all samples or for none.
    const bool all = std::find(batch->sizes.begin(), batch->sizes.end(), 0) == batch->sizes.end();
    if (!all) batch->sizes.clear();
    return batch;
  }

  static uint32_t pixels(int64_t height, int64_t width) {
    return static_cast<uint32_t>(
        std::min<int64_t>(height * width, std::numeric_limits<uint32_t>::max()));
  }

  void write_boxes(SampleContext& ctx, uint32_t image) const {
    const auto objects = annotations_.objects(image);
    const auto count = static_cast<int64_t>(objects.size());
    auto* box = ctx.output(1, DType::kFloat, {count, 4}).as<CocoAnnotations::Box>();
    auto* label = ctx.output(2, DType::kInt32, Shape{count}).as<int32_t>();
    for (const uint32_t object : objects) {
      *box++ = annotations_.boxes[object];
      *label++ = annotations_.labels[object];
    }
  }

  void write_polygons(SampleContext& ctx, uint32_t image) const {
    struct Polygon {
      int32_t object, begin, end;
    };
    int64_t polygons = 0, vertices = 0;
    for (const uint32_t object : annotations_.objects(image)) {
      const auto range = annotations_.polygons(object);
      polygons += range.size();
      vertices += annotations_.vertex_begins[range.end] - annotations_.vertex_begins[range.begin];
    }
    TORCHDALI_CHECK_KIND(kData, vertices <= std::numeric_limits<int32_t>::max() / 2,
                         "the polygons have ", vertices,
                         " vertices together, more than int32 can number");
    auto* polygon = ctx.output(3, DType::kInt32, {polygons, 3}).as<Polygon>();
    auto* vertex = ctx.output(4, DType::kFloat, {vertices, 2}).as<CocoAnnotations::Vertex>();
    int32_t number = 0, begin = 0;
    for (const uint32_t object : annotations_.objects(image)) {
      const auto range = annotations_.polygons(object);
      for (uint32_t i = range.begin; i < range.end; ++i) {
        const auto outline = annotations_.vertices(i);
        const int32_t end = begin + coordinates_per_vertex_ * static_cast<int32_t>(outline.size());
        *polygon++ = {number, begin, end};
        begin = end;
        vertex =
            std::copy_n(annotations_.vertex_list.begin() + outline.begin, outline.size(), vertex);
      }
      ++number;
    }
  }

  // Where objects overlap, the greatest label counts, as in DALI.
  void write_mask(SampleContext& ctx, uint32_t image) const {
    const int64_t height = annotations_.heights[image], width = annotations_.widths[image];
    auto* labels = ctx.output(3, DType::kInt32, {height, width, 1}, "HWC").as<int32_t>();
    std::memset(labels, 0, static_cast<size_t>(height * width) * sizeof(int32_t));
    const auto objects = annotations_.objects(image);
    std::vector<uint32_t> order(objects.begin(), objects.end());
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      return annotations_.labels[a] < annotations_.labels[b];
    });
    MaskPainter painter({labels, height, width});
    for (const uint32_t object : order) {
      const int32_t label = annotations_.labels[object];
      const auto polygons = annotations_.polygons(object);
      for (uint32_t i = polygons.begin; i < polygons.end; ++i)
        painter.paint_polygon(annotations_.outline(i), label);
      painter.paint_runs(annotations_.runs(object), label);
    }
  }

  std::string file_, folder_, saved_to_, root_;
  int32_t coordinates_per_vertex_;  // in the numbers of vertices; DALI's older `masks` counts two
  CocoOptions options_;
  PreprocessedParts parts_;
  CocoAnnotations annotations_;
};

TORCHDALI_OPERATOR("readers.coco")
    .doc(
        "Reads images and the annotations of their objects: boxes, labels and masks, from a JSON "
        "file in [COCO's format](https://cocodataset.org/#format-data).\n\n"
        "Samples are in the order of the images' ids, or in that of `images`. Objects are in the "
        "order of the file. After the first three outputs come those that are asked for: "
        "`polygon_masks`, two outputs, or `pixelwise_masks`, and then `image_ids`.\n\n"
        "Masks are those of pycocotools, bit for bit.")
    .output("images", "Contents of the image file; uint8 [size].")
    .output("boxes", "A box for each object; float32 [objects, 4].")
    .output("labels", "A label for each object; int32 [objects].")
    .output("polygons_or_masks",
            "With `polygon_masks`, the index of the object, the first vertex, and one past the "
            "last vertex of each polygon; int32 [polygons, 3]. With `pixelwise_masks`, the label "
            "of the object at each pixel, the greatest one if there are several, or 0; int32 "
            "[height, width, 1].")
    .output("vertices", "Only with `polygon_masks`: x and y of each; float32 [vertices, 2].")
    .output("image_ids", "Only with `image_ids`: the id of the image; int32 [1].")
    .num_outputs([](const OpSpec& spec) {
      const bool polygons = spec.get<bool>("polygon_masks") || spec.get<bool>("masks");
      return 3 + (polygons ? 2 : spec.get<bool>("pixelwise_masks")) + spec.get<bool>("image_ids");
    })
    .optional_arg("file_root", ArgType::kString,
                  "Required: the folder that file names are relative to.")
    .arg("annotations_file", "", "The JSON file.")
    .optional_arg("images", ArgType::kStringVec,
                  "The images to read, in this order, by their `file_name`s in the JSON file. By "
                  "default, all are read.")
    .arg("ltrb", false,
         "Boxes are left, top, right, bottom. Otherwise they are x, y, width, height.")
    .arg("ratio", false,
         "Boxes and vertices are fractions of the width and the height of the image. Pixelwise "
         "masks do not depend on it.")
    .arg("size_threshold", 0.1f,
         "Objects whose box has a smaller width or height, in pixels, are left out.")
    .arg("skip_empty", false, "Leave out images without objects.")
    .arg("include_iscrowd", true, "Otherwise, objects with `iscrowd` are left out.")
    .arg("avoid_class_remapping", false,
         "Labels are the ids of the categories. Otherwise they are the positions of the categories "
         "in the JSON file, from 1 on.")
    .arg("polygon_masks", false,
         "Return the polygons of the objects. Masks of run lengths have none.")
    .arg("masks", false,
         "Deprecated: like `polygon_masks`, but the first and the last vertex of a polygon are "
         "given as numbers of coordinates, two for each vertex.")
    .arg("pixelwise_masks", false, "Return the labels of the objects at each pixel.")
    .arg("image_ids", false, "Return the ids of the images.")
    .arg("preprocessed_annotations", "",
         "Folder of files that `save_preprocessed_annotations` wrote, here or in DALI, instead of "
         "the JSON file. The arguments that select and convert objects are those with which they "
         "were written, and cannot be given.")
    .arg("save_preprocessed_annotations", false,
         "Write the annotations to `save_preprocessed_annotations_dir`, in DALI's format.")
    .arg("save_preprocessed_annotations_dir", "", "An existing folder.")
    .deprecated_arg("save_img_ids", ArgType::kBool, "Old name of `image_ids`.", "image_ids")
    .deprecated_arg("meta_files_path", ArgType::kString, "Old name of `preprocessed_annotations`.",
                    "preprocessed_annotations")
    .deprecated_arg("dump_meta_files", ArgType::kBool,
                    "Old name of `save_preprocessed_annotations`.", "save_preprocessed_annotations")
    .deprecated_arg("dump_meta_files_path", ArgType::kString,
                    "Old name of `save_preprocessed_annotations_dir`.",
                    "save_preprocessed_annotations_dir")
    .with(reader_args)
    .cpu<CocoReader>();

}  // namespace
}  // namespace torchdali
