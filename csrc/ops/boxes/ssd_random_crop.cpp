// SPDX-License-Identifier: Apache-2.0
// fn.ssd_random_crop: the random crop of an image and its boxes that the SSD detector is trained
// with. Source: Liu et al., "SSD: Single Shot MultiBox Detector", 2016, section 2.2.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/memory/stream_copy.h"
#include "core/operator.h"
#include "ops/boxes/box_columns.h"
#include "ops/boxes/crop_search.h"
#include "ops/input_layout.h"

namespace torchdali {
namespace {

class SsdRandomCrop final : public Operator {
 public:
  explicit SsdRandomCrop(const OpSpec& spec) : layout_(spec, 0) {
    search_.ndim = 2;
    search_.thresholds = {0.0f, 0.1f, 0.3f, 0.5f, 0.7f, 0.9f};
    search_.intersection_over_union = search_.all_boxes = search_.allow_no_crop = true;
    search_.num_attempts = spec.get<int>("num_attempts");
    TORCHDALI_CHECK(search_.num_attempts > 0, "`num_attempts` is ", search_.num_attempts,
                    ", expected 1 or more");
    search_.total_num_attempts = -1;
    search_.scaling = {0.3f, 1.0f};
    search_.aspect_ratios.assign(3, {0.5f, 2.0f});
  }

  void run(SampleContext& ctx) const override {
    const SampleView& image = ctx.input(0);
    const Layout layout = layout_(image);
    const std::vector<Extent> boxes = read_boxes(ctx.input(1));
    TORCHDALI_CHECK(image.shape[0] > 0 && image.shape[1] > 0, "the image has shape ", image.shape,
                    ": it is empty");
    RandomStream random = ctx.random();
    CropSearch::Result found = search_.run(boxes, random);
    if (!found.found) {  // nothing fits: the whole image
      found = {};
      for (size_t i = 0; i < boxes.size(); ++i) found.kept.push_back(static_cast<int32_t>(i));
    }
    cut(ctx, layout, found.window);
    write_boxes(ctx, boxes, found);
    keep_labels(ctx, 2, found.kept, boxes.size(), 2);
  }

 private:
  static std::vector<Extent> read_boxes(const SampleView& in) {
    TORCHDALI_CHECK_KIND(kType, in.dtype == DType::kFloat, "input `boxes` is ",
                         dtype_name(in.dtype), ", expected float32");
    TORCHDALI_CHECK(in.shape.ndim() == 2 && in.shape[1] == 4, "input `boxes` has shape ", in.shape,
                    ", expected (boxes, 4)");
    std::vector<Extent> boxes(static_cast<size_t>(in.shape[0]));
    const float* row = in.as<const float>();
    for (Extent& box : boxes) {
      for (size_t d = 0; d < 2; ++d) {
        box.start[d] = row[d];
        box.end[d] = row[d + 2];
        TORCHDALI_CHECK(box.start[d] >= 0 && box.end[d] <= 1 && box.start[d] <= box.end[d],
                        "a box goes from ", box.start[d], " to ", box.end[d], " in ", kBoxStarts[d],
                        ", expected fractions of the image, 0 to 1");
      }
      row += 4;
    }
    return boxes;
  }

  static void cut(SampleContext& ctx, const Layout& layout, const Extent& window) {
    const SampleView& image = ctx.input(0);
    int64_t begin[2], size[2];  // x and y
    for (size_t d = 0; d < 2; ++d) {
      const int64_t extent = image.shape[d == 0 ? 1 : 0];
      const auto at = [&](float x) {
        return std::clamp<int64_t>(std::lround(x * static_cast<float>(extent)), 0, extent);
      };
      begin[d] = std::min(at(window.start[d]), extent - 1);
      size[d] = std::max<int64_t>(at(window.end[d]) - begin[d], 1);
    }
    const int64_t channels = image.shape[2];
    const int64_t pixel = channels * itemsize(image.dtype);
    char* from = image.as<char>() + (begin[1] * image.shape[1] + begin[0]) * pixel;
    const Shape shape{size[1], size[0], channels};
    if (size[0] == image.shape[1]) {
      ctx.share_input(0, 0, {.data = from, .dtype = image.dtype, .shape = shape, .layout = layout});
      return;
    }
    const SampleView& out = ctx.output(0, image.dtype, shape, layout);
    const bool stream = ctx.is_read_later(0);
    const auto bytes = static_cast<size_t>(size[0] * pixel);
    char* to = out.as<char>();
    for (int64_t y = 0; y < size[1]; ++y, from += image.shape[1] * pixel, to += bytes) {
      if (stream) stream_run(to, from, bytes);
      else if (bytes > 0) std::memcpy(to, from, bytes);
    }
    if (stream) stream_fence();
  }

  static void write_boxes(SampleContext& ctx, const std::vector<Extent>& boxes,
                          const CropSearch::Result& found) {
    const Extent& window = found.window;
    float* row =
        ctx.output(1, DType::kFloat, {static_cast<int64_t>(found.kept.size()), 4}).as<float>();
    for (const int32_t i : found.kept) {
      const Extent& box = boxes[static_cast<size_t>(i)];
      for (size_t d = 0; d < 2; ++d) {
        const auto map = [&](float x) {
          const float size = window.end[d] - window.start[d];
          return std::clamp((x - window.start[d]) / size, 0.0f, 1.0f);
        };
        row[d] = map(box.start[d]);
        row[d + 2] = map(box.end[d]);
      }
      row += 4;
    }
  }

  InputLayout layout_;
  CropSearch search_{};
};

TORCHDALI_OPERATOR("ssd_random_crop")
    .doc(
        "Crops an image and its bounding boxes with a random window, as SSD is trained. A choice "
        "is drawn for every `num_attempts` windows, uniformly: the whole image, or a window whose "
        "intersection over union with each box is at least 0, 0.1, 0.3, 0.5, 0.7 or 0.9. Windows "
        "have 0.3 to 1 of the image's width and height, with a ratio of these two of 0.5 to 2; "
        "boxes "
        "whose center is outside are dropped, and one must remain. DALI deprecates it in favor of "
        "fn.random_bbox_crop.")
    .input("image", "An image, any element type.", {"HWC"})
    .input("boxes",
           "Left, top, right, bottom as fractions of the image; float32, shape (boxes, 4).")
    .input("labels", "One for each box, any element type; further dimensions are kept.")
    .output("cropped", "The window of the image.")
    .output("cropped_boxes", "The boxes kept, as fractions of the window.")
    .output("cropped_labels", "Their labels.")
    .arg("num_attempts", 1, "Number of windows that are tried with each choice.")
    .random()
    .cpu<SsdRandomCrop>();

}  // namespace
}  // namespace torchdali
