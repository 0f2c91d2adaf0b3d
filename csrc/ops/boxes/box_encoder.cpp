// SPDX-License-Identifier: Apache-2.0
// fn.box_encoder: gives each anchor the box that it stands for, as SSD trains on (Liu et al., "SSD:
// Single Shot MultiBox Detector", 2016, matching strategy).
#include <algorithm>
#include <array>
#include <cmath>

#include "core/operator.h"
#include "kernels/convert.h"

namespace torchdali {
namespace {

struct Box {
  float left, top, right, bottom;
  float area() const { return (right - left) * (bottom - top); }
};
using CenterSize = std::array<float, 4>;  // x and y of the centre, width, height

CenterSize center_size(const Box& b) {
  return {0.5f * (b.left + b.right), 0.5f * (b.top + b.bottom), b.right - b.left, b.bottom - b.top};
}

// The anchors, one array for each number, so that the loop over them is a vector.
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
  Box operator[](size_t i) const { return {left[i], top[i], right[i], bottom[i]}; }
  // Intersection over union with each; 0 where they do not overlap, or where a number is NaN.
  void overlaps(const Box& box, float* __restrict values) const {
    const float *l = left.data(), *t = top.data(), *r = right.data(), *b = bottom.data();
    const float *areas = area.data(), own = box.area();
    for (size_t i = 0; i < size(); ++i) {
      const float width = std::min(box.right, r[i]) - std::max(box.left, l[i]);
      const float height = std::min(box.bottom, b[i]) - std::max(box.top, t[i]);
      const float common = (width > 0 ? width : 0.0f) * (height > 0 ? height : 0.0f);
      const float value = common / (own + areas[i] - common);
      values[i] = value > 0 ? value : 0.0f;
    }
  }
};

class BoxEncoder final : public Operator {
 public:
  explicit BoxEncoder(const OpSpec& spec)
      : criteria_(spec.get<float>("criteria")),
        offset_(spec.get<bool>("offset")),
        scale_(spec.get<float>("scale")),
        means_(four(spec, "means")),
        stds_(four(spec, "stds")) {
    TORCHDALI_CHECK(criteria_ >= 0 && criteria_ <= 1, "`criteria` is ", criteria_,
                    ", expected 0 to 1");
    for (const float s : stds_) TORCHDALI_CHECK(s != 0, "`stds` has 0, by which it would divide");
    const auto anchors = spec.get<std::vector<float>>("anchors");
    TORCHDALI_CHECK(!anchors.empty() && anchors.size() % 4 == 0, "`anchors` has ", anchors.size(),
                    " values, expected 4 for each anchor: left, top, right, bottom");
    for (size_t i = 0; i < anchors.size(); i += 4)
      anchors_.add({anchors[i], anchors[i + 1], anchors[i + 2], anchors[i + 3]});
  }

  void run(SampleContext& ctx) const override {
    const SampleView &boxes = ctx.input(0), &labels = ctx.input(1);
    TORCHDALI_CHECK_KIND(kType, boxes.dtype == DType::kFloat, "input `boxes` is ",
                         dtype_name(boxes.dtype), ", expected float32");
    TORCHDALI_CHECK(boxes.shape.ndim() == 2 && (boxes.shape[1] == 4 || boxes.shape[0] == 0),
                    "input `boxes` has shape ", boxes.shape, ", expected (boxes, 4)");
    TORCHDALI_CHECK(labels.volume() == boxes.shape[0], "input `labels` has shape ", labels.shape,
                    ", expected one for each of the ", boxes.shape[0], " boxes");
    TORCHDALI_CHECK_KIND(kType, !is_floating(labels.dtype), "input `labels` is ",
                         dtype_name(labels.dtype), ", expected integers");
    const std::span<const Box> given(boxes.as<const Box>(), static_cast<size_t>(boxes.shape[0]));
    const auto matches = match(ctx, given);

    const int64_t count = static_cast<int64_t>(anchors_.size());
    auto* out = ctx.output(0, DType::kFloat, {count, 4}).as<CenterSize>();
    auto* out_labels = ctx.output(1, DType::kInt32, {count}).as<int32_t>();
    for (size_t a = 0; a < anchors_.size(); ++a) {
      const CenterSize anchor = center_size(anchors_[a]);
      if (matches[a] < 0) {
        out_labels[a] = 0;
        out[a] = offset_ ? CenterSize{} : anchor;
        continue;
      }
      const CenterSize box = center_size(given[static_cast<size_t>(matches[a])]);
      out[a] = offset_ ? offset(box, anchor) : box;
      out_labels[a] = dispatch_dtype(labels.dtype, [&]<class T>() {
        return kernels::convert<int32_t>(labels.as<const T>()[matches[a]]);
      });
    }
  }

 private:
  static std::array<float, 4> four(const OpSpec& spec, const char* name) {
    const auto values = spec.get<std::vector<float>>(name);
    TORCHDALI_CHECK(values.size() == 4, "`", name, "` has ", values.size(),
                    values.size() == 1 ? " value" : " values", ", expected 4 (x, y, w, h)");
    return {values[0], values[1], values[2], values[3]};
  }
  // For each anchor the box that overlaps it most, and more than `criteria`; but first each box
  // takes the anchor that it overlaps most. The later one wins where it is as good. -1: none.
  std::span<const int32_t> match(SampleContext& ctx, std::span<const Box> boxes) const {
    const size_t count = anchors_.size();
    const auto matches = ctx.scratch<int32_t>(count);
    const auto best = ctx.scratch<float>(count), values = ctx.scratch<float>(count);
    const auto taken = ctx.scratch<size_t>(boxes.size());
    std::fill(matches.begin(), matches.end(), -1);
    std::fill(best.begin(), best.end(), criteria_);
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
        // No branches: the loop is vectorised.
        const int more = values[a] > best[a], equal = values[a] == best[a];
        const bool better = (more | (equal & static_cast<int>(matches[a] >= 0))) != 0;
        best[a] = better ? values[a] : best[a];
        matches[a] = better ? box : matches[a];
      }
    }
    for (size_t b = 0; b < boxes.size(); ++b) matches[taken[b]] = static_cast<int32_t>(b);
    return matches;
  }
  CenterSize offset(const CenterSize& box, const CenterSize& anchor) const {
    CenterSize out;
    for (int i = 0; i < 2; ++i) {
      const float distance = (box[i] * scale_ - anchor[i] * scale_) / (anchor[i + 2] * scale_);
      const float size = std::log(box[i + 2] * scale_ / (anchor[i + 2] * scale_));
      out[i] = (distance - means_[i]) / stds_[i];
      out[i + 2] = (size - means_[i + 2]) / stds_[i + 2];
    }
    return out;
  }

  float criteria_;
  bool offset_;
  float scale_;
  std::array<float, 4> means_, stds_;
  Anchors anchors_;
};

TORCHDALI_OPERATOR("box_encoder")
    .doc(
        "Encodes boxes and their labels by anchors (default boxes), as SSD does: each box takes "
        "the anchor that it overlaps most, and other anchors take the box that overlaps them most, "
        "if by more than `criteria`.")
    .input("boxes", "Boxes: left, top, right, bottom; float32, shape (boxes, 4).")
    .input("labels", "One for each box; integers of any type.")
    .output("encoded",
            "For each anchor its box, or the anchor itself where it has none: x and y of the "
            "centre, width, height; float32, shape (anchors, 4). With `offset` the distance of the "
            "two, 0 where there is no box.")
    .output("encoded_labels", "For each anchor the label of its box, 0 where it has none; int32.")
    .required_arg("anchors", ArgType::kFloatVec,
                  "The anchors, one after the other: left, top, right, bottom.")
    .arg("criteria", 0.5f, "Intersection over union that an anchor and a box must exceed, 0 to 1.")
    .arg("offset", false,
         "Return ((box - anchor) / anchor's size - means) / stds for centres, and (log(box's size "
         "/ anchor's size) - means) / stds.")
    .arg("scale", 1.0f, "With `offset`, a factor of boxes and anchors.")
    .arg("means", std::vector<float>{0.0f, 0.0f, 0.0f, 0.0f},
         "With `offset`, subtracted: for x, y, width, height.")
    .arg("stds", std::vector<float>{1.0f, 1.0f, 1.0f, 1.0f},
         "With `offset`, divided by: for x, y, width, height.")
    .cpu<BoxEncoder>();

}  // namespace
}  // namespace torchdali
