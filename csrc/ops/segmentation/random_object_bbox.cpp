// SPDX-License-Identifier: Apache-2.0
// fn.segmentation.random_object_bbox: the bounding box of a random object of a mask of labels.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "core/argument.h"
#include "core/operator.h"
#include "kernels/boxes/blobs.h"
#include "kernels/convert.h"

namespace torchdali {
namespace {

using kernels::Blob;

class RandomObjectBbox final : public Operator {
 public:
  explicit RandomObjectBbox(const OpSpec& spec)
      : background_(spec, "background"),
        foreground_prob_(spec, "foreground_prob"),
        classes_(spec, "classes"),
        threshold_(spec, "threshold"),
        weights_(spec, "class_weights"),
        ignore_class_(spec.get<bool>("ignore_class")),
        output_class_(spec.get<bool>("output_class")),
        k_largest_(spec.has("k_largest") ? spec.get<int64_t>("k_largest") : 0),
        format_(spec.get<std::string>("format")) {
    TORCHDALI_CHECK(format_ == "anchor_shape" || format_ == "start_end" || format_ == "box",
                    "`format` is \"", format_,
                    "\", expected \"anchor_shape\", \"start_end\" or \"box\"");
    TORCHDALI_CHECK(!spec.has("k_largest") || k_largest_ >= 1, "`k_largest` is ", k_largest_,
                    ", expected 1 or more");
    TORCHDALI_CHECK(!ignore_class_ || (!classes_.given() && !weights_.given() && !output_class_),
                    "`ignore_class` excludes `classes`, `class_weights` and `output_class`");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    const int ndim = in.shape.ndim();
    TORCHDALI_CHECK(ndim >= 1, "input `mask` is a single value, expected 1 dimension or more");
    TORCHDALI_CHECK_KIND(kType, !is_floating(in.dtype), "input `mask` is ", dtype_name(in.dtype),
                         ", expected integers");
    const Choice choice = choices(ctx);
    RandomStream random = ctx.random();
    Blob box{.label = choice.background, .start = {}, .end = {}};
    std::copy_n(in.shape.begin(), ndim, box.end.begin());
    if (random.uniform_double() < foreground_prob_(ctx)) {
      std::vector<Blob> blobs = kernels::find_blobs(in.data, in.dtype, in.shape, choice.background);
      drop_small(ctx, ndim, blobs);
      if (!ignore_class_) keep_one_class(choice, random, blobs);
      keep_largest(ndim, blobs);
      if (!blobs.empty())
        box = blobs[static_cast<size_t>(
            random.uniform_int(0, static_cast<int64_t>(blobs.size()) - 1))];
    }
    write(ctx, ndim, box);
  }

 private:
  struct Choice {
    bool any_class;  // all but the background, equally likely
    std::vector<int64_t> classes;
    std::vector<double> weights;
    int64_t background;
  };

  Choice choices(SampleContext& ctx) const {
    static thread_local std::vector<int64_t> classes_buffer;
    static thread_local std::vector<float> weights_buffer;
    Choice choice{.any_class = !classes_.given() && !weights_.given(),
                  .classes = {},
                  .weights = {},
                  .background = 0};
    if (classes_.given()) {
      const auto classes = classes_(ctx, classes_buffer);
      choice.classes.assign(classes.begin(), classes.end());
    }
    if (weights_.given()) {
      const auto weights = weights_(ctx, weights_buffer);
      for (const float w : weights) {
        TORCHDALI_CHECK(w >= 0 && std::isfinite(w), "`class_weights` has ", w,
                        ", expected 0 or more");
        choice.weights.push_back(w);
      }
      if (!classes_.given()) choice.classes = all_but(background_(ctx), weights.size());
    } else {
      choice.weights.assign(choice.classes.size(), 1.0);
    }
    TORCHDALI_CHECK(choice.weights.size() == choice.classes.size(), "`class_weights` has ",
                    choice.weights.size(), " values, and `classes` has ", choice.classes.size());
    const auto is_class = [&](int64_t label) {
      return std::find(choice.classes.begin(), choice.classes.end(), label) != choice.classes.end();
    };
    if (background_.given()) {
      choice.background = background_(ctx);
      TORCHDALI_CHECK(!is_class(choice.background), "`background` is ", choice.background,
                      ", which is one of the classes");
    } else {
      while (is_class(choice.background)) --choice.background;
    }
    return choice;
  }

  // The first labels from 0 on, without the background.
  static std::vector<int64_t> all_but(int64_t background, size_t count) {
    std::vector<int64_t> labels;
    for (int64_t label = 0; labels.size() < count; ++label)
      if (label != background) labels.push_back(label);
    return labels;
  }

  void drop_small(SampleContext& ctx, int ndim, std::vector<Blob>& blobs) const {
    if (!threshold_.given()) return;
    static thread_local std::vector<int64_t> buffer;
    const auto least = threshold_(ctx, buffer);
    TORCHDALI_CHECK(least.size() == 1 || static_cast<int>(least.size()) == ndim, "`threshold` has ",
                    least.size(), " values, expected one, or one for each of the ", ndim,
                    " dimensions");
    std::erase_if(blobs, [&](const Blob& b) {
      for (int d = 0; d < ndim; ++d)
        if (b.end[d] - b.start[d] < least[least.size() == 1 ? 0 : d]) return true;
      return false;
    });
  }
  // Draws one of the classes that have blobs.
  static void keep_one_class(const Choice& choice, RandomStream& random, std::vector<Blob>& blobs) {
    std::vector<int64_t> present;
    present.reserve(blobs.size());
    for (const Blob& b : blobs) present.push_back(b.label);
    std::sort(present.begin(), present.end());
    present.erase(std::unique(present.begin(), present.end()), present.end());
    const std::vector<int64_t>& classes = choice.any_class ? present : choice.classes;
    std::vector<double> weights(classes.size(), 1.0);
    double sum = 0;
    for (size_t i = 0; i < classes.size(); ++i) {
      const bool has_blobs = std::binary_search(present.begin(), present.end(), classes[i]);
      if (!choice.any_class) weights[i] = has_blobs ? choice.weights[i] : 0;
      sum += weights[i];
    }
    if (!(sum > 0)) return blobs.clear();
    double at = random.uniform_double() * sum;
    int64_t label = 0;
    for (size_t i = 0; i < classes.size(); ++i) {
      if (weights[i] <= 0) continue;
      label = classes[i];
      at -= weights[i];
      if (at < 0) break;
    }
    std::erase_if(blobs, [&](const Blob& b) { return b.label != label; });
  }
  void keep_largest(int ndim, std::vector<Blob>& blobs) const {
    if (k_largest_ == 0 || static_cast<int64_t>(blobs.size()) <= k_largest_) return;
    const auto volume = [ndim](const Blob& b) {
      int64_t v = 1;
      for (int d = 0; d < ndim; ++d) v *= b.end[d] - b.start[d];
      return v;
    };
    std::vector<std::pair<int64_t, size_t>> order;  // the first of equal ones
    order.reserve(blobs.size());
    for (size_t i = 0; i < blobs.size(); ++i) order.emplace_back(-volume(blobs[i]), i);
    std::sort(order.begin(), order.end());
    std::vector<Blob> largest;
    largest.reserve(static_cast<size_t>(k_largest_));
    for (const auto& [_, i] : std::span(order).first(static_cast<size_t>(k_largest_)))
      largest.push_back(blobs[i]);
    blobs.swap(largest);
  }

  void write(SampleContext& ctx, int ndim, const Blob& box) const {
    const bool one_output = format_ == "box";
    auto* start = ctx.output(0, DType::kInt32, {one_output ? 2 * ndim : ndim}).as<int32_t>();
    auto* second = one_output ? start + ndim : ctx.output(1, DType::kInt32, {ndim}).as<int32_t>();
    for (int d = 0; d < ndim; ++d) {
      start[d] = kernels::convert<int32_t>(box.start[d]);
      second[d] =
          kernels::convert<int32_t>(box.end[d] - (format_ == "anchor_shape" ? box.start[d] : 0));
    }
    if (output_class_)
      *ctx.output(one_output ? 1 : 2, DType::kInt32, {}).as<int32_t>() =
          kernels::convert<int32_t>(box.label);
  }

  Arg<int64_t> background_;
  Arg<float> foreground_prob_;
  ListArg<int64_t> classes_, threshold_;
  ListArg<float> weights_;
  bool ignore_class_, output_class_;
  int64_t k_largest_;
  std::string format_;
};

TORCHDALI_OPERATOR("segmentation.random_object_bbox")
    .doc(
        "Draws an object of a mask of labels and returns its bounding box: first a class, then "
        "uniformly one of its blobs (elements that touch along an axis). Returns the whole mask if "
        "there is no such blob, and with probability 1 - `foreground_prob`.")
    .input("mask", "Labels, integers of any type, any layout and number of dimensions.")
    .output("start",
            "Start of the box, int32, one number for each dimension; with the format \"box\", its "
            "start followed by its end.")
    .output("extent",
            "Extents of the box, or with the format \"start_end\" its end (exclusive); int32. Not "
            "returned with the format \"box\".")
    .output("label",
            "Label of the object, the background's for the whole mask; int32, no "
            "dimensions; only with `output_class`.")
    .num_outputs([](const OpSpec& spec) {
      return (spec.get<std::string>("format") == "box" ? 1 : 2) + spec.get<bool>("output_class");
    })
    .arg("background", 0,
         "The label of the background. By default 0, or if 0 is one of `classes`, the greatest "
         "negative number that is not.",
         Arity::kPerSample)
    .arg("cache_objects", false,
         "No effect: objects are found anew each time, with the same results.")
    .optional_arg(
        "class_weights", ArgType::kFloatVec,
        "Relative probability of each of `classes`; without `classes`, of the labels 0, 1, 2 ... "
        "without the background.",
        Arity::kPerSample)
    .optional_arg("classes", ArgType::kIntVec,
                  "Labels to draw from; all but the background by default.", Arity::kPerSample)
    .arg("foreground_prob", 1.0f, "Probability of drawing an object.", Arity::kPerSample)
    .arg("format", "anchor_shape", "\"anchor_shape\", \"start_end\" or \"box\": see the outputs.")
    .arg("ignore_class", false,
         "Draw from all objects of any class. Excludes `classes`, `class_weights` and "
         "`output_class`.")
    .optional_arg("k_largest", ArgType::kInt,
                  "Draw only from this many of the largest boxes (of the class, or with "
                  "`ignore_class` of all).")
    .arg("output_class", false, "Also return the label.")
    .optional_arg(
        "threshold", ArgType::kIntVec,
        "Least extents of a box, for each dimension or one for all; smaller ones are ignored.",
        Arity::kPerSample)
    .random()
    .cpu<RandomObjectBbox>();

}  // namespace
}  // namespace torchdali
