// SPDX-License-Identifier: Apache-2.0
// fn.roi_random_crop: the start of a window of given size that contains as much of a region as
// possible.
#include <algorithm>

#include "core/argument.h"
#include "core/operator.h"

namespace torchdali {
namespace {

constexpr int64_t kMostExtent = int64_t{1} << 40;  // so that sums do not overflow

class RoiRandomCrop final : public Operator {
 public:
  explicit RoiRandomCrop(const OpSpec& spec)
      : crop_(spec, "crop_shape"),
        start_(spec, "roi_start"),
        end_(spec, "roi_end"),
        shape_(spec, "roi_shape"),
        in_shape_(spec, "in_shape") {
    TORCHDALI_CHECK(end_.given() != shape_.given(),
                    "`roi_end` excludes `roi_shape`: give one of them");
    TORCHDALI_CHECK(!in_shape_.given() || spec.num_inputs == 0,
                    "`in_shape` excludes an input: give one or the other");
  }

  void run(SampleContext& ctx) const override {
    static thread_local std::vector<int64_t> buffers[4];
    const auto crop = crop_(ctx, buffers[0]);
    const size_t ndim = crop.size();
    const auto start = list(ctx, start_, "roi_start", ndim, buffers[1]);
    const auto extent = end_.given() ? list(ctx, end_, "roi_end", ndim, buffers[2])
                                     : list(ctx, shape_, "roi_shape", ndim, buffers[2]);
    std::span<const int64_t> bounds;
    if (in_shape_.given()) {
      bounds = list(ctx, in_shape_, "in_shape", ndim, buffers[3]);
    } else if (ctx.num_inputs() > 0) {
      bounds = ctx.input(0).shape.span();
      TORCHDALI_CHECK(bounds.size() >= ndim, "the input has shape ", ctx.input(0).shape,
                      ", and `crop_shape` ", ndim, " values");
    }
    RandomStream random = ctx.random();
    auto* out = ctx.output(0, DType::kInt64, {static_cast<int64_t>(ndim)}).as<int64_t>();
    for (size_t d = 0; d < ndim; ++d) {
      for (const int64_t number : {crop[d], start[d], extent[d]})
        TORCHDALI_CHECK(number >= -kMostExtent && number <= kMostExtent, number, " of axis ", d,
                        " is too large");
      const int64_t roi_start = start[d], roi_end = end_.given() ? extent[d] : start[d] + extent[d];
      TORCHDALI_CHECK(crop[d] >= 0, "`crop_shape` is ", crop[d], " in axis ", d,
                      ", expected 0 or more");
      TORCHDALI_CHECK(roi_end >= roi_start, "the region of interest is [", roi_start, ", ", roi_end,
                      ") in axis ", d, ": it ends before it starts");
      // A window larger than the region contains it; a smaller one is inside it.
      int64_t low = std::min(roi_start, roi_end - crop[d]);
      int64_t high = std::max(roi_start, roi_end - crop[d]);
      if (!bounds.empty()) {
        TORCHDALI_CHECK(crop[d] <= bounds[d], "`crop_shape` is ", crop[d], " in axis ", d,
                        ", where the input has ", bounds[d]);
        TORCHDALI_CHECK(roi_start >= 0 && roi_end <= bounds[d], "the region of interest is [",
                        roi_start, ", ", roi_end, ") in axis ", d, ", where the input has ",
                        bounds[d], ": it must lie inside");
        low = std::max<int64_t>(low, 0);
        high = std::min(high, bounds[d] - crop[d]);
      }
      out[d] = random.uniform_int(low, high);
    }
  }

 private:
  static std::span<const int64_t> list(SampleContext& ctx, const ListArg<int64_t>& arg,
                                       const char* name, size_t ndim,
                                       std::vector<int64_t>& buffer) {
    const auto values = arg(ctx, buffer);
    if (values.size() == 1 && ndim != 1) {  // one for all axes
      const int64_t value = values[0];
      buffer.assign(ndim, value);
      return buffer;
    }
    TORCHDALI_CHECK(values.size() == ndim, "`", name, "` has ", values.size(),
                    values.size() == 1 ? " value" : " values", ", and `crop_shape` ", ndim);
    return values;
  }

  ListArg<int64_t> crop_, start_, end_, shape_, in_shape_;
};

TORCHDALI_OPERATOR("roi_random_crop")
    .doc(
        "Draws the start of a window of `crop_shape`, uniformly: the window contains the region of "
        "interest if the region is smaller, and is inside it if the region is larger. With "
        "`in_shape` or an input, the window is also inside the data.")
    .optional_input("data", "Its shape bounds the window; its values are not used.")
    .output("start", "Start of the window, int64, one number for each axis.")
    .required_arg("crop_shape", ArgType::kIntVec, "Extents of the window, a value for each axis.",
                  Arity::kPerSample)
    .required_arg("roi_start", ArgType::kIntVec,
                  "Start of the region of interest: a value for each axis, or one for all.",
                  Arity::kPerSample)
    .optional_arg("roi_end", ArgType::kIntVec,
                  "End of the region (exclusive). Cannot be combined with `roi_shape`.",
                  Arity::kPerSample)
    .optional_arg("roi_shape", ArgType::kIntVec,
                  "Extents of the region. Cannot be combined with `roi_end`.", Arity::kPerSample)
    .optional_arg(
        "in_shape", ArgType::kIntVec,
        "Shape of the data that must contain the window. Cannot be combined with an input.",
        Arity::kPerSample)
    .random()
    .cpu<RoiRandomCrop>();

}  // namespace
}  // namespace torchdali
