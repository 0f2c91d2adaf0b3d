// SPDX-License-Identifier: Apache-2.0
// fn.get_property: what the engine knows about a sample beside its elements, as text.
#include <algorithm>

#include "core/operator.h"

namespace torchdali {
namespace {

class GetProperty final : public Operator {
 public:
  explicit GetProperty(const OpSpec& spec) {
    const auto key = spec.get<std::string>("key");
    TORCHDALI_CHECK(key == "source_info" || key == "layout", "`key` is \"", key,
                    "\", expected \"source_info\" or \"layout\"");
    layout_ = key == "layout";
  }
  void run(SampleContext& ctx) const override {
    const Layout layout = ctx.input(0).layout;
    const std::string_view text = layout_ ? layout.str() : ctx.source_info();
    const SampleView& out = ctx.output(0, DType::kUInt8, Shape{static_cast<int64_t>(text.size())});
    std::copy(text.begin(), text.end(), out.as<char>());
  }

 private:
  bool layout_ = false;
};

TORCHDALI_OPERATOR("get_property")
    .doc(
        "Gives what is known about each sample beside its elements: `x.property(key)` makes it of "
        "`x`.")
    .input("data", "Any layout, any element type.")
    .output("property", "The text as bytes, uint8; of length 0 where there is none.")
    .required_arg("key", ArgType::kString,
                  "\"source_info\": the path or key that the sample was made from, relative to the "
                  "reader's root; \"layout\": the letters of its axes.")
    .cpu<GetProperty>();

}  // namespace
}  // namespace torchdali
