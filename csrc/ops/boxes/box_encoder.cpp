// SPDX-License-Identifier: Apache-2.0
// fn.box_encoder: assigns boxes to anchors, by the matching strategy of SSD (Liu et al., "SSD:
// Single Shot MultiBox Detector", 2016).
#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/boxes/box_match.h"
#include "kernels/boxes/box_match_gpu.h"
#include "kernels/convert.h"

namespace torchdali {
namespace {

using kernels::Box;
using kernels::CenterSize;

// The anchors, one array for each coordinate, so that the loop over them is vectorized.
struct Anchors {
  std::vector<float> left, top, right, bottom, area;

  size_t size() const { return left.size(); }
  void add(const Box& b) {
    left.push_back(b.left);
    top.push_back(b.top);
    right.push_back(b.right);
    bottom.push_back(b.bottom);
    area.push_back(b.area());
  }
  // Intersection over union with each anchor; 0 if they do not overlap, or a number is NaN.
  void overlaps(const Box& box, float* __restrict values) const {
    const float *l = left.data(), *t = top.data(), *r = right.data(), *b = bottom.data();
    const float *areas = area.data(), own = box.area();
    for (size_t i = 0; i < size(); ++i)
      values[i] = kernels::box_overlap(std::min(box.right, r[i]) - std::max(box.left, l[i]),
                                       std::min(box.bottom, b[i]) - std::max(box.top, t[i]),
                                       own + areas[i]);
  }
};

class BoxEncoderArgs {
 public:
  explicit BoxEncoderArgs(const OpSpec& spec)
      : criteria(spec.get<float>("criteria")),
        offset(spec.get<bool>("offset")),
        by{.scale = spec.get<float>("scale"), .means = {}, .stds = {}} {
    read_four(spec, "means", by.means);
    read_four(spec, "stds", by.stds);
    TORCHDALI_CHECK(criteria >= 0 && criteria <= 1, "`criteria` is ", criteria,
                    ", expected 0 to 1");
    for (const float s : by.stds) TORCHDALI_CHECK(s != 0, "`stds` has 0, by which it would divide");
    const auto numbers = spec.get<std::vector<float>>("anchors");
    TORCHDALI_CHECK(!numbers.empty() && numbers.size() % 4 == 0, "`anchors` has ", numbers.size(),
                    " values, expected 4 for each anchor: left, top, right, bottom");
    for (size_t i = 0; i < numbers.size(); i += 4)
      anchors.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  }

  // Makes the outputs; returns the number of boxes.
  size_t operator()(SampleContext& ctx) const {
    const SampleView &boxes = ctx.input(0), &labels = ctx.input(1);
    TORCHDALI_CHECK_KIND(kType, boxes.dtype == DType::kFloat, "input `boxes` is ",
                         dtype_name(boxes.dtype), ", expected float32");
    TORCHDALI_CHECK(boxes.shape.ndim() == 2 && (boxes.shape[1] == 4 || boxes.shape[0] == 0),
                    "input `boxes` has shape ", boxes.shape, ", expected (boxes, 4)");
    TORCHDALI_CHECK(labels.volume() == boxes.shape[0], "input `labels` has shape ", labels.shape,
                    ", expected one for each of the ", boxes.shape[0], " boxes");
    TORCHDALI_CHECK_KIND(kType, !is_floating(labels.dtype), "input `labels` is ",
                         dtype_name(labels.dtype), ", expected integers");
    const auto count = static_cast<int64_t>(anchors.size());
    ctx.output(0, DType::kFloat, {count, 4});
    ctx.output(1, DType::kInt32, {count});
    return static_cast<size_t>(boxes.shape[0]);
  }

  float criteria;
  bool offset;
  kernels::BoxOffsets by;
  std::vector<Box> anchors;

 private:
  static void read_four(const OpSpec& spec, const char* name, float (&to)[4]) {
    const auto values = spec.get<std::vector<float>>(name);
    TORCHDALI_CHECK(values.size() == 4, "`", name, "` has ", values.size(),
                    values.size() == 1 ? " value" : " values", ", expected 4 (x, y, w, h)");
    std::copy(values.begin(), values.end(), to);
  }
};

class BoxEncoder final : public Operator {
 public:
  explicit BoxEncoder(const OpSpec& spec) : args_(spec) {
    for (const Box& anchor : args_.anchors) anchors_.add(anchor);
  }

  void run(SampleContext& ctx) const override {
    const size_t boxes = args_(ctx);
    const SampleView& labels = ctx.input(1);
    const std::span<const Box> given(ctx.input(0).as<const Box>(), boxes);
    const auto matches = match(ctx, given);
    auto* out = ctx.output_view(0).as<CenterSize>();
    auto* out_labels = ctx.output_view(1).as<int32_t>();
    for (size_t a = 0; a < anchors_.size(); ++a) {
      const CenterSize anchor = kernels::center_size(args_.anchors[a]);
      if (matches[a] < 0) {
        out_labels[a] = 0;
        out[a] = args_.offset ? CenterSize{} : anchor;
        continue;
      }
      const CenterSize box = kernels::center_size(given[static_cast<size_t>(matches[a])]);
      out[a] = args_.offset ? kernels::box_offset(box, anchor, args_.by) : box;
      out_labels[a] = dispatch_dtype(labels.dtype, [&]<class T>() {
        return kernels::convert<int32_t>(labels.as<const T>()[matches[a]]);
      });
    }
  }

 private:
  // The index of the box of each anchor, or -1. First, each box gets the anchor that it overlaps
  // most. Other anchors get the box that overlaps them most, if by more than `criteria`. The later
  // box wins a tie.
  std::span<const int32_t> match(SampleContext& ctx, std::span<const Box> boxes) const {
    const size_t count = anchors_.size();
    const auto matches = ctx.scratch<int32_t>(count);
    const auto best = ctx.scratch<float>(count), values = ctx.scratch<float>(count);
    const auto taken = ctx.scratch<size_t>(boxes.size());
    std::fill(matches.begin(), matches.end(), -1);
    std::fill(best.begin(), best.end(), args_.criteria);
    for (size_t b = 0; b < boxes.size(); ++b) {
      anchors_.overlaps(boxes[b], values.data());
      taken[b] = count - 1;
      float most = values[count - 1];
      for (size_t a = count - 1; a-- > 0;) {
        if (values[a] <= most) continue;
        most = values[a];
        taken[b] = a;
      }
      const int32_t box = static_cast<int32_t>(b);
      for (size_t a = 0; a < count; ++a) {
        const int has_box = matches[a] >= 0;
        const bool better = kernels::is_better_box(values[a], best[a], has_box) != 0;
        best[a] = better ? values[a] : best[a];
        matches[a] = better ? box : matches[a];
      }
    }
    for (size_t b = 0; b < boxes.size(); ++b) matches[taken[b]] = static_cast<int32_t>(b);
    return matches;
  }

  BoxEncoderArgs args_;
  Anchors anchors_;
};

struct BoxEncoderSteps final : gpu::TaskBatch {
  gpu::Tasks<gpu::ScanAnchorsKernel> scans{*this};
  gpu::Tasks<gpu::TakeAnchorKernel> takes{*this};
  gpu::Tasks<gpu::MatchBoxesKernel> matches{*this};
  gpu::Tasks<gpu::EncodeBoxesKernel> boxes{*this};
  gpu::Tasks<gpu::LabelAnchorsKernel> labels{*this};
};

class BoxEncoderGpu final : public gpu::StepsOperator<BoxEncoderSteps> {
 public:
  explicit BoxEncoderGpu(const OpSpec& spec) : args_(spec) {}

  void run(SampleContext& ctx) const override {
    // Threads that search the anchor of a box.
    constexpr int64_t kParts = 64;
    const auto boxes = static_cast<int64_t>(args_(ctx));
    const auto count = static_cast<int64_t>(args_.anchors.size());
    BoxEncoderSteps& steps = this->steps(ctx);
    const gpu::BlobOffset anchors = steps.blob.keep_once(std::span(args_.anchors));
    const auto reserve = [&]<class T>(std::type_identity<T>, int64_t n) {
      return static_cast<T*>(steps.workspace.reserve(n * static_cast<int64_t>(sizeof(T))));
    };

    gpu::ScanAnchorsTask scan;
    scan.in = ctx.input(0).data;
    scan.anchors = count;
    scan.parts = std::min(kParts, count);
    scan.size = boxes * scan.parts;
    scan.out = reserve(std::type_identity<kernels::BoxCandidate>{}, scan.size);
    scan.anchor_list = anchors;
    steps.scans.add_intermediate(scan);

    auto* taken = reserve(std::type_identity<int32_t>{}, boxes);
    gpu::TakeAnchorTask take;
    take.in = scan.out;
    take.out = taken;
    take.size = boxes;
    take.parts = scan.parts;
    steps.takes.add_intermediate(take);

    auto* matches = reserve(std::type_identity<int32_t>{}, count);
    gpu::MatchBoxesTask match;
    match.in = scan.in;
    match.out = matches;
    match.size = count;
    match.boxes = boxes;
    match.taken = taken;
    match.anchor_list = anchors;
    match.criteria = args_.criteria;
    steps.matches.add_intermediate(match);

    gpu::EncodeBoxesTask encode;
    encode.in = scan.in;
    encode.out = ctx.output_view(0).data;
    encode.size = count;
    encode.offset = args_.offset;
    encode.by = args_.by;
    encode.matches = matches;
    encode.anchor_list = anchors;
    steps.boxes.add(ctx, encode, 0);

    gpu::LabelAnchorsTask label;
    label.in = ctx.input(1).data;
    label.out = ctx.output_view(1).data;
    label.size = count;
    label.in_dtype = ctx.input(1).dtype;
    label.matches = matches;
    steps.labels.add(ctx, label, 1);
  }

 private:
  BoxEncoderArgs args_;
};

TORCHDALI_OPERATOR("box_encoder")
    .doc(
        "Assigns boxes and their labels to anchors (default boxes), as in SSD: each box gets the "
        "anchor that it overlaps most, and every other anchor gets the box that overlaps it most, "
        "if by more than `criteria`.")
    .input("boxes", "Boxes: left, top, right, bottom; float32, shape (boxes, 4).")
    .input("labels", "One for each box; integers of any type.")
    .output("encoded",
            "For each anchor its box, or the anchor itself if it has none: x and y of the center, "
            "width, height; float32, shape (anchors, 4). With `offset`, the difference of box and "
            "anchor, 0 without a box.")
    .output("encoded_labels", "For each anchor the label of its box, 0 if it has none; int32.")
    .required_arg("anchors", ArgType::kFloatVec, "The anchors: left, top, right, bottom of each.")
    .arg("criteria", 0.5f, "Intersection over union that an anchor and a box must exceed, 0 to 1.")
    .arg("offset", false,
         "Return ((box - anchor) / anchor's size - means) / stds for centers, and (log(box's size "
         "/ anchor's size) - means) / stds.")
    .arg("scale", 1.0f, "With `offset`, a factor of boxes and anchors.")
    .arg("means", std::vector<float>{0.0f, 0.0f, 0.0f, 0.0f},
         "With `offset`, subtracted from x, y, width and height.")
    .arg("stds", std::vector<float>{1.0f, 1.0f, 1.0f, 1.0f},
         "With `offset`, divisors of x, y, width and height.")
    .cpu<BoxEncoder>()
    .gpu<BoxEncoderGpu>();

}  // namespace
}  // namespace torchdali
