// SPDX-License-Identifier: Apache-2.0
// fn.element_extract: frames of a sequence as separate outputs. Views.
#include <string>
#include <vector>

#include "core/operator.h"
#include "gpu/operator.h"

namespace torchdali {
namespace {

class ElementExtract final : public Operator {
 public:
  explicit ElementExtract(const OpSpec& spec)
      : map_(spec.get<std::vector<int64_t>>("element_map")) {
    for (const int64_t element : map_)
      TORCHDALI_CHECK(element >= 0, "`element_map` has ", element, ", expected 0 or more");
  }

  void run(SampleContext& ctx) const override {
    const SampleView& in = ctx.input(0);
    TORCHDALI_CHECK_KIND(kLayout, in.layout.empty() || in.layout[0] == 'F', "the layout ",
                         in.layout, " does not begin with \"F\", the axis of the frames");
    TORCHDALI_CHECK(in.shape.ndim() > 1, "a sequence has at least 2 dimensions, got a tensor of ",
                    "shape ", in.shape);
    SampleView frame = in;
    frame.shape = Shape(in.shape.span().subspan(1));
    if (!in.layout.empty()) frame.layout = Layout(in.layout.str().substr(1));
    const int64_t bytes = frame.size_bytes();
    for (size_t i = 0; i < map_.size(); ++i) {
      TORCHDALI_CHECK_KIND(kIndex, map_[i] < in.shape[0], "`element_map` has ", map_[i],
                           ", and the sequence ", in.shape[0], " frames");
      frame.data = in.as<char>() + map_[i] * bytes;
      ctx.share_input(static_cast<int>(i), 0, frame);
    }
  }

 private:
  std::vector<int64_t> map_;
};

TORCHDALI_OPERATOR("element_extract")
    .doc("Returns frames of a sequence as separate outputs. Views: nothing is copied.")
    .input("sequence", "A sequence: at least two axes, the first of which is the frames.")
    .output("element", "One output for each frame in `element_map`.")
    .num_outputs([](const OpSpec& spec) {
      const auto map = spec.get<std::vector<int64_t>>("element_map");
      TORCHDALI_CHECK(!map.empty(), "`element_map` is empty");
      return static_cast<int>(map.size());
    })
    .required_arg("element_map", ArgType::kIntVec, "Indices of the frames, from 0.")
    .cpu<ElementExtract>()
    .gpu<gpu::ViewOperator<ElementExtract>>();

}  // namespace
}  // namespace torchdali
