// SPDX-License-Identifier: Apache-2.0
// fn.external_source: batches from the user, by Pipeline.feed_input. They are read from the user's
// memory without a copy.
#include <algorithm>

#include "core/known_layout.h"
#include "core/operator.h"
#include "core/source.h"

namespace torchdali {
namespace {

class ExternalData final : public ExternalSource {
 public:
  explicit ExternalData(const OpSpec& spec)
      : name_(spec.name), guesses_layouts_(spec.guesses_layouts) {
    if (spec.defined("layout")) layout_ = spec.get<Layout>("layout");
    if (spec.defined("dtype")) dtype_ = spec.get<DType>("dtype");
    if (spec.defined("ndim")) ndim_ = spec.get<int>("ndim");
    TORCHDALI_CHECK(ndim_ < 0 || layout_.empty() || layout_.size() == ndim_, "`ndim` is ", ndim_,
                    " but `layout` ", layout_, " has ", layout_.size(), " axes");
  }

  void accept(ExternalBatch& batch) const override {
    const Layout layout =
        guesses_layouts_ || !layout_.empty() ? layout_ : common_layout(batch.samples);
    for (SampleView& sample : batch.samples) {
      TORCHDALI_CHECK_KIND(kType, dtype_ == DType::kNone || sample.dtype == dtype_, "`", name_,
                           "` takes ", dtype_name(dtype_), " data, got ", dtype_name(sample.dtype));
      TORCHDALI_CHECK(ndim_ < 0 || sample.shape.ndim() == ndim_, "`", name_, "` takes samples of ",
                      ndim_, " dimensions, got one of shape ", sample.shape);
      if (sample.layout.empty()) sample.layout = layout;
      TORCHDALI_CHECK_KIND(kLayout, layout_.empty() || sample.layout == layout_, "`", name_,
                           "` has layout ", layout_, ", got data with layout ", sample.layout);
      TORCHDALI_CHECK_KIND(
          kLayout, sample.layout.empty() || sample.layout.size() == sample.shape.ndim(), "`", name_,
          "` has layout ", sample.layout, ", got a sample of shape ", sample.shape);
    }
  }
  std::unique_ptr<SourceBatch> next_batch(int) override {
    raise(ErrorKind::kRuntime, "has no data; call Pipeline.feed_input(\"", name_,
          "\", ...) before the pipeline runs");
  }
  void run(SampleContext& ctx) const override {
    ctx.share_batch(0, ctx.source_batch<ExternalBatch>().samples[ctx.index_in_batch()]);
  }

 private:
  // The evident layout of all samples of a batch; empty if there is none. Samples whose extents fit
  // both layouts have that of the others.
  Layout common_layout(const std::vector<SampleView>& samples) const {
    Layout common;
    size_t first = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      const Layout layout = evident_layout(samples[i].shape);
      if (layout.empty() || !samples[i].layout.empty()) continue;
      if (common.empty()) {
        common = layout;
        first = i;
      }
      TORCHDALI_CHECK_KIND(kLayout, layout == common, "`", name_,
                           "` has no layout, and its samples disagree: by ",
                           "their shapes, sample ", first, " ", samples[first].shape, " is ",
                           common, ", and sample ", i, " ", samples[i].shape, " is ", layout,
                           to_fix("give the field its layout, e.g. DataLoader(fields={\"" + name_ +
                                  "\": Layout(\"CHW\")}); any letters will do if it is no image"));
    }
    const bool fits = std::all_of(samples.begin(), samples.end(), [&](const SampleView& sample) {
      return could_be(sample.shape, common);
    });
    return fits ? common : Layout();
  }

  std::string name_;
  bool guesses_layouts_;
  Layout layout_;
  DType dtype_ = DType::kNone;
  int ndim_ = -1;
};

TORCHDALI_OPERATOR("external_source")
    .doc("Brings the user's own data into the pipeline.")
    .output("data", "The samples as they were fed.")
    .optional_arg("dtype", ArgType::kDType, "Element type that the data must have.")
    .optional_arg("ndim", ArgType::kInt, "Number of dimensions that each sample must have.")
    .optional_arg("layout", ArgType::kLayout,
                  "Axes of a sample, such as \"HWC\", for data without a layout.")
    .external_source()
    .cpu<ExternalData>();

}  // namespace
}  // namespace torchdali
