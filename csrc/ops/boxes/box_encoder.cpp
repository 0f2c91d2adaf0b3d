// SPDX-License-Identifier: Apache-2.0
// fn.box_encoder: gives each anchor the box that it stands for, as SSD trains on (Liu et al., "SSD:
// Single Shot MultiBox Detector", 2016, matching strategy).
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "core/batch_context.h"
#include "core/operator.h"
#include "gpu/operator.h"
#include "kernels/boxes/box_match.h"
#include "kernels/convert.h"

namespace torchdali {
namespace {

using kernels::Box;
using kernels::CenterSize;

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
  // Intersection over union with each; 0 where they do not overlap, or where a number is NaN.
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

  // Makes the outputs; returns how many boxes there are.
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
  // For each anchor the box that overlaps it most, and more than `criteria`; but first each box
  // takes the anchor that it overlaps most. The later one wins where it is as good. -1: none.
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

// The steps of a sample, each a launch for the whole batch; the last two are one.
class BoxEncoderGpu final : public gpu::GpuOperator {
 public:
  explicit BoxEncoderGpu(const OpSpec& spec) : args_(spec) {}

  std::unique_ptr<BatchState> make_tasks(BatchContext& /*ctx*/) const override {
    return std::make_unique<State>();
  }

  void run(SampleContext& ctx) const override {
    // Threads that look for the anchor of a box.
    constexpr int64_t kParts = 64;
    const auto boxes = static_cast<int64_t>(args_(ctx));
    const auto count = static_cast<int64_t>(args_.anchors.size());
    auto& state = ctx.batch_state<State>();
    gpu::BoxTask task;
    task.in = ctx.input(0).data;
    task.boxes = boxes;
    task.anchors = count;
    task.parts = std::min(kParts, count);
    task.label_dtype = ctx.input(1).dtype;
    task.labels = ctx.input(1).data;
    task.criteria = args_.criteria;
    task.offset = args_.offset;
    task.scale = args_.by.scale;
    std::copy_n(args_.by.means, 4, task.means);
    std::copy_n(args_.by.stds, 4, task.stds);
    const auto add = [&](size_t number, gpu::BoxStep step, const void* in, void* out,
                         int64_t size) {
      gpu::BoxTask one = task;
      one.step = step;
      one.in = in;
      one.out = out;
      one.size = size;
      if (step != gpu::BoxStep::kTake)
        one.anchor_list = state.steps[number].keep_once(std::span(args_.anchors));
      return one;
    };
    const auto bytes = [](int64_t n, size_t size) { return n * static_cast<int64_t>(size); };
    gpu::Workspace& workspace = state.workspace;
    void* candidates = workspace.reserve(bytes(boxes * task.parts, sizeof(kernels::BoxCandidate)));
    void* taken = workspace.reserve(bytes(boxes, sizeof(int32_t)));
    void* matches = workspace.reserve(bytes(count, sizeof(int32_t)));
    task.taken = taken;
    task.matches = matches;
    using Step = gpu::BoxStep;
    const void* in = task.in;
    state.steps[0].add_intermediate(add(0, Step::kScan, in, candidates, boxes * task.parts));
    state.steps[1].add_intermediate(add(1, Step::kTake, candidates, taken, boxes));
    state.steps[2].add_intermediate(add(2, Step::kMatch, in, matches, count));
    state.steps[3].add(ctx, add(3, Step::kBoxes, in, ctx.output_view(0).data, count), 0);
    state.steps[3].add(ctx, add(3, Step::kLabels, in, ctx.output_view(1).data, count), 1);
  }

  void launch(BatchContext& ctx, BatchState& batch) const override {
    auto& state = static_cast<State&>(batch);
    state.workspace.allocate(ctx);
    for (auto& step : state.steps) {
      step.for_each([&](gpu::BoxTask& task) {
        state.workspace.move(task.in);
        state.workspace.move(task.out);
        state.workspace.move(task.taken);
        state.workspace.move(task.matches);
      });
      step.launch(ctx, gpu::kernels_of(ctx).boxes);
    }
  }

 private:
  struct State final : BatchState {
    gpu::Workspace workspace;
    gpu::Tasks<gpu::BoxTask> steps[4];
  };

  BoxEncoderArgs args_;
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
    .cpu<BoxEncoder>()
    .gpu<BoxEncoderGpu>();

}  // namespace
}  // namespace torchdali
